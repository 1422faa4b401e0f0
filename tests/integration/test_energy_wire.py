"""What energy promises when a real model is paid: the figures are those the server reports, through real langchain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from loop.regulator import Regulator
from shared.base.errors import AfterthoughtError, OverBudget
from shared.energy import ledger
from shared.energy.budget import to_units
from shared.energy.ledger import LedgerAccount
from shared.llm.calls import WorkKind
from shared.llm.langchain_chat import LangchainToolChat
from shared.llm.providers import make_chat, make_tool_chat
from shared.llm.tools import Exchange, ExchangeLine, Speaker
from tests.support.house import House
from tests.support.minds import WINDOW
from tests.support.model_server import Act, ModelServer
from tests.support.providers import over_each
from tests.support.settings import default_settings, served_at
from worker.agent.memory_model import ModelAgent

SHORT = (ExchangeLine(Speaker.SYSTEM, "Be brief."), ExchangeLine(Speaker.USER, "Hello?"))
PLAIN = Act(answer="Hello.", seen_tokens=100, said_tokens=20)
PLAIN_UNITS = 2.0
"""What ``PLAIN`` costs: 100 tokens at 0.01 and 20 at 0.05."""


@pytest.fixture
def chat(provider: str, server: ModelServer) -> Iterator[LangchainToolChat]:
    made = make_tool_chat(f"{provider}:tiny", served_at(server.url, WINDOW))
    yield made
    made.close()


@pytest.fixture
def house(provider: str, server: ModelServer, sqlite_url: str) -> Iterator[House]:
    asked = make_chat(f"{provider}:tiny", served_at(server.url, WINDOW))
    house = House(sqlite_url, ModelAgent(asked, asked.name, WINDOW, 60.0))
    house.install()
    yield house
    asked.close()
    house.database.dispose()


def govern(house: House, refill: float = 0.0) -> Regulator:
    return Regulator(house.database, house.clock, default_settings(energy_refill_per_second=refill))


def ask(house: House, chat: LangchainToolChat, fails: bool = False) -> None:
    exchange = Exchange(WorkKind.THINK, SHORT, (), 100, fresh="Hello?")
    try:
        chat.reply(exchange, 5, house.accountant.meter(LedgerAccount("notes", None, None)))
    except OverBudget:
        raise
    except AfterthoughtError:
        assert fails


def spent(house: House) -> dict[str, float]:
    with house.database.read() as session:
        windows = ledger.spent_by_window(session, "notes", house.clock.now())
    return {name: to_units(micro) for name, micro in windows.items()}


def test_a_short_call_is_not_free_and_a_model_being_loaded_costs_nothing(
    house: House, server: ModelServer, chat: LangchainToolChat
) -> None:
    server.will(PLAIN)
    ask(house, chat)
    assert spent(house)["total"] == PLAIN_UNITS
    server.will(replace(PLAIN, load_seconds=0.5))
    ask(house, chat)
    assert spent(house)["total"] == 2 * PLAIN_UNITS


@over_each
@pytest.mark.parametrize(
    ("act", "least", "most"),
    [
        (replace(PLAIN, done_reason="length"), PLAIN_UNITS, PLAIN_UNITS),
        (replace(PLAIN, answer="Hello there, all of you.", error_after=2), 0.01, PLAIN_UNITS),
        (Act(status=400), 0.0, 0.0),
    ],
    ids=["cut off", "broken off", "refused"],
)
def test_a_failed_call_is_charged_for_what_it_used(
    house: House, server: ModelServer, chat: LangchainToolChat, act: Act, least: float, most: float
) -> None:
    server.will(act)
    ask(house, chat, fails=True)
    assert len(server.chats) == 1
    assert least <= spent(house)["total"] <= most
    regulator = govern(house)
    regulator.settle()
    with house.database.read() as session:
        assert regulator.reading(session).level == 100 - spent(house)["total"]
        assert regulator.reading(session).reserved == 0
