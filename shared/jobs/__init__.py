"""Jobs: written in the caller's transaction, leased, retried, dead-lettered, replayed."""
