"""Others judge us: their libraries, their types, their files."""
