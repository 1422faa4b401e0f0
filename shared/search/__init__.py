"""Finding old messages again: their index, the search in it, its ranking, and how it is tuned and measured."""
