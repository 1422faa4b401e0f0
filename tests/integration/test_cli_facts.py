"""Facts from the command line, against the real interface."""

from __future__ import annotations

from loop.steps.settlement import SettleFacts
from tests.support.command_line import Terminal


def add(terminal: Terminal, *statements: str) -> list[str]:
    return [str(terminal.json("facts", "add", "chat", one)["id"]) for one in statements]


def statements(terminal: Terminal, *options: str) -> list[str]:
    return [fact["fact"] for fact in terminal.json("facts", "list", "chat", *options)]


def test_a_fact_is_written_shown_reworded_and_repeated(terminal: Terminal) -> None:
    assert "knows no such fact" in terminal.run("facts", "list", "chat").out
    [fact] = add(terminal, "Lives in Copenhagen")
    again = terminal.run("facts", "add", "chat", "the user lives in copenhagen.")
    assert "known already" in again.out
    assert "Lives in Oslo" in terminal.run("facts", "edit", "chat", fact, "Lives in Oslo").out
    shown = terminal.json("facts", "show", "chat", fact)
    assert (shown["fact"], shown["mentionCount"], shown["category"]) == ("Lives in Oslo", 2, "identity")
    kinds = [one["kind"] for one in terminal.json("facts", "history", "chat", fact)]
    assert kinds == ["written", "repeated", "edited"]
    assert [one["kind"] for one in terminal.json("facts", "history", "chat")] == kinds[::-1]


def test_facts_are_listed_by_what_is_asked_for(terminal: Terminal) -> None:
    terminal.run("facts", "add", "chat", "Is building a boat", "--user", "u1", "--pin")
    terminal.run("facts", "add", "chat", "Likes jazz", "--category", "identity")
    assert statements(terminal) == ["Is building a boat", "Likes jazz"]
    assert statements(terminal, "--category", "identity") == ["Likes jazz"]
    assert statements(terminal, "--user", "u1") == statements(terminal, "--pinned") == ["Is building a boat"]
    assert statements(terminal, "--not-pinned") == ["Likes jazz"]
    assert statements(terminal, "--limit", "1") == ["Is building a boat"]


def test_facts_are_pinned_and_moved_all_or_none(terminal: Terminal) -> None:
    ids = add(terminal, "Likes jazz", "Plays chess")
    assert terminal.run("facts", "pin", "chat", *ids).out.strip() == "2 facts are pinned."
    terminal.run("facts", "unpin", "chat", ids[1])
    assert "moved to project" in terminal.run("facts", "move", "chat", "project", *ids).out
    assert "no fact 999" in terminal.run("facts", "move", "chat", "identity", ids[0], "999", status=1).err
    kept = [(fact["category"], fact["pinned"]) for fact in terminal.json("facts", "list", "chat")]
    assert kept == [("project", True), ("project", False)]


def test_a_deleted_fact_is_brought_back(terminal: Terminal) -> None:
    [fact] = add(terminal, "Likes jazz")
    assert f"facts undo chat {fact}" in terminal.run("facts", "delete", "chat", fact).out
    assert statements(terminal) == [] and statements(terminal, "--state", "deleted") == ["Likes jazz"]
    assert "standing" in terminal.run("facts", "undo", "chat", fact).out
    assert statements(terminal) == ["Likes jazz"]


def test_clearing_asks_first_and_is_taken_back_in_time(terminal: Terminal) -> None:
    add(terminal, "Likes jazz", "Plays chess")
    cleared = terminal.run("facts", "clear", "chat", "--yes")
    assert "2 facts are deleted" in cleared.out and "undo-clear chat" in cleared.out
    assert terminal.run("facts", "undo-clear", "chat").out.strip() == "2 facts are back."
    terminal.run("facts", "clear", "chat", "--yes")
    terminal.api.clock.advance(8)
    loop = terminal.api.loop
    SettleFacts(loop.database, loop.clock, loop.metrics).run()
    assert "time is over" in terminal.run("facts", "undo-clear", "chat", status=1).err
    assert statements(terminal) == []


def test_the_next_eviction_is_shown_with_scores(terminal: Terminal) -> None:
    add(terminal, "Likes jazz")
    terminal.api.clock.advance(30 * 86400)
    run = terminal.json("facts", "eviction", "chat", "--more", "120")
    assert [(one["fact"], one["score"], one["goes"]) for one in run["facts"]] == [("Likes jazz", 15.0, True)]
    assert "15.00" in terminal.run("facts", "eviction", "chat").out


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
