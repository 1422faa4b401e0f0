"""Projects and sessions as they are registered, synced, listed and removed; marked parts and their weights."""
