"""Central thinking: what to attend to, and one turn with a model about it."""
