"""What fits a token budget."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.context.render import EARLIER, END, RECALLED, join_blocks
from shared.context.select import Tail, TailMaterial, select_tail
from shared.llm.calls import Rate, TokenCounting, UpperBoundCounting, estimate_tokens
from shared.search.models import HitKind, PassageKind
from shared.search.passages import MOST_CODE_TOKENS, MOST_FENCES, MOST_TOKENS, chunks_of, passages_of
from shared.search.ranking import Candidate, RankedCandidate, SearchHit
from shared.search.spoken import SpokenWords
from shared.text.repetition import PriorText
from shared.text.small_talk import is_small_talk
from tests.support.chance import examples

DAY = datetime(2023, 5, 7, 12, tzinfo=UTC)


def _hit(
    content: str, nth: int = 0, *, name: str | None = "Mel", days: int = 0, kind: PassageKind | None = None
) -> SearchHit:
    said_at = DAY + timedelta(days=days, minutes=nth)
    candidate = Candidate(1 << 20 | nth, 0, "user", name, content, said_at, 0.5, 0.5, 1.0, 1.0, kind)
    ranked = RankedCandidate(candidate, 1 - nth / 100, {})
    return SearchHit(ranked, True, f"m{nth}", "c1", None, content, HitKind.MESSAGE, None, 1, said_at)


def _tail(hits: Iterable[SearchHit], budget: int = 1000, scale: TokenCounting | None = None, **more: Any) -> Tail:
    material = TailMaterial(earlier=[(hit, ()) for hit in hits], **more)
    return select_tail("", material, budget, scale or TokenCounting(), is_apart=True)


def _lines(tail: Tail) -> list[str]:
    return tail.text.splitlines()[2:-1]


def test_each_has_its_speaker_under_the_day_it_was_said() -> None:
    tail = _tail([_hit("Second.", 1), _hit("Later.", 2, name=None, days=1), _hit("First.", 0)])
    assert tail.text.startswith(f"## {EARLIER}\n{RECALLED}\n") and tail.text.endswith(f"\n{END}")
    assert _lines(tail) == ["2023-05-07", "> Mel: First.", "> Mel: Second.", "2023-05-08", "> user: Later."]
    assert [hit.message_id for hit in tail.hits] == ["m1", "m2", "m0"], "the best first"


def test_what_was_sent_at_the_same_time_is_in_the_order_in_which_it_was_said() -> None:
    at_once = [
        one._replace(ranked=one.ranked._replace(candidate=one.ranked.candidate._replace(created_at=DAY)))
        for one in (_hit("Second.", 1), _hit("First.", 0))
    ]
    assert _lines(_tail(at_once)) == ["2023-05-07", "> Mel: First.", "> Mel: Second."]


def test_what_does_not_fit_is_passed_over_for_what_comes_next() -> None:
    tail = _tail([_hit("a" * 40), _hit("b" * 4000, 1), _hit("c" * 40, 2)], 80)
    assert [one.content[0] for one in tail.hits] == ["a", "c"]


def test_what_had_no_room_is_not_left_out_of_what_comes_next() -> None:
    sentence = "The yacht is painted blue today."
    tail = _tail([_hit(f"{sentence} {'x' * 4000}"), _hit(f"{sentence} Its mast is still bare wood.", 1)], 80)
    assert _lines(tail) == ["2023-05-07", f"> Mel: {sentence} Its mast is still bare wood."]


def test_one_that_needs_another_has_room_only_together_with_it() -> None:
    answer, question, other = _hit("a" * 100, 1), _hit("q" * 100), _hit("o" * 60, 2)
    material = TailMaterial(earlier=[(answer, [question]), (other, ())])
    for budget, taken in ((200, "qao"), (70, "o")):
        tail = select_tail("", material, budget, TokenCounting(), is_apart=True)
        assert "".join(hit.content[0] for hit in tail.hits) == taken


def test_for_a_question_about_code_code_goes_in_first() -> None:
    hits = [_hit("p" * 200), _hit("c" * 200, 1, kind=PassageKind.CODE)]
    assert [one.content[0] for one in _tail(hits, 95, is_about_code=True).hits] == ["c"]
    assert [one.content[0] for one in _tail(hits, 95).hits] == ["p"]


@pytest.mark.parametrize("budget", [-5, 0, 1])
def test_where_nothing_fits_there_is_no_text_at_all(budget: int) -> None:
    assert _tail([_hit("Hello there.")], budget) == Tail()


def test_of_nothing_there_is_no_text() -> None:
    assert _tail([]) == Tail()


@given(
    st.lists(st.tuples(st.text(max_size=300), st.integers(0, 3)), max_size=25),
    st.text(max_size=100),
    st.integers(0, 400),
    st.sampled_from([TokenCounting(), TokenCounting(Rate(10, 7)), UpperBoundCounting()]),
    st.booleans(),
)
def test_a_budget_is_never_passed_and_what_is_in_is_whole(
    texts: list[tuple[str, int]], summary: str, budget: int, scale: TokenCounting, is_about_code: bool
) -> None:
    hits = [_hit(text, nth, days=days) for nth, (text, days) in enumerate(texts)]
    material = TailMaterial(
        summary_id="s", summary=summary, earlier=[(hit, ()) for hit in hits], is_about_code=is_about_code
    )
    for head, is_apart in (("", True), ("A head.", False)):
        tail = select_tail(head, material, budget, scale, is_apart=is_apart)
        joined = join_blocks(["" if is_apart else head, tail.text])
        assert tail.tokens == scale.tokens(joined) - scale.tokens("" if is_apart else head) <= budget
        assert bool(tail.text) == bool(tail.hits or tail.summary_id)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param("Nice to meet you, Ana.", "nice to meet you ana", True, id="case and signs"),
        pytest.param("Nice to meet you, Ana.", "Nice to meet you, Ana!\n", True, id="an end"),
        pytest.param("Nice to meet you, Ana.", "Nice to meet you, Ann.", False, id="another name"),
        pytest.param("75 micrograms", "57 micrograms", False, id="another number"),
        pytest.param("👍", "👎", False, id="signs alone"),
        pytest.param("x, " * 200, "x  " * 200, False, id="a long text has to be the same"),
    ],
)
def test_texts_say_the_same_where_their_words_are_the_same(one: str, other: str, same: bool) -> None:
    assert (SpokenWords().read(one).gist == SpokenWords().read(other).gist) is same


@pytest.mark.parametrize(
    ("text", "left"),
    [
        pytest.param("The mast is bare wood.", "The mast is bare wood.", id="nothing was said before"),
        pytest.param("The yacht is painted blue today!", "", id="all of it was"),
        pytest.param("Well. The yacht is painted blue today.", "", id="next to nothing is left"),
        pytest.param(
            "The yacht is painted blue today. Its mast is still bare wood.",
            "[…] Its mast is still bare wood.",
            id="the beginning was",
        ),
        pytest.param(
            "We came home very late.\nThe yacht is painted blue today; the keel is laid in Oslo.\nIts mast is bare.",
            "We came home very late.\n[…]\nIts mast is bare.",
            id="some in a row",
        ),
        pytest.param("Noted: the yacht is painted blue today. Anything else for now?",
                     "Noted: […] Anything else for now?", id="behind a colon"),
        pytest.param("The yacht is painted bluer today.", "The yacht is painted bluer today.", id="whole words only"),
        pytest.param("", "", id="nothing"),
    ],
)  # fmt: skip
def test_what_was_said_before_is_left_out_and_marked(text: str, left: str) -> None:
    assert PriorText("1. The yacht is painted blue today", "The keel is laid in Oslo").left_of(text) == left


def test_what_is_noted_is_said_from_then_on() -> None:
    said = PriorText()
    assert said.left_of("The yacht is painted blue today.") == "The yacht is painted blue today."
    said.add("The yacht is painted blue today.")
    assert said.left_of("The yacht is painted blue today.") == ""


@pytest.mark.parametrize(
    "text",
    [
        "hi", "Hiiii!!", "Hello there", "good evening", "thanks a lot, have a great weekend!", "ok", "Yes, please.",
        "how are you?", "no problem", "Vielen Dank für deine Hilfe!", "Wie geht's dir?", "Grüß Gott", "bonjour à tous",
        "salut, ça va ?", "Muchas gracias por todo", "¿qué tal?", "Buongiorno, come stai?", "Tudo bem?", "tusen takk",
        "dzień dobry", "Günaydın", "Привет, как дела?", "שלום", "مرحبا", "नमस्ते", "สวัสดีครับ", "おはようございます",
        "谢谢！", "안녕하세요!", "terima kasih", "xin chào", "hahaha", "😂👍", "...", "",
    ],
)  # fmt: skip
def test_a_greeting_or_thanks_says_nothing_in_any_language(text: str) -> None:
    assert is_small_talk(text)


@pytest.mark.parametrize(
    "text",
    [
        "gluten?", "hi, where is my parcel", "thanks, and my order number?", "my boat", "Who am I?", "42",
        "a refund please",         "good restaurants in Rome", "What do you know about me?", "tomorrow, the dentist",
        "Danke, und wann ist die Prüfung?",
        "¿qué puedo cenar?", "試験は何日でしたっけ？", "好的，那我的地址呢",
        "Напомни мой адрес", "salt", "the second one",
    ],
)  # fmt: skip
def test_whoever_asks_for_something_says_something(text: str) -> None:
    assert not is_small_talk(text)


CODE, PROSE = PassageKind.CODE, PassageKind.PROSE
_SENTENCE = "The lighthouse keeper counted seven ships before noon. "
_pieces = st.lists(
    st.one_of(
        st.sampled_from(
            ["```", "~~~", "````", "```PY\n", "\n\n", "\n", " ", "`x`", "  ```", "\t", "…", "x" * 2500, "é" * 30]
        ),
        st.sampled_from([_SENTENCE, _SENTENCE * 50, "line = 1\n" * 900]),
        st.text(max_size=40),
    ),
    max_size=12,
)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param("Hello there.", [(PROSE, None, "Hello there.")], id="short prose"),
        pytest.param(
            "Look:\n```TypeScript\nf()\n```\nDone.",
            [(PROSE, None, "Look:"), (CODE, "typescript", "```TypeScript\nf()\n```"), (PROSE, None, "Done.")],
            id="code between prose",
        ),
        pytest.param("```py\nx = 1\n```", [(CODE, "py", "```py\nx = 1\n```")], id="code only"),
        pytest.param("~~~\nx\n~~~", [(CODE, None, "~~~\nx\n~~~")], id="tildes"),
        pytest.param(
            "a\n```sh\nls", [(PROSE, None, "a"), (CODE, "sh", "```sh\nls")], id="a fence that is never closed"
        ),
        pytest.param("````\n```\nx\n```\n````", [(CODE, None, "````\n```\nx\n```\n````")], id="a fence in a fence"),
        pytest.param("```\nx\n~~~\ny\n```", [(CODE, None, "```\nx\n~~~\ny\n```")], id="another mark does not close"),
        pytest.param("use ```x``` here", [(PROSE, None, "use ```x``` here")], id="code within a line"),
        pytest.param("```x``` it is", [(PROSE, None, "```x``` it is")], id="code that begins a line"),
        pytest.param(
            "- a\n  ```js\n  x\n  ```", [(PROSE, None, "- a"), (CODE, "js", "```js\n  x\n  ```")], id="in a list"
        ),
        pytest.param(
            "```{.Python title=a}\nx\n```", [(CODE, "python", "```{.Python title=a}\nx\n```")], id="attributes"
        ),
        pytest.param(
            "```\r\nx\r\n```\r\nb", [(CODE, None, "```\r\nx\r\n```"), (PROSE, None, "b")], id="two-sign line ends"
        ),
        pytest.param(" \n\t ", [], id="white space only"),
        pytest.param("", [], id="nothing"),
    ],
)
def test_a_message_falls_into_prose_and_code(content: str, expected: list[tuple[PassageKind, str | None, str]]) -> None:
    assert [(one.kind, one.language, one.of(content).strip()) for one in chunks_of(content)] == expected


def test_a_message_that_is_one_passage_of_prose_has_none_of_its_own() -> None:
    assert passages_of("Two short\n\nparagraphs.") == ()
    assert passages_of("  \n ") == ()


def test_a_message_of_code_alone_is_known_to_be_code() -> None:
    assert [one.kind for one in passages_of("```\nx\n```")] == [CODE]


def test_small_paragraphs_are_joined_and_long_prose_is_cut_between_them() -> None:
    paragraphs = [_SENTENCE * 14] * 5
    content = "\n\n".join(paragraphs)
    assert [one.of(content).count("\n\n") for one in passages_of(content)] == [1, 1, 0]


def test_a_paragraph_that_is_too_long_is_cut_between_sentences() -> None:
    content = _SENTENCE * 100
    passages = passages_of(content)
    assert len(passages) > 1
    assert all(one.of(content).endswith("noon.") for one in passages)


def test_a_sentence_that_is_too_long_is_cut_between_words() -> None:
    content = "lighthouse " * 500
    assert {word for one in passages_of(content) for word in one.of(content).split()} == {"lighthouse"}


def test_a_word_that_is_too_long_is_cut() -> None:
    assert [one.tokens for one in passages_of("x" * 4500)] == [500, 500, 125]


def test_a_fence_longer_than_a_passage_of_prose_stays_whole() -> None:
    content = "```\n" + "line = 1\n" * 400 + "```"
    (passage,) = passages_of(content)
    assert passage.tokens > MOST_TOKENS


def test_an_enormous_fence_is_cut_between_lines() -> None:
    content = "```\n" + "line = 1\n" * 2000 + "```"
    passages = passages_of(content)
    assert len(passages) == 3
    assert all(one.of(content).endswith(("line = 1", "```")) for one in passages)


@settings(max_examples=examples(200))
@given(_pieces)
def test_passages_are_in_order_apart_within_their_size_and_leave_nothing_out(pieces: list[str]) -> None:
    content = "".join(pieces)
    chunks = chunks_of(content)
    assert bool(chunks) == bool(content.strip())
    at, kept = 0, []
    for one in chunks:
        assert one.start >= at and one.length > 0
        assert not content[at : one.start].strip(), "something was left out"
        at = one.start + one.length
        text = one.of(content)
        kept.append(text)
        assert text == text.strip()
        assert one.tokens == estimate_tokens(text) <= (MOST_TOKENS if one.kind is PROSE else MOST_CODE_TOKENS)
        assert (one.language is None) or (one.kind is CODE and one.language == one.language.lower())
    assert not content[at:].strip()


def test_a_message_of_countless_fences_has_no_countless_passages() -> None:
    passages = passages_of("```\nx\n```\n" * 5000)
    assert [one.kind for one in passages[:MOST_FENCES]] == [CODE] * MOST_FENCES
    assert {one.kind for one in passages[MOST_FENCES:]} == {PROSE} and len(passages) < 2 * MOST_FENCES
