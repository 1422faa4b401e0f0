"""Thin Celery tasks: parse the payload, call one pipeline."""
