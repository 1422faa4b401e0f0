"""The built-in agent's memories: what it keeps of a conversation, how it dates it, and how room is made."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ops.bench import corpora, keeping
from shared.memories.compaction import (
    NEW,
    SLIGHT,
    VITAL,
    Action,
    CompactionCandidate,
    Decision,
    Eviction,
    carry_out,
    least_goes,
    oldest_goes,
    refusal,
)
from shared.text.words import content_stems
from tests.support.chance import examples
from tests.support.meters import Calls
from worker.agent.dates import resolve
from worker.agent.memory_rules import ExtractiveAgent
from worker.agent.protocol import MemoryDraft, NothingToRemember, Transcript, TranscriptTurn
from worker.pipelines.create_memory import by_rules

_WHEN = datetime(2023, 5, 8, 14, 0, tzinfo=UTC)


def _transcript(*said: tuple[str, str], known: tuple[str, ...] = (), names: bool = False) -> Transcript:
    turns = tuple(
        TranscriptTurn(f"m{i}", "user" if names else who, who if names else None, text, _WHEN)
        for i, (who, text) in enumerate(said)
    )
    return Transcript("chat", turns, _WHEN, known=known)


def _create(transcript: Transcript, limit: int = 200) -> MemoryDraft | NothingToRemember:
    return ExtractiveAgent().create(transcript, limit, Calls())


def _draft(*said: tuple[str, str], limit: int = 200, known: tuple[str, ...] = (), names: bool = False) -> MemoryDraft:
    made = _create(_transcript(*said, known=known, names=names), limit)
    assert isinstance(made, MemoryDraft)
    return made


@pytest.mark.parametrize("i", [1, 8])
def test_every_scheduled_meeting_is_remembered_even_beside_the_others(i: int) -> None:
    known = tuple(f"User: Our meeting {j} is on 9 May" for j in range(1, 12) if j != i)
    draft = _draft(("user", f"Our meeting {i} is on 9 May."), ("assistant", "Noted."), known=known)
    assert f"meeting {i}" in draft.content


def test_what_is_already_remembered_is_not_remembered_again() -> None:
    known = ("User: I'm allergic to peanuts; vegetarian",)
    made = _create(_transcript(("user", "I am allergic to peanuts"), known=known))
    assert isinstance(made, NothingToRemember)
    assert "already" in made.reason


def test_a_denial_of_what_is_remembered_is_news() -> None:
    assert "not" in _draft(("user", "I am not allergic to peanuts"), known=("User: I'm allergic to peanuts",)).content


def test_both_named_speakers_count_and_each_statement_says_whose_it_is() -> None:
    draft = _draft(
        ("Ada", "Hey Bo! I adopted a greyhound called Pixel yesterday."),
        ("Bo", "Wow, Ada, that's amazing! I started a pottery course in Ghent."),
        names=True,
    )
    assert draft.content.index("Ada: ") < draft.content.index("Pixel") < draft.content.index("Bo: ")
    assert "7 May 2023" in draft.content
    assert "amazing" not in draft.content
    assert draft.message_ids == ("m0", "m1")


@pytest.mark.parametrize("limit", [40, 60, 200, 400, 800, 2000])
def test_a_memory_never_exceeds_its_limit_and_is_one_line(limit: int) -> None:
    said = [("user", f"I moved to Town{i} with {i} horses and my brother Edgar{i}.\nThat was hard!") for i in range(80)]
    draft = _draft(*said, limit=limit)
    assert len(draft.content) <= limit
    assert "\n" not in draft.content


def test_one_statement_longer_than_the_limit_is_cut_between_words() -> None:
    said = "I keep goats and rabbits and ducks and bees and pigeons and a pony and two donkeys and a very old tortoise"
    draft = _draft(("user", said), limit=60)
    assert len(draft.content) <= 60
    assert set(draft.content.removeprefix("User: ").split()) <= set(said.split())


def test_a_very_long_or_odd_name_leaves_room_for_what_was_said() -> None:
    turn = TranscriptTurn(
        "m0", "user", "Maximiliane Konstanze: of; the Very Long\nName " * 4, "I own a zeppelin", _WHEN
    )
    made = _create(Transcript("chat", (turn,), _WHEN), 40)
    assert isinstance(made, MemoryDraft)
    assert "zeppelin" in made.content
    assert len(made.content) <= 40


@pytest.mark.parametrize("part", ["`", "[", "[a ", ".", " - ", "\n", "oh ", "and I ", '"', "1 May 2023 ", "> x\n"])
def test_a_huge_odd_message_is_read_in_seconds(part: str) -> None:
    calls = Calls()
    transcript = _transcript(("user", part * (200_000 // len(part))))
    ExtractiveAgent().create(transcript, 200, calls)
    assert calls[0].seconds < 60


_THURSDAY = date(2023, 5, 25)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("went yesterday", "went 24 May 2023"), ("the day before yesterday", "23 May 2023"),
        ("tomorrow morning", "26 May 2023"), ("last Saturday", "Saturday 20 May 2023"),
        ("last Thursday", "Thursday 18 May 2023"), ("next Friday", "Friday 26 May 2023"),
        ("next Thursday", "Thursday 1 June 2023"), ("last week", "the week before 25 May 2023"),
        ("next month", "June 2023"), ("last month", "April 2023"), ("last year", "2022"),
        ("two weeks ago", "two weeks before 25 May 2023"), ("3 days ago", "22 May 2023"),
        ("five months ago", "December 2022"), ("last summer", "summer 2022"), ("next winter", "winter 2023"),
        ("someday", "someday"), ("last but not least", "last but not least"), ("on Friday", "on Friday"),
        ("My exam is in two days.", "My exam is 27 May 2023."),
        ("My lease ends in 3 months.", "My lease ends August 2023."),
        ("I'm off in a week", "I'm off a week after 25 May 2023"),
        ("We meet in two weeks' time.", "We meet two weeks after 25 May 2023."),
        ("I leave the day after tomorrow.", "I leave 27 May 2023."),
        ("a couple of weeks ago", "a couple of weeks before 25 May 2023"),
        ("by the end of next week", "by the end of the week after 25 May 2023"),
        ("It expires next week.", "It expires the week after 25 May 2023."),
        ("I turned 40 this year.", "I turned 40 in 2023."),
        ("I turned 40 last month.", "I turned 40 in April 2023."), ("This year was hard.", "2023 was hard."),
        ("the end of last year", "the end of 2022"), ("My aunt called yesterday.", "My aunt called 24 May 2023."),
        ("I told her yesterday.", "I told her 24 May 2023."),
        ("She was named captain yesterday.", "She was named captain 24 May 2023."),
        ("I leave TOMORROW.", "I leave 26 May 2023."),
        ('A 5" screen came yesterday, and a case.', 'A 5" screen came 24 May 2023, and a case.'),
        ("I ran `make` today.", "I ran `make` 25 May 2023."),
        ("Rufus died on tuesday.", "Rufus died on tuesday 23 May 2023."),
        ("I'm flying to Oslo on Monday.", "I'm flying to Oslo on Monday 29 May 2023."),
        ("I play chess on Monday.", "I play chess on Monday."), ("It was on Thursday.", "It was on Thursday."),
        ("I trained on Monday the 22nd.", "I trained on Monday the 22nd."),
        ("I always worked on Monday.", "I always worked on Monday."),
    ],
)  # fmt: skip
def test_a_relative_time_is_written_as_a_date(said: str, meant: str) -> None:
    assert resolve(said, _THURSDAY) == meant


def test_the_year_is_crossed_correctly() -> None:
    assert resolve("yesterday", date(2024, 1, 1)) == "31 December 2023"
    assert resolve("last month", date(2024, 1, 31)) == "December 2023"


@pytest.mark.parametrize(
    "said",
    [
        "I work at Tomorrow Ltd in Leeds.", "Tomorrow Ltd pays me well.", "I read USA Today.", "I read USA TODAY.",
        "Our song is Yesterday by the Beatles.", "Yesterday by the Beatles is our song.",
        "I sing in a band named Last Year.", "The Day After Tomorrow is a film I like.",
        "I like The Day After Tomorrow.", "I use an app called today.", "a shop named tomorrow",
        "I watch the today show.", 'He said "you are fired tomorrow" to me.',
        "He wrote \u201cI'm back tomorrow\u201d.", "He wrote 'I'm back tomorrow'.",
        "She wrote \u201eich bin tomorrow da\u201c.", "Il a dit \u00ab tomorrow \u00bb.",
        'so I am off tomorrow" is what he said', "Run `date = today` first.",
        '{"when": {"at": tomorrow}, "by": today}', "due=tomorrow", "today = date.today()", "today and every day",
        "every month, this month too", "yesterday's bread", "last year\u2019s model", "my last week at work",
        "half a year ago", "I read it in two days.", "I can do it in 3 days.", "twice in a week",
        "I quit ſix days ago.",
    ],
)  # fmt: skip
def test_names_quotations_code_possessives_and_durations_stay(said: str) -> None:
    assert resolve(said, _THURSDAY) == said


START = datetime(2025, 5, 1, tzinfo=UTC)


def held(*marks: str, said: str = "Keeps goat") -> list[CompactionCandidate]:
    """Return memories, oldest first, of importances like ``9``; ``p`` behind it: pinned, ``h``: by hand."""
    return [
        CompactionCandidate(
            number, f"{said} {number}", START + timedelta(days=number), int(mark.rstrip("ph")),
            pinned="p" in mark, by_hand="h" in mark,
        )
        for number, mark in enumerate(marks, 1)
    ]  # fmt: skip


def new_memory(importance: int) -> CompactionCandidate:
    return CompactionCandidate(NEW, "Moved to Lyon", START + timedelta(days=99), importance)


@pytest.mark.parametrize(
    ("marks", "goes"),
    [
        pytest.param(["5", "5", "5"], 1, id="the oldest of equals"),
        pytest.param(["10", "1", "1"], 2, id="slight before vital, however old"),
        pytest.param(["10", "7", "5"], 2, id="middling before vital, the oldest of them"),
        pytest.param(["6", "10", "4", "1"], 3, id="slight before middling, the oldest of them"),
        pytest.param(["8", "10", "9"], 1, id="vital where there is nothing else"),
        pytest.param(["10", "1p", "2p"], 1, id="what is pinned cannot go for what is vital"),
        pytest.param(["1p", "1p"], NEW, id="the new_memory one where all are pinned"),
    ],
)
def test_by_age_the_oldest_of_those_that_matter_least_goes(marks: list[str], goes: int) -> None:
    assert oldest_goes(held(*marks), "why", new_memory(5)).removed_id == goes
    assert oldest_goes(held(*marks), "why").removed_id == goes


@pytest.mark.parametrize(("importance", "goes"), [(4, NEW), (5, 1), (10, 1)])
def test_by_age_a_slight_new_memory_gives_way_to_vital_ones(importance: int, goes: int) -> None:
    eviction: Eviction = oldest_goes(held("8", "9"), "why", new_memory(importance))
    assert eviction.removed_id == goes and eviction.reason.endswith("why")


@pytest.mark.parametrize(
    ("marks", "goes"),
    [
        pytest.param(["6", "3", "6", "1"], 2, id="the least, but not the last that changed"),
        pytest.param(["6h", "7", "6h", "6"], 2, id="a machine's before a person's"),
        pytest.param(["9", "3h", "6h"], 2, id="a person's slight one before a machine's vital one"),
        pytest.param(["9", "10", "1"], 3, id="the last that changed before a vital one"),
        pytest.param(["9", "10", "1p"], 1, id="a vital one where the slight one is pinned"),
    ],
)
def test_by_hand_the_least_goes_and_nothing_vital_before_what_is_slight(marks: list[str], goes: int) -> None:
    assert least_goes(held(*marks), "why").removed_id == goes


LOST = "would be lost while"
TABLE = [
    pytest.param(["10", "1"], 6, Decision(Action.DELETE, 1, ""), LOST, id="deletes the vital"),
    pytest.param(["10", "1"], 6, Decision(Action.DELETE, 2, ""), None, id="deletes the slight"),
    pytest.param(["7", "1"], 6, Decision(Action.DELETE, 1, ""), None, id="deletes the middling"),
    pytest.param(["10", "5"], 6, Decision(Action.DELETE, 1, ""), None, id="nothing slight stands"),
    pytest.param(["10", "1p"], 6, Decision(Action.DELETE, 1, ""), None, id="what is slight is pinned"),
    pytest.param(["10", "9"], 2, Decision(Action.DELETE, 1, ""), LOST, id="for a new_memory one that is slight"),
    pytest.param(["10", "9"], 2, Decision(Action.DELETE, NEW, ""), None, id="gives up a slight new_memory one"),
    pytest.param(
        ["10", "6", "1"],
        6,
        Decision(Action.EDIT, 1, "", "Keeps goats in the northern stable: 1, 2", 2),
        None,
        id="a merge that keeps it",
    ),
    pytest.param(
        ["10", "6", "1"], 6, Decision(Action.EDIT, 2, "", "Keeps goat 2 (1)", 1), LOST, id="absorbs it and drops most"
    ),
    pytest.param(
        ["10", "1"], 6, Decision(Action.EDIT, 1, "", "Goat 1 and 2", 2), None, id="none is left that is slight"
    ),
]


@pytest.mark.parametrize(("marks", "importance", "decision", "complaint"), TABLE)
def test_a_decision_that_loses_what_is_vital_for_what_is_slight_is_refused(
    marks: list[str], importance: int, decision: Decision, complaint: str | None
) -> None:
    refused = refusal(
        decision, held(*marks, said="Keeps goat in the northern stable called"), new_memory(importance), 200
    )
    assert refused is None if complaint is None else complaint in (refused or "")


def test_a_vital_memory_may_go_where_another_vital_one_says_all_of_it_and_only_then() -> None:
    twice = [CompactionCandidate(i, "No nuts", START, importance) for i, importance in ((1, 9), (2, 9), (3, 1))]
    assert refusal(Decision(Action.DELETE, 1, ""), twice, new_memory(5), 200) is None
    assert LOST in (refusal(Decision(Action.DELETE, 1, ""), [twice[0], twice[2]], new_memory(5), 200) or "")


_BEGAN = datetime(2023, 5, 1, tzinfo=UTC)
_TOPICS = (
    "I prefer morning meetings", "I'm allergic to peanuts", "My birthday is 15 March", "I live in New York",
    "I speak Spanish and English", "I have two children", "I drive a Tesla", "I exercise daily", "I'm vegetarian",
    "I work remotely", "I love jazz", "I graduated from MIT",
)  # fmt: skip


def _memory(number: int, content: str, *, pinned: bool = False, importance: int = 5) -> CompactionCandidate:
    return CompactionCandidate(number, content, _BEGAN + timedelta(days=number), importance, pinned=pinned)


def _decide(existing: list[CompactionCandidate], new: str, limit: int = 200) -> Decision:
    candidate = CompactionCandidate(NEW, new, _BEGAN + timedelta(days=99))
    decision = ExtractiveAgent().compact(existing, candidate, limit, Calls())
    assert refusal(decision, existing, candidate, limit) is None
    return decision


def _hold(contents: list[str], limit: int = 200) -> list[CompactionCandidate]:
    held: list[CompactionCandidate] = []
    for number, content in enumerate(contents, 1):
        placed = _memory(number, content)
        if len(held) == 10:
            budget = carry_out(_decide(held, content, limit))
            held = [
                replace(m, content=budget.content) if m.id == budget.rewritten_id and budget.content else m
                for m in held
            ]
            held = [m for m in held if m.id != budget.removed_id] + ([placed] if budget.removed_id != NEW else [])
        else:
            held.append(placed)
        assert len(held) <= 10
    return held


def test_twelve_short_memories_become_ten_without_losing_a_word() -> None:
    together = " ".join(m.content for m in _hold([f"User: {topic}" for topic in _TOPICS]))
    for topic in _TOPICS:
        assert topic.split()[-1] in together


def test_a_memory_that_another_wholly_says_is_deleted() -> None:
    existing = [_memory(i, f"User: {topic}") for i, topic in enumerate(_TOPICS[:9], 1)]
    existing.append(_memory(10, "User: I drive a Tesla; I sing in a choir"))
    decision = _decide(existing, "User: I love jazz")
    assert (decision.action, decision.target_id) == (Action.DELETE, 7)
    assert "memory 10" in decision.reason


def test_a_single_free_memory_takes_in_the_new_one() -> None:
    existing = [_memory(i, f"User: {topic}", pinned=i != 4) for i, topic in enumerate(_TOPICS[:10], 1)]
    decision = _decide(existing, "User: I love jazz")
    assert (decision.action, decision.target_id, decision.absorbed_id) == (Action.EDIT, 4, NEW)
    assert decision.new_content == "User: I live in New York; I love jazz"


def test_the_reason_says_what_took_in_what_and_how_much_was_let_go_without_quoting() -> None:
    existing = [_memory(i, f"User: {topic}") for i, topic in enumerate(_TOPICS[:10], 1)]
    decision = _decide(existing, "User: I love jazz")
    assert f"memory {decision.target_id}" in decision.reason
    assert "takes in" in decision.reason
    assert not any(topic in decision.reason for topic in _TOPICS)


def test_speakers_keep_their_own_statements_through_a_merge() -> None:
    existing = [_memory(1, "Ada: adopted greyhound Pixel. bo_2: course in Ghent")]
    decision = _decide(existing, "bo_2: bought kiln. Ada: Pixel won race")
    assert decision.new_content == "Ada: adopted greyhound Pixel; Pixel won race. bo_2: course in Ghent; bought kiln"


def test_memories_written_by_hand_are_merged_as_sentences() -> None:
    existing = [_memory(1, "Prefers tea. Works at Siemens in Munich.")]
    decision = _decide(existing, "The release of Phoenix is on 3 November 2024.")
    assert decision.new_content is not None
    assert "Siemens in Munich" in decision.new_content
    assert "Phoenix" in decision.new_content


def test_a_memory_longer_than_a_lowered_limit_can_still_be_merged() -> None:
    existing = [_memory(i, f"User: I own {' '.join(f'thing{i}x{j}' for j in range(30))}") for i in range(1, 11)]
    assert len(_decide(existing, "User: I love jazz", limit=40).new_content or "") <= 40


_TEXTS = st.text(max_size=120) | st.sampled_from(["No nuts", "No nuts at all", *_TOPICS])
_MEMORIES = st.lists(st.tuples(_TEXTS, st.booleans(), st.integers(0, 10)), min_size=1, max_size=10)
_LIMITS = st.sampled_from([40, 200, 2000])


@settings(max_examples=examples(60))
@given(_MEMORIES, _TEXTS, _LIMITS)
def test_whatever_the_texts_the_decision_is_accepted(
    memories: list[tuple[str, bool, int]], new: str, limit: int
) -> None:
    numbered = enumerate(memories, 1)
    _decide([_memory(i, text, pinned=pin, importance=min(n, VITAL - 1)) for i, (text, pin, n) in numbered], new, limit)


@settings(max_examples=examples(60))
@given(_MEMORIES, _TEXTS, st.integers(0, 10), _LIMITS)
def test_whatever_stands_nothing_vital_is_lost_by_the_rules_while_something_slight_stays(
    memories: list[tuple[str, bool, int]], text: str, importance: int, limit: int
) -> None:
    existing = [_memory(i, said, pinned=pin, importance=n) for i, (said, pin, n) in enumerate(memories, 1)]
    new = replace(_memory(99, text, importance=importance), id=NEW)
    eviction = by_rules(new, limit, None)(existing, "all places were taken")
    [gone] = [one for one in (*existing, new) if one.id == eviction.removed_id]
    stay = [one for one in (*existing, new) if one.id not in (eviction.removed_id, eviction.rewritten_id)]
    assert not gone.pinned
    if gone.importance >= VITAL and any(one.importance < SLIGHT and not one.pinned for one in stay):
        texts = [eviction.content or "", *(one.content for one in stay if one.importance >= VITAL)]
        said = content_stems(gone.content)
        assert any(2 * len(said & content_stems(text)) >= len(said) for text in texts)


@pytest.mark.parametrize("text", ["", "User: ", "!!!", "the and of"])
def test_a_memory_that_says_nothing_is_the_one_to_go(text: str) -> None:
    existing = [_memory(1, "User: I love jazz"), _memory(2, text)]
    assert _decide(existing, "User: I drive a Tesla").target_id == 2


@pytest.mark.long
def test_at_200_characters_the_agent_keeps_what_it_is_meant_to_keep() -> None:
    problem = corpora.missing(corpora.DEFAULT_DATA)
    if problem:
        pytest.skip(problem)
    ratios = keeping.compare(list(corpora.locomo()), 200)["ratios"]
    assert ratios["a_own_session_over_first_sentences"] >= 3
    assert ratios["b_remaining_over_first_sentences"] >= 3
    assert ratios["c_older_over_oldest_goes"] >= 1.7


def test_what_follows_a_repeated_harm_is_remembered_as_well() -> None:
    unheard = "Please suggest a dinner for tonight. I am allergic to peanuts."
    said = [("user", unheard), ("assistant", "Sorry.")] * 3
    moved, sister = "I have moved to Lisbon with my two cats.", "My sister Ana is a nurse in Porto."
    draft = _draft(*said, ("user", moved), ("user", sister))
    assert "peanuts" in draft.content and "Lisbon" in draft.content and "Ana" in draft.content
