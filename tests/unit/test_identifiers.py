"""Identifiers of code in running text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.search.query import identifiers_of

_TALK = """Use `renderChart(data)` before updateUI. We also call parse_json(payload) and handleError(err).
```ts
function fetchPatientData(record_id: string) {
```"""


def test_names_are_found_in_prose_in_calls_between_back_ticks_and_in_fences() -> None:
    assert identifiers_of(_TALK) == {
        "renderchart", "updateui", "parse_json", "handleerror", "fetchpatientdata", "record_id",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("Need help with parse_json errors", {"parse_json"}, id="snake case"),
        pytest.param("the MAX_RETRIES constant", {"max_retries"}, id="capitals"),
        pytest.param("override __init__ and _private", {"__init__", "_private"}, id="leading underscores"),
        pytest.param("a DataFrame of rows", {"dataframe"}, id="the name of a class"),
        pytest.param("look into tokens.py please", {"tokens.py"}, id="a file"),
        pytest.param("set `retries` to 3", {"retries"}, id="a plain name between back-ticks"),
        pytest.param("`np.float32` is slow", {"np.float32"}, id="a dotted name between back-ticks"),
        pytest.param("```\nclass Lighthouse:\n```", {"lighthouse"}, id="what a fence defines"),
        pytest.param("```\nif (ready) while(true)\n```", set(), id="a keyword is no call"),
        pytest.param("Caroline went to London (with Mel).", set(), id="prose"),
        pytest.param("the class of 2023 and its function", set(), id="words of code in prose"),
        pytest.param("", set(), id="nothing"),
    ],
)
def test_identifiers_of(text: str, expected: set[str]) -> None:
    assert identifiers_of(text) == expected


@given(st.text())
def test_any_text_is_read_and_names_are_lower_case(text: str) -> None:
    assert all(name == name.lower() for name in identifiers_of(text))


def test_a_file_is_found_behind_hyphens_however_many_there_are() -> None:
    assert identifiers_of(f"see --my-notes.py and {'a-' * 100_000}") == {"my-notes.py"}
