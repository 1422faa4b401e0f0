"""How retrieval is tuned: from the settings, and overridden while it runs, for all apps or for one."""
