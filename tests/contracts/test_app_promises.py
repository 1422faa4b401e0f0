"""What an app's developer would try first, over HTTP and without a model: a few words, and what becomes of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from tests.support.api import Api, open_api
from tests.support.working import open_worker, work_off
from worker.wiring import Wired

CONVERSATIONS = "/apps/chat/conversations"


def named(user: str) -> dict[str, str]:
    """Return what names a user; nothing names one without a name."""
    return {"userId": user} if user else {}


@dataclass
class App:
    """An app and its users."""

    api: Api
    worker: Wired
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def hold(self, *said: str, user: str = "ana") -> str:
        """Hold a chat, user and assistant in turn, end it, and carry out what follows; return what came of its end."""
        name = f"c{next(self.numbers)}"
        self.api.ask("POST", CONVERSATIONS, json={"conversationId": name, **named(user)})
        for nth, content in enumerate(said):
            self.api.clock.advance(5)
            message = {"role": ("user", "assistant")[nth % 2], "content": content}
            self.api.ask("POST", f"{CONVERSATIONS}/{name}/messages", json=message)
        self.api.ask("POST", f"{CONVERSATIONS}/{name}/end")
        work_off(self.worker, self.api.clock)
        self.api.clock.advance(3600)
        jobs = self.api.ask("GET", f"{CONVERSATIONS}/{name}")["jobs"]
        return str(next(job["state"] for job in jobs if job["kind"] == "create_memory"))

    def memories(self, user: str = "ana") -> list[str]:
        listed = self.api.ask("GET", "/apps/chat/memories", params={"userId": user})["memories"]
        return [one["content"] for one in listed]

    def facts(self, user: str = "ana") -> dict[str, int]:
        """Return the facts that stand, with their ids."""
        listed = self.api.ask("GET", "/apps/chat/facts", params={"userId": user})["facts"]
        return {one["fact"]: one["id"] for one in listed}

    def history(self, fact: int) -> list[dict[str, Any]]:
        return list(self.api.ask("GET", f"/apps/chat/facts/{fact}/history")["changes"])

    def recalled(self, message: str, user: str = "ana") -> str:
        """Return everything a model would be told before it answers a message."""
        answer = self.api.ask("POST", "/apps/chat/context", json={"message": message, **named(user)})
        return f"{answer['systemPrompt']}\n{answer['messages'][:-1]}"


@pytest.fixture
def app(sqlite_url: str, tmp_path: Path) -> Iterator[App]:
    home = tmp_path / "home"
    with (
        open_api(sqlite_url, home) as api,
        open_worker(sqlite_url, home, api.clock, CollectorRegistry()) as worker,
    ):
        api.install()
        yield App(api, worker)


ALONE = (
    "I'm allergic to bees", "Please call me Jo.", "answer in metric please",
    "Ich bin allergisch gegen Bienen", "Nenn mich bitte Jo.", "Antworte mir ab jetzt in Kilometern.",
    "soy alérgica a las abejas", "Llámame Jo, por favor.", "responde en sistema métrico, por favor",
    "蜂アレルギーです", "私の名前はジョーです", "今後はメートル法で答えてください",
)  # fmt: skip


def test_a_harm_a_name_and_a_wish_are_kept_though_nothing_else_is_said(app: App) -> None:
    for said in ALONE:
        assert app.hold(said, user=said[:9]) == "done"
        kept = said.rstrip(".")
        assert app.memories(said[:9]) == [f"User: {kept}"]
        [fact] = app.facts(said[:9])
        # In English a fact is told of the user.
        assert fact.split()[-1] == kept.split()[-1]
        assert kept in app.recalled("Hi!", said[:9])


NOBODYS = (
    'He said: "I\'m vegan"', "My brother says: 'I am allergic to bees'", "Er sagte: „Ich bin Veganer“",
    'Mi hermano dice: "soy alérgico a las abejas"', "彼は「私はビーガンです」と言いました",
    "If I lived in Rome I'd eat pasta every day", "suppose I had two kids and a dog", "I wish I had a garden",
)  # fmt: skip
"""What another said of themselves, and what is only imagined."""


def test_what_another_said_of_themselves_or_is_only_imagined_is_not_kept_as_the_users(app: App) -> None:
    for said in NOBODYS:
        assert app.hold(said, "I see.") == "nothing", said
        assert (app.memories(), app.facts()) == ([], {}), said


PUT_RIGHT = (
    ("My train is at 7:40.", "Correction: 17:40.", "My train is at 17:40"),
    ("I take the train at 7:40", "correction: 17:40", "I take the train at 17:40"),
    ("Quedamos con Ada a las 7:40.", "Corrección: 17:40", "Quedamos con Ada a las 17:40"),
    ("the train is at 7:40", "correction: 17:40", "the train is at 17:40"),
    ("My train leaves at 7:40 on Friday.", "Correction: it leaves at 17:40.", "My train leaves at 17:40 on Friday"),
    ("Mein Zug fährt um 7:40.", "Korrektur: 17:40", "Mein Zug fährt um 17:40"),
    ("電車は7:40です", "訂正: 17:40です", "電車は17:40です"),
    ("I ordered the table in oak", "sorry, not oak, ash", "I ordered the table in ash"),
    ("Soy alérgica a las nueces", "perdón, no a las nueces, a las almendras", "Soy alérgica a las almendras"),
    ("Mijn zus woont in Gent", "sorry, niet Gent maar Brugge", "Mijn zus woont in Brugge"),
    ("Our budget is 2200 pounds, no, 2400.", "thanks", "Our budget is 2400 pounds"),
)


def test_of_a_time_or_a_word_that_is_put_right_only_the_right_one_is_kept(app: App) -> None:
    for number, (said, corrected, kept) in enumerate(PUT_RIGHT):
        user = f"u{number}"
        app.hold(said, "Ok.", corrected, "Noted.", user=user)
        assert app.memories(user) == [f"User: {kept}"]
        assert " 7:40" not in str(app.facts(user))


def test_a_yes_to_a_question_about_a_harm_is_kept_with_it(app: App) -> None:
    app.hold("Hi", "Are you allergic to nuts?", "Yes", "Noted.")
    assert list(app.facts()) == ["Are you allergic to nuts? Yes"]


def test_another_value_of_the_same_thing_replaces_what_was_known_and_makes_no_third(app: App) -> None:
    app.hold("The exam is on 9 March.", "Noted.")
    app.hold("The exam is on 16 March.", "Noted.")
    assert list(app.facts()) == ["The exam is on 16 March"]
    app.hold("I live in Graz now, in house number 4.", "Noted.", user="ben")
    app.hold("I live in Turku now, in house number 23.", "Noted.", user="ben")
    assert list(app.facts("ben")) == ["Lives in Turku now, in house number 23"]


TAKEN_BACK = (
    ("Ich bin allergisch gegen Erdnüsse", "Ich bin doch nicht allergisch gegen Erdnüsse"),
    ("je suis allergique aux arachides", "en fait je ne suis pas allergique aux arachides"),
    ("私はピーナッツアレルギーです", "ピーナッツアレルギーではありませんでした"),
    ("Always answer in French", "Answer in English from now on"),
    ("I'm allergic to peanuts", "turns out I'm not allergic to peanuts"),
    ("I'm allergic to peanuts", "I'm no longer allergic to peanuts"),
    ("Soy alérgico a los cacahuetes", "resulta que no soy alérgico a los cacahuetes"),
)


def test_a_fact_that_is_taken_back_in_a_later_chat_does_not_stand_and_says_so(app: App) -> None:
    for number, (said, later) in enumerate(TAKEN_BACK):
        user = f"u{number}"
        app.hold(said, "Noted.", user=user)
        [(before, old)] = app.facts(user).items()
        app.hold(later, "Good to know.", user=user)
        [(after, new)] = app.facts(user).items()
        assert after != before and after.endswith(later.split(" ", 1)[-1][-20:])
        [replaced] = [one for one in app.history(old) if one["kind"] == "replaced"]
        assert (replaced["before"], replaced["relatedFactId"]) == (before, new)
        told = app.recalled("What may I eat?", user)
        assert after in told or later in told


NOTHING = (
    ("hello", "Hi! How can I help?", "thank you, bye", "Bye!"),
    ("hiii", "Hello! How are you?", "can't complain, tired", "Rest well.", "night night"),
    ("hey, how are you today?", "Fine!", "haha ok. tell me a joke", "Knock, knock.", "lol nice"),
    ("whats the difference between a fjord and a bay", "A fjord was cut by ice.", "thx!"),
    ("Bonsoir !", "Bonsoir !", "Merci, bonne nuit"),
    ("Hallo", "Hallo!", "Vielen Dank, tschüss"),
    ("Hola, buenos días", "¡Hola!", "Muchas gracias, adiós"),
    ("こんにちは", "こんにちは！", "ありがとうございました"),
    ("How do I boil an egg?", "Seven minutes in boiling water.", "thanks"),
    ("how do I reverse a list in python", "Use reversed()."),
    ("Wie koche ich ein Ei?", "Sieben Minuten.", "danke"),
    ("¿Cómo se cuece un huevo?", "Siete minutos.", "gracias"),
    ("卵はどうやって茹でますか？", "7分です。", "ありがとう"),
)


def test_a_chat_in_which_nothing_was_stated_ends_as_nothing(app: App) -> None:
    for said in NOTHING:
        assert app.hold(*said) == "nothing", said
        assert (app.memories(), app.facts()) == ([], {}), said


def test_what_is_quoted_beside_an_answer_is_never_cut_so_that_it_says_the_opposite(app: App) -> None:
    app.hold("Danke! Ich rauche übrigens seit Mai nicht mehr.", "Glückwunsch, seit Mai ohne Rauchen!")
    told = app.recalled("Seit wann bin ich ohne Rauchen?")
    assert "seit Mai nicht mehr" in told and "Ich rauche […]" not in told and "Ich rauche übrigens […]" not in told


def test_another_users_chat_never_shows(app: App) -> None:
    said = "My sister Wilhelmina is allergic to walnuts and lives in Trondheim."
    app.hold(said, "Noted: no walnuts for Wilhelmina.", user="ben")
    for user in ("ana", ""):
        app.hold("I keep bees in Lyon.", "How lovely!", user=user)
        for message in (said, "Who is allergic to walnuts?", "Tell me of Wilhelmina in Trondheim."):
            told = app.recalled(message, user)
            assert not [word for word in ("Wilhelmina", "walnuts", "Trondheim") if word in told], (user, message)
    assert "walnuts" in app.recalled("Who is allergic to walnuts?", "ben"), "they are told"


ANSWERED = (
    (("Please suggest a cake.", "Any allergies?", "Nuts, all of them"), "Any allergies? Nuts, all of them"),
    (("Schlag einen Kuchen vor.", "Hast du Allergien?", "Nüsse, alle"), "Hast du Allergien? Nüsse, alle"),
    (("Sugiere un pastel.", "¿Alguna alergia?", "Frutos secos, todos"), "¿Alguna alergia? Frutos secos, todos"),
    (("ケーキは？", "アレルギーはありますか？", "ナッツ全般です"), "アレルギーはありますか？ ナッツ全般です"),
)


def test_an_answer_of_a_few_words_stands_with_what_was_asked(app: App) -> None:
    for number, (said, kept) in enumerate(ANSWERED):
        user = f"u{number}"
        app.hold(*said, "Noted.", user=user)
        assert len(app.memories(user)) == 1 and kept in app.memories(user)[0]
        assert list(app.facts(user)) == [kept]
