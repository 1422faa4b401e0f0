"""Metrics, logging, and exposition for forked processes."""
