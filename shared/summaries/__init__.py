"""Summaries: bullets over what was said lately in one conversation."""
