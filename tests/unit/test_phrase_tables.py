"""The phrases by which the rules agents tell clauses apart: each finds its own example."""

from __future__ import annotations

import pytest

from shared.text import harms
from shared.text.phrases import PhraseTable
from worker.agent import memory_rules, salience, session_rules, summary_rules
from worker.agent.fact_rules import SINGLE_VALUES, slot_of

PHRASES = [
    pytest.param(table, example, id=f"{module.__name__.rpartition('.')[2]}{name}: {example}")
    for module in (harms, memory_rules, session_rules, summary_rules)
    for name, table in vars(module).items()
    if isinstance(table, PhraseTable)
    for example in table.phrases
] + [
    pytest.param(table, example, id=f"{language} {sort}: {example}")
    for language, tables in salience.PHRASES.items()
    for sort, table in tables.items()
    for example in table.phrases
]


@pytest.mark.parametrize(("table", "example"), PHRASES)
def test_a_phrase_finds_its_example(table: PhraseTable, example: str) -> None:
    assert table.compiled(table.phrases[example]).search(example)
    assert table.is_in(example)


@pytest.mark.parametrize("example", SINGLE_VALUES)
def test_what_one_has_once_is_known_by_its_example(example: str) -> None:
    assert slot_of(example) == example


def test_every_kind_of_phrase_has_its_table() -> None:
    assert len({id(param.values[0]) for param in PHRASES}) == 14 + sum(map(len, salience.PHRASES.values()))
