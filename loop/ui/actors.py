"""Who did something, as people know them: a token by what it is for, where that is known, and else by its number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from nicegui import ui

from loop.ui.tables import CHOICES
from loop.ui.visitors import Visitor

TokenLabels = Mapping[str, str]
"""What tokens are for, by their ids."""
NO_LABELS: TokenLabels = MappingProxyType({})
_TOKEN = "token:"
_SHOWN = 12
"""Characters of an id by which tokens are told apart."""


async def token_labels(visitor: Visitor, app_id: str) -> TokenLabels:
    """Return what an app's first tokens are for, of those of whom that is said."""
    listed = await visitor.client.list_tokens(limit=CHOICES, app_id=app_id)
    return {one.token_id: one.label for one in listed.tokens if one.label}


def actor_name(actor: str, labels: TokenLabels = NO_LABELS) -> str:
    """Return who somebody is in a few words."""
    token = actor.removeprefix(_TOKEN)
    if token == actor:
        return actor
    return f"token {labels.get(token) or f'{token[:_SHOWN]}…'}"


def actor_cell(actor: str, labels: TokenLabels = NO_LABELS) -> str | Callable[[], object]:
    """Return the cell of a table that says who somebody is, the whole of it as a tooltip where it is cut."""
    name = actor_name(actor, labels)
    return actor if name == actor else lambda: ui.label(name).tooltip(actor).props("dir=auto")
