"""Ordered messages of one app, open until ended."""
