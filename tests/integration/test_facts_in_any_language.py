"""Facts of chats in languages and forms that no rule knows, sent over HTTP and read back there; and said once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.api import Api
from tests.support.house import House
from worker.agent.fact_rules import ExtractiveFactAgent
from worker.agent.memory_rules import ExtractiveAgent


@pytest.fixture
def house(sqlite_api: Api) -> Iterator[House]:
    sqlite_api.install()
    house = House(sqlite_api.loop.settings.database_url, ExtractiveAgent())
    house.settings = house.settings.model_copy(update={"facts": True})
    house.clock = house.pipeline.clock = sqlite_api.clock
    house.fact_agent = ExtractiveFactAgent()  # type: ignore[assignment]
    yield house
    house.database.dispose()


def hold(api: Api, house: House, *said: str) -> list[str]:
    """Hold a conversation of a user and an assistant in turn, and return the user's facts."""
    conversation = api.ask("POST", "/apps/chat/conversations", json={"userId": "ann"})["conversationId"]
    path = f"/apps/chat/conversations/{conversation}"
    for nth, content in enumerate(said):
        api.clock.advance(1)
        api.ask("POST", f"{path}/messages", json={"role": ("user", "assistant")[nth % 2], "content": content})
    api.ask("POST", f"{path}/end")
    house.work_off()
    facts: list[dict[str, Any]] = api.ask("GET", "/apps/chat/facts", params={"userId": "ann"})["facts"]
    return [one["fact"] for one in facts]


@pytest.mark.parametrize(
    ("said", "fact"),
    [
        ("Merhaba! Bursa'da bir ilkokulda öğretmenlik yapıyorum.", "Bursa'da bir ilkokulda öğretmenlik yapıyorum"),
        ("Mam uczulenie na orzechy włoskie, proszę o tym pamiętać.", "Mam uczulenie na orzechy włoskie"),
        ("저는 대구에서 작은 빵집을 운영하고 있어요.", "저는 대구에서 작은 빵집을 운영하고 있어요"),
        ("Sono infermiera e lavoro di notte a Bari.", "Sono infermiera e lavoro di notte a Bari"),
        ("Я живу в Перми, у меня две дочки и кот.", "Я живу в Перми, у меня две дочки и кот"),
        ("أنا نباتية ولا آكل اللحم أبدًا.", "أنا نباتية ولا آكل اللحم أبدًا"),
        ("Tôi bị dị ứng với tôm và cua.", "Tôi bị dị ứng với tôm và cua"),
        ("make it without lactose, my daughter Wiebke gets cramps from it", "my daughter Wiebke gets cramps from it"),
    ],
    ids=["tr", "pl", "ko", "it", "ru", "ar", "vi", "within a request"],
)
def test_what_is_stated_in_any_language_is_a_fact_in_the_users_words(
    sqlite_api: Api, house: House, said: str, fact: str
) -> None:
    assert any(fact in one for one in hold(sqlite_api, house, said, "Noted."))


@pytest.mark.parametrize(
    "said",
    [
        "Ciao! Mi racconti una barzelletta?",
        "Teşekkürler, iyi geceler!",
        "오늘 날씨가 좋네요. 고마워요!",
        "Сколько километров до Луны?",
        "haha lovely, make it a bit shorter please",
        'Tradu: "Sono allergica alle fragole e vivo a Lecce con mio marito Pino e due gatti."',
    ],
)
def test_talk_questions_and_what_another_said_are_no_facts(sqlite_api: Api, house: House, said: str) -> None:
    assert hold(sqlite_api, house, said, "Ok.") == []


def test_a_bare_answer_stands_with_what_was_asked(sqlite_api: Api, house: House) -> None:
    facts = hold(
        sqlite_api, house, "Hej! Jag vill boka bord.", "Har någon av er allergier?", "Min fru tål inte nötter."
    )
    assert any("tål inte nötter" in one for one in facts)


def test_a_change_replaces_the_one_fact_it_is_about(sqlite_api: Api, house: House) -> None:
    first = hold(sqlite_api, house, "Мы живём в Твери, в двухкомнатной квартире.", "Понятно.")
    assert len(first) == 1
    facts = hold(sqlite_api, house, "Мы больше не живём в Твери, переехали в Казань.", "Понятно.")
    assert len(facts) == 1 and "Казань" in facts[0]


def test_what_a_memory_says_is_not_said_again_as_a_fact(sqlite_api: Api, house: House) -> None:
    fact = "Sono infermiera e lavoro di notte a Bari"
    assert hold(sqlite_api, house, f"{fact}.", "Capito.") == [fact]
    context = sqlite_api.ask("POST", "/apps/chat/context", json={"userId": "ann", "message": "Ciao"})
    assert str(context["messages"]).count(fact) == 1
