"""Recorded coding sessions: registered, marked, compressed into versions, and composed into contexts."""
