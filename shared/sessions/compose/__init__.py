"""Contexts composed of several sessions within a budget."""
