"""What the extractive agent makes of a user who corrects or ends what they stated before."""

from __future__ import annotations

import pytest

from shared.facts.categories import Category
from tests.unit.test_fact_patterns import extract, said, turn
from worker.agent.protocol import PresentFact


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        (("Wir ziehen am 5. Juni nach Kiel.", "nein, am 6. Juni meinte ich"), ["Wir ziehen am 6. Juni nach Kiel"]),
        (
            ("Wir verkaufen das Haus zum 3. Mai.", "Ach so, nein, nicht zum 3. Mai, zum 3. Juli meinte ich"),
            ["Wir verkaufen das Haus zum 3. Juli"],
        ),
        (("Mein Sohn ist 8 und mag Pferde.", "Entschuldigung, 9 nicht 8."), ["Mein Sohn ist 9 und mag Pferde"]),
        (("Ich wohne in Bonn", "Pardon, nicht Bonn sondern Köln"), ["Ich wohne in Köln"]),
        (("Je vis à Lille.", "pardon, je voulais dire Metz"), ["Je vis à Metz"]),
        (("J'ai deux enfants.", "non, trois enfants je voulais dire"), ["J'ai trois enfants"]),
        (("Vivo en Sevilla.", "perdón, quise decir Granada"), ["Vivo en Granada"]),
        (("Tengo dos perros.", "no dos sino tres"), ["Tengo tres perros"]),
        (("I live in Lepzig.", "sorry, typo, Leipzig i mean"), ["Lives in Leipzig"]),
        (("I live in Paris.", "sorry, metz i meant"), ["Lives in Metz"]),
        (("I've been working at a dairy since May.", "no, since july i mean"), ["Has worked at a dairy since July"]),
        (("We have two dogs.", "sorry i meant four dogs"), ["Has four dogs"]),
        (("I'm allergic to plums.", "oops sorry not plums, peaches"), ["Is allergic to peaches"]),
        (("I have an exam on 12 June.", "sorry, 14 June"), ["Has an exam on 14 June"]),
        (("I take 20 mg of statins daily", "oops, 40 mg"), ["Takes 40 mg of statins daily"]),
        (("I live in Oslo and work at Lego.", "it's not Lego but Maersk"), ["Lives in Oslo", "Works at Maersk"]),
        (("I'm a nurse.", "sorry, I'm not a nurse, I'm a vet"), ["Is a vet"]),
        (("I live in Oslo. Sorry, Bergen I mean. I love jazz.",), ["Lives in Bergen", "Loves jazz"]),
    ],
)  # fmt: skip
def test_a_correction_replaces_the_value_in_what_was_stated_last(turns: tuple[str, ...], expected: list[str]) -> None:
    assert _stated(*turns) == expected


@pytest.mark.parametrize(
    "turns",
    [
        pytest.param(("I have three cats and two dogs.", "sorry, four i meant"), id="either number"),
        pytest.param(("I have a dog called Rex.", "sorry, that's wrong"), id="the whole"),
        pytest.param(
            ("my nephew Juri is allergic to soy", "it's his cousin who has the soy allergy, not juri"), id="a person"
        ),
    ],
)
def test_what_is_taken_back_without_what_is_right_is_no_fact(turns: tuple[str, ...]) -> None:
    assert _stated(*turns) == []


def test_what_is_said_of_the_right_person_behind_a_correction_is_read() -> None:
    second = "oh sorry that's my niece Asta with the soy, juri is allergic to lupin"
    assert _stated("my nephew Juri is allergic to soy", second) == ["Nephew Juri is allergic to lupin"]


@pytest.mark.parametrize(
    "second",
    ["oh, 30", "sorry, can you repeat?", "i mean seriously", "sorry, 5 minutes late", "sorry, thanks", "sorry no dogs"],
)
def test_what_only_sounds_like_a_correction_changes_nothing(second: str) -> None:
    assert _stated("I have two dogs.", second) == ["Has two dogs"]


def test_a_correction_of_one_user_leaves_what_another_stated() -> None:
    made = extract(turn("I have two dogs.", 1, name="Ann"), turn("sorry, three", 2, name="Ben")).statements
    assert [one.text for one in made] == ["Ann has two dogs"]


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        (("I'm a vegetarian.", "I eat fish again."), ["Eats fish"]),
        (("I'm a vegetarian.", "I'm not vegetarian any more"), ["Is no longer vegetarian"]),
        (("I decided to sell the barn.", "the sale of the barn fell through"), ["Sale of the barn fell through"]),
        (("I adopted a terrier called Moss.", "Moss died"), ["Moss died"]),
        (("Our son is allergic to soy", "our son outgrew his soy allergy"), ["Son outgrew his soy allergy"]),
        (("my sister Ida is vegan", "my sister Ida is no longer vegan"), ["Sister Ida is no longer vegan"]),
        (("Moss died",), []),
    ],
)  # fmt: skip
def test_what_is_over_takes_the_place_of_what_it_ends(turns: tuple[str, ...], expected: list[str]) -> None:
    assert _stated(*turns) == expected


@pytest.mark.parametrize(
    ("fact", "content", "expected"),
    [
        ("Is vegetarian", "I eat fish again", "Eats fish"),
        ("Son is 8", "sorry, 9 not 8", "Son is 9"),
        ("Juri is allergic to soy", "sorry, it was his cousin with the soy", "Juri is not allergic to soy"),
        ("Decided to sell the barn", "the sale of the barn fell through", "Sale of the barn fell through"),
        (
            "Takes warfarin daily",
            "my blood thinner changed from warfarin to edoxaban",
            "Blood thinner changed from warfarin to edoxaban",
        ),
    ],
)  # fmt: skip
def test_a_known_fact_that_is_over_or_wrong_is_named(fact: str, content: str, expected: str) -> None:
    known = (PresentFact(1, fact, Category.IDENTITY), PresentFact(2, "Name is Ole", Category.IDENTITY))
    assert [(one.text, one.updates) for one in extract(turn(content), known=known).statements] == [(expected, 1)]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("Our niece is called Asta and she's allergic to soy", ["Niece is called Asta", "Niece is allergic to soy"]),
        ("I have epilepsy and carry a rescue spray", ["Has epilepsy"]),
        ("my sister has asthma and carry a spray", ["Sister has asthma"]),
        ("some new rules for the garden, please stick to them from now on", []),
        ("my wife Ines is coeliac", ["Wife Ines is coeliac"]),
        ("ibuprofen gives me hives", ["Gets hives from ibuprofen"]),
        ("Mein Sohn Till darf keine Erdnüsse", ["Mein Sohn Till darf keine Erdnüsse"]),
        ("ich bin gehörlos", ["Ich bin gehörlos"]),
        ("私はそばアレルギーなので", ["私はそばアレルギー"]),
        ("when i'm low please dont send me jokes", ["Wants: when they are low please do not send them jokes"]),
        ("sorry, my nephew is allergic", []),
    ],
)  # fmt: skip
def test_chatty_statements_are_found_one_by_one(content: str, expected: list[str]) -> None:
    assert said(content) == expected


def _stated(*turns: str) -> list[str]:
    return [one.text for one in extract(*(turn(content, i + 1) for i, content in enumerate(turns))).statements]
