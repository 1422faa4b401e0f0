"""Semantic memories: what sessions have in common, proposed for a person to confirm or reject."""
