"""Versions of sessions: how they are requested, planned, assembled and written."""
