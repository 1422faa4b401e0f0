"""The steps of one tick, one a file."""
