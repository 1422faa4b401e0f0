"""Memory as tools for agents that speak the Model Context Protocol."""
