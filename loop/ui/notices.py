"""What is told of an action: that it succeeded, which ends what was told of failures before, or why it did not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from nicegui import ui

from afterthought_client import ApiError

Labels = Mapping[str, tuple[str, str]]
"""Of the interface's fields, by their names: what the page calls each, and what may stand in it."""
_UNACCEPTABLE = 422
_ERRORS = "errors told"
_ERROR_SECONDS = 10.0


def tell_success(message: str) -> None:
    """Tell that something was done."""
    told: list[ui.notification] = ui.context.client.storage.pop(_ERRORS, [])
    for one in told:
        if not one.is_deleted:
            one.dismiss()
    ui.notify(message, type="positive")


def tell_error(message: str) -> None:
    """Tell what did not succeed, until it is closed, something succeeds, or some seconds are over."""
    # The library's own button to close is blue, which on red nobody can read.
    close = {"label": "Close", "color": "white"}
    told = ui.notification(message, type="negative", multi_line=True, timeout=_ERROR_SECONDS, actions=[close])
    ui.context.client.storage.setdefault(_ERRORS, []).append(told)


@contextmanager
def in_words_of(labels: Labels) -> Iterator[None]:
    """Have what the service does not accept told in a page's own words. Raises: ValueError."""
    try:
        yield
    except ApiError as error:
        if error.status != _UNACCEPTABLE:
            raise
        raise ValueError(_in_words(error, labels)) from error


def _in_words(error: ApiError, labels: Labels) -> str:
    problems = error.details.get("fields")
    if problems:
        return "; ".join(_problem(one["field"], one["problem"], labels) for one in problems)
    names = "|".join(map(re.escape, labels))
    return re.sub(rf"\b(?:{names})\b", lambda found: labels[found[0]][0], error.message)


def _problem(field: str, problem: str, labels: Labels) -> str:
    label, may_be = labels.get(field.rpartition(".")[2], (field, problem))
    return f"{label}: {may_be}"
