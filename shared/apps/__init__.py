"""The app, its limits and its tokens."""
