"""The Celery workers that host the Memory Sub-Agent."""
