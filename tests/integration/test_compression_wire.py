"""Versions by a model that misbehaves, over the wire: nothing unusable is kept, nothing unread counts as done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text

from shared.llm.providers import make_chat
from shared.sessions.models import SessionVersion
from tests.support.compressing import Press, long_talk, uniform
from tests.support.house import House
from tests.support.model_server import ModelServer
from tests.support.settings import served_at
from worker.agent.session_model import ModelCompressionAgent

WINDOW = 4096
PINNED = "The wind table is in\n    conf/wind.toml  and stays there."


@pytest.fixture
def press(sqlite_url: str, provider: str, server: ModelServer, tmp_path: Path) -> Iterator[Press]:
    house = House(sqlite_url)
    house.install()
    press = Press(house, tmp_path)
    press.shelf.add(long_talk(press.shelf.transcript("s1").human(f"##keepit1.00## {PINNED}"), 40))
    with closing(make_chat(f"{provider}:tiny", served_at(server.url, WINDOW))) as chat:
        press.agents[chat.name] = ModelCompressionAgent(chat, chat.name, WINDOW, 60.0)
        yield press
    house.database.dispose()


def compress(press: Press, provider: str = "ollama") -> SessionVersion:
    """Ask for a version by the model, and make attempts until its job has ended."""
    asked = press.ask("s1", uniform(5).model_copy(update={"model": f"{provider}:tiny"}))
    for _ in range(12):
        press.attempt()
        version = press.version("s1", asked.version_id)
        assert (version.state == "ready") == bool(press.files("s1"))
        press.house.clock.advance(600)
    return version


def test_a_version_by_a_model_holds_its_lines_and_what_must_not_be_lost(press: Press, server: ModelServer) -> None:
    made = compress(press)
    told = press.text(made, "s1")
    assert (made.state, made.agent) == ("ready", "ollama:tiny") and made.parts_total == len(server.chats) > 1
    assert made.ratio == pytest.approx(5, rel=0.2)
    assert all(one in told for one in (PINNED, "**Summary:**", "/etc/kites_39.conf"))
    assert all(PINNED not in str(chat) for chat in server.chats), "what survives is never shown"
    with press.house.database.read() as session:
        spent = session.execute(text("SELECT count(*) FROM energy_ledger WHERE kind = 'compress_session'"))
        assert spent.scalar_one() == len(server.chats)
