"""Memory as tools for agents that speak the Model Context Protocol."""

from importlib.util import find_spec

from shared.base.installation import how_to_add


def missing() -> str:
    """Return what is said where the library is not there."""
    return f"MCP needs the package mcp, which is not installed. {how_to_add('mcp')}"


def is_installed() -> bool:
    """Return whether the protocol's library is there; it is an extra."""
    return find_spec("mcp") is not None
