"""Memory as tools for agents that speak the Model Context Protocol."""

from importlib.util import find_spec

MISSING = "MCP needs the package mcp, which is not installed. Run: pip install 'afterthought[mcp]'"


def is_installed() -> bool:
    """Return whether the protocol's library is there; it is an extra."""
    return find_spec("mcp") is not None
