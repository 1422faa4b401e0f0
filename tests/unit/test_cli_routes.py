"""What the service's messages say with routes is said with commands on the command line."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from loop.cli.program import program
from loop.cli.routes import in_commands

CHECKOUT = Path(__file__).resolve().parents[2]
_BEGINNINGS = r"/(?:apps|jobs|energy|api)\b"
ROUTE = re.compile(rf"(?:(?:GET|POST|PUT|PATCH|DELETE|under|only) ){_BEGINNINGS}")


def messages() -> Iterator[str]:
    """Texts of errors and notes that name a route, with every value in them an id."""
    for path in [*(CHECKOUT / "shared").rglob("*.py"), *(CHECKOUT / "loop" / "api").rglob("*.py")]:
        source = path.read_text("utf-8")
        if not re.search(_BEGINNINGS, source):
            continue
        nodes = list(ast.walk(ast.parse(source)))
        inner = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        inner |= {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in nodes:
            if id(node) in inner:
                continue
            if isinstance(node, ast.JoinedStr):
                text = "".join(str(one.value) if isinstance(one, ast.Constant) else "x1" for one in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
            else:
                continue
            if ROUTE.search(text):
                yield text


def test_every_route_in_a_message_has_a_command() -> None:
    # In one test: as parameters they would have to be found by every test process, and finding them takes seconds.
    found = sorted(set(messages()))
    assert found
    for message in found:
        told = in_commands(message)
        assert not ROUTE.search(told), message
        for command in re.findall(r"`afterthought ([a-z -]+)", told):
            at: Any = get_command(program)
            for word in command.split():
                at = at.commands[word] if hasattr(at, "commands") else at
            assert not hasattr(at, "commands"), message


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("install it with POST /apps.", "install it with `afterthought apps install APP`."),
        ("GET /apps/a.b/facts lists them", "`afterthought facts list a.b` lists them"),
        (
            "with POST /apps/a/facts/undo?userId=A%20da, or wait",
            "with `afterthought facts undo-clear a --user 'A da'`, or wait",
        ),
        ("ask for POST /apps/{appId}/tokens.", "ask for `afterthought apps token APP`."),
        ("under /api/memory/projects/p-1/links.", "with `afterthought sessions links APP --project p-1`."),
        ("POST /api/memory/projects/PROJECT/sessions/s1.", "`afterthought sessions register APP FILE`."),
        ("Nothing of the kind.", "Nothing of the kind."),
    ],
    ids=["no-id", "dotted-id", "quoted-id", "open-id", "under", "end-of-sentence", "no-route"],
)
def test_a_route_is_told_as_the_command_that_does_the_same(message: str, told: str) -> None:
    assert in_commands(message) == told
