"""Facts from the command line, against the real interface."""

from __future__ import annotations

from tests.support.command_line import Terminal


def add(terminal: Terminal, *statements: str) -> list[str]:
    return [str(terminal.json("facts", "add", "chat", one)["id"]) for one in statements]


def statements(terminal: Terminal, *options: str) -> list[str]:
    return [fact["fact"] for fact in terminal.json("facts", "list", "chat", *options)]


def test_a_deleted_fact_is_brought_back(terminal: Terminal) -> None:
    [fact] = add(terminal, "Likes jazz")
    assert f"facts undo chat {fact}" in terminal.run("facts", "delete", "chat", fact).out
    assert statements(terminal) == [] and statements(terminal, "--state", "deleted") == ["Likes jazz"]
    assert "standing" in terminal.run("facts", "undo", "chat", fact).out
    assert statements(terminal) == ["Likes jazz"]


def test_one_users_facts_are_cleared_and_brought_back(terminal: Terminal) -> None:
    terminal.run("facts", "add", "chat", "Likes jazz", "--user", "ann o'hara")
    terminal.run("facts", "add", "chat", "Plays chess", "--user", "bob")
    cleared = terminal.run("facts", "clear", "chat", "--user", "ann o'hara", "--yes").out
    assert "1 fact is deleted" in cleared and "undo-clear chat --user" in cleared
    assert statements(terminal) == ["Plays chess"]
    assert terminal.run("facts", "undo-clear", "chat", "--user", "ann o'hara").out.strip() == "1 fact is back."
    assert statements(terminal, "--user", "ann o'hara") == ["Likes jazz"]
    assert [one["userId"] for one in terminal.json("facts", "history", "chat", "--user", "bob")] == ["bob"]
    run = terminal.json("facts", "eviction", "chat", "--user", "bob")
    assert [one["userId"] for one in run["facts"]] == ["bob"]
