"""Searching and the indexes from the command line, against the real interface."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

from shared.base.settings import Settings, environment_names
from shared.llm.providers import NGRAMS
from tests.support.api import ADMIN, open_api
from tests.support.command_line import Busy, Terminal, served


@pytest.fixture
def terminal(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Iterator[Terminal]:
    """A user of the interface with the admin's token, and an app in which something was said."""
    for name in chain.from_iterable(map(environment_names, Settings.model_fields)):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AFTERTHOUGHT_HOME", str(tmp_path / "cli-home"))
    monkeypatch.chdir(tmp_path)
    with open_api(sqlite_url, tmp_path / "home", embedding=NGRAMS) as api:
        busy = Busy(api.client.app)
        with served(busy) as url:
            monkeypatch.setenv("AFTERTHOUGHT_URL", url)
            monkeypatch.setenv("AFTERTHOUGHT_TOKEN", ADMIN)
            path = api.install()
            said = {"boats": "The yacht needs paint.", "pets": "The dog dislikes paint."}
            for name, content in said.items():
                api.ask("POST", f"{path}/conversations", json={"conversationId": name, "metadata": {"tags": [name]}})
                message = {"role": "user", "content": content, "messageId": name, "name": "Ann"}
                api.ask("POST", f"{path}/conversations/{name}/messages", json=message)
            yield Terminal(api, url, busy, capsys)


def found(terminal: Terminal, *arguments: str) -> set[str]:
    return {one["messageId"] for one in terminal.json("search", "chat", *arguments)["results"]}


def test_a_search_shows_what_was_said_by_whom_and_what_it_had_to_do_without(terminal: Terminal) -> None:
    shown = terminal.run("search", "chat", "Which yacht?").out
    assert "The yacht needs paint." in shown and "Ann" in shown and "boats" in shown
    assert "Done without: vectors." in shown and "afterthought index status chat" in shown
    assert "Nothing was found." in terminal.run("search", "chat", "umbrella").out


def test_a_search_is_narrowed_by_its_options(terminal: Terminal) -> None:
    assert found(terminal, "paint") == {"boats", "pets"}
    assert found(terminal, "paint", "--tag", "pets") == {"pets"}
    assert found(terminal, "paint", "--role", "assistant") == set()
    assert found(terminal, "paint", "--since", "2999-01-01") == set()
    assert found(terminal, "paint", "--until", "2000-01-01") == set()
    assert found(terminal, "paint", "--since", "2000-01-01", "--until", "2999-01-01T10:00:00") == {"boats", "pets"}
    assert found(terminal, "paint", "--conversation", "pets", "--limit", "1") == {"pets"}
    assert "no conversation" in terminal.run("search", "chat", "paint", "--conversation", "x", status=1).err.lower()


def test_a_lost_word_index_is_shown_with_its_remedy_and_made_anew_only_on_a_yes(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    with terminal.api.loop.database.engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE message_words")
    assert "afterthought index rebuild" in " ".join(terminal.run("index", "status", "chat").out.split())
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    terminal.run("index", "rebuild", status=1)
    assert not terminal.json("index", "status", "chat")["wordIndexPresent"]
    assert "again: 1." in terminal.run("index", "rebuild", "--yes").out
    assert terminal.json("index", "status", "chat")["wordIndexPresent"]
