"""Purges and erasures over every store of an app, each with a receipt."""
