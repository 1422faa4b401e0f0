"""Versions by a model that misbehaves, over the wire: nothing unusable is kept, nothing unread counts as done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text

from shared.llm.chat import MOSTLY_CACHED
from shared.llm.providers import make_chat
from shared.sessions.models import SessionVersion
from tests.support.compressing import Press, long_talk, uniform
from tests.support.house import House
from tests.support.model_server import Act, ModelServer
from tests.support.providers import over_each
from tests.support.settings import served_at
from worker.agent.session_model import ModelCompressionAgent

WINDOW = 4096
PINNED = "The wind table is in\n    conf/wind.toml  and stays there."
GOOD = {"lines": [{"text": "They work on kites.", "from": [1]}]}


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


UNUSABLE = {
    "prose": Act(answer="They fly kites."),
    "an apology": Act(answer="I'm sorry, but I cannot help with that."),
    "nothing": Act(answer=""),
    "a refusal": Act(answer="", refused=True),
    "an answer cut off by its length": Act(answer=GOOD, done_reason="length"),
    "a prompt that was cut": Act(answer=GOOD, seen_tokens=MOSTLY_CACHED + 1),
    "a broken connection": Act(answer=GOOD, close_after=1),
    "an error in the stream": Act(answer=GOOD, error_after=1),
    "not JSON on the wire": Act(answer=GOOD, garbage=True),
    "a server error": Act(status=500),
    "too many requests": Act(status=429),
}


OFTEN = ("prose", "a prompt that was cut", "a broken connection")
"""The others take the same ways through the chat, and wait for ``--long``."""


@over_each
@pytest.mark.parametrize(
    "act",
    [pytest.param(act, id=name, marks=() if name in OFTEN else pytest.mark.long) for name, act in UNUSABLE.items()],
)
def test_a_model_that_is_unusable_for_a_while_costs_only_time(
    press: Press, provider: str, server: ModelServer, act: Act
) -> None:
    server.will(*[act] * 2)
    assert compress(press, provider).state == "ready"
    [job] = press.jobs()
    assert job.state == "done" and len(server.chats) > 2


@over_each
def test_a_model_that_is_down_for_good_ends_as_a_dead_letter_and_leaves_nothing(
    press: Press, provider: str, server: ModelServer
) -> None:
    server.will(*[Act(status=503)] * 60)
    compress(press, provider)
    assert [job.state for job in press.jobs()] == ["dead"]
    assert (press.listed("s1"), press.files("s1")) == ([], [])


def test_what_a_model_makes_up_is_not_in_the_version(press: Press, server: ModelServer) -> None:
    lie = {"lines": [{"text": "They moved everything to src/made_up.rs.", "from": [1]}]}
    server.will(*[Act(answer=lie)] * 40)
    made = compress(press)
    assert made.state == "ready" and "made_up" not in press.text(made, "s1")
    assert made.ratio == pytest.approx(5, rel=0.2), "what the model did not give is filled with what was said"
