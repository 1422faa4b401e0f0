"""Versions as they age: pruned, retained, and made anew by rules."""
