"""What a later statement puts right in an earlier one, and what it leaves alone."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.agent.corrections import (
    differ_in_values_only,
    put_right,
    repaired,
    with_spelling_of,
    with_values_of,
    with_word_of,
)
from worker.agent.protocol import TranscriptTurn
from worker.agent.statements import read_statements


@pytest.mark.parametrize(
    ("said", "later", "right"),
    [
        ("I take Euthyrox 57 in the morning", "sorry, 75 not 57. 75 micrograms", "I take Euthyrox 75 in the morning"),
        ("the hall is free on the 3rd", "no wait, not the 3rd, the 12th", "the hall is free on the 12th"),
        ("table for 6 people", "Wait not 6, 8", "table for 8 people"),
        ("el 13 de junio creo", "no espera, el 20 de junio", "el 20 de junio creo"),
        ("du 12 au 17 mai", "oups, donc du 14 au 19, le 12 je travaille", "du 14 au 19 mai"),
        ("息子は5歳です", "あ、6歳でした", "息子は6歳です"),
        ("we run python 3.12 with uv", "we are on python 3.13 since Monday", "we run python 3.13 with uv"),
        ("I have 2 cats", "I have 3 dogs", "I have 2 cats"),
        ("pages 57-75", "see 57-75", "pages 57-75"),
        ("I moved 24 November 2026", "I started 25 November 2026", "I moved 24 November 2026"),
        ("no number here", "it is 12", "no number here"),
        ("Takes 75 mg", "75, not 57", "Takes 75 mg"),
        ("Давление 140 на 90", "вру, 130 на 90", "Давление 130 на 90"),
        ("The exam is on 9 March", "the exam is on 16 March", "The exam is on 16 March"),
        ("Deadline is May 9", "it moved to May 30", "Deadline is May 30"),
    ],
)
def test_a_value_is_put_right_where_it_is_plain_which(said: str, later: str, right: str) -> None:
    assert with_values_of(said, later) == right


@pytest.mark.parametrize(
    ("said", "later"),
    [
        ("My flight is at 6:50 on Monday, gate B12", "they changed it to 7:35, gate C4"),
        ("My flight is at 6:50 on Monday from terminal 2", "sorry 7:35 from terminal 4"),
        ("Der Zug geht um 8:15 von Gleis 3", "Korrektur: 8:45, Gleis 7"),
    ],
)
def test_of_several_values_all_are_put_right_or_none(said: str, later: str) -> None:
    assert put_right(said, later, is_sure=True, is_near=True, is_next=True) == said


@pytest.mark.parametrize(
    ("said", "later", "right"),
    [
        ("I live in Gronigen", "typo, Groningen", "I live in Groningen"),
        ("a table of Eiche", "quatsch, nicht Eiche, ESCHE", "a table of ESCHE"),
        ("my sister Maja sings", "she sings on Monday", "my sister Maja sings"),
        ("I live in Ghent", "I live in Bruges", "I live in Ghent"),
    ],
)
def test_a_word_is_spelt_as_it_was_meant(said: str, later: str, right: str) -> None:
    assert with_spelling_of(said, later) == right


@pytest.mark.parametrize(
    ("said", "later", "right"),
    [
        ("The table top is made of oak", "sorry, not oak, ash", "The table top is made of ash"),
        ("The table top is made of oak", "ash, not oak, sorry", "The table top is made of ash"),
        ("Ma fille est allergique aux noix", "pas aux noix, aux noisettes", "Ma fille est allergique aux noisettes"),
        ("Моя дочь живёт в Самаре", "не в Самаре, а в Саратове", "Моя дочь живёт в Саратове"),
        ("Kızım Ankara'da okuyor", "Ankara değil İzmir", "Kızım İzmir'da okuyor"),
        ("予約は火曜日です", "火曜日ではなく木曜日です", "予約は木曜日です"),
        # Which of two is denied says which is wrong.
        ("I like green tea", "tea, not coffee", "I like green tea"),
        ("It is on Thursday", "Thursday, not Tuesday", "It is on Thursday"),
        ("I live in Rome", "not bad at all, thank you", "I live in Rome"),
        ("Order PH-48213 has arrived", "It is PH-48231, the three and one swapped", "Order PH-48213 has arrived"),
    ],
)
def test_a_word_is_put_right_where_it_is_denied(said: str, later: str, right: str) -> None:
    assert with_word_of(said, later) == right


def test_of_what_was_said_next_the_only_value_or_name_is_put_right() -> None:
    assert put_right("The train is at 7:40 on 3 March 2026", "correction: 17:40", True, is_next=True).startswith(
        "The train is at 17:40"
    )
    assert put_right("We run MySQL on a small box", "it's MariaDB actually", True, is_next=True) == (
        "We run MariaDB on a small box"
    )
    assert put_right("We run MySQL on a small box", "it's MariaDB actually") == "We run MySQL on a small box"
    assert put_right("Order PH-48213", "It is PH-48231", is_near=True) == "Order PH-48231"


@pytest.mark.parametrize(
    ("said", "right"),
    [
        ("Budget is now 2200 pounds, no, 2400", "Budget is now 2400 pounds"),
        ("Release am 13. März, ach Quatsch, am 31. März, mittags", "Release am 31. März, mittags"),
        ("I like tea, no sugar, with milk", "I like tea, no sugar, with milk"),
        ("We have two cats, a dog, and a parrot", "We have two cats, a dog, and a parrot"),
        ("From 9, at 10 we eat", "From 9, at 10 we eat"),
        ("Perfect, I booked a table for 8, no, 9.", "Perfect, I booked a table for 9"),
        ("Vale, la cita es el 3, no, el 13 de mayo.", "Vale, la cita es el 13 de mayo"),
        ("Der Zug geht um 8 Uhr, nein, 8 Uhr 30.", "Der Zug geht um 8 Uhr 30"),
        ("metformin 500 mg, no sorry, 850 mg twice a day", "metformin 850 mg twice a day"),
    ],
)
def test_what_is_taken_back_within_a_sentence_is_left_out(said: str, right: str) -> None:
    assert repaired(said) == right


@given(
    st.lists(
        st.sampled_from(["no", "a table for 8", "9", "sorry", "am 13. März", "nein", "", "at 7:40", "。"]), max_size=9
    )
)
def test_no_sentence_stops_it_and_no_value_is_made_up(parts: list[str]) -> None:
    said = ", ".join(parts)
    assert set(re.findall(r"\w+", repaired(said))) <= set(re.findall(r"\w+", said))


@pytest.mark.parametrize("said", ["Ines is pregnant, due on 14 January", "Her operation is in March"])
@pytest.mark.parametrize(
    "later", ["I have not smoked since May", "I'm not working on 16 March", "I'm not free in April"]
)
def test_what_only_denies_another_thing_puts_nothing_right(said: str, later: str) -> None:
    turn = TranscriptTurn("m1", "user", None, f"{said}. {later}.", datetime(2026, 3, 4, tzinfo=UTC))
    assert [one.text for one in read_statements([turn])] == [said, later]


@pytest.mark.parametrize(
    ("said", "later"),
    [
        ("I take metformin 500 mg", "and ibuprofen 400 mg now"),
        ("I take metformin 500 mg", "I switched to ibuprofen 400 mg"),
        ("The rent is 800 euros", "the electricity went up to 90 euros"),
        ("My weight is 80 kg", "my wife is down to 65 kg now"),
    ],
)
def test_a_value_of_another_thing_puts_nothing_right(said: str, later: str) -> None:
    turn = TranscriptTurn("m1", "user", None, f"{said}. {later}.", datetime(2026, 3, 4, tzinfo=UTC))
    assert read_statements([turn])[0].text.startswith(said)
    assert put_right(said, later, is_next=True) == said


def test_only_values_may_differ() -> None:
    assert differ_in_values_only("python 3.12 with uv", "python 3.13 with uv")
    assert not differ_in_values_only("python 3.12 with uv", "python 3.12 with pip")
