"""Versions of sessions: how they are asked for, planned, woven and written."""
