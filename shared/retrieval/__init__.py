"""Finding old messages again, and choosing which of them fit a token budget."""
