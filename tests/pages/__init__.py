"""The pages in a real browser, against a running service with real workers."""
