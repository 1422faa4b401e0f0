"""Print as JSON how much of LoCoMo's answers survives in the extractive agent's memories, beside simpler ways.

A question counts as kept when 75 % or more of its answer's content words stand in the text: (a) of its own sessions'
memories, (b) of the ten that remain after every session in order, (c) the same, of the questions whose sessions are all
older than the last ten. The agent and the rules of compaction are the real ones. Run: python -m ops.bench.keeping
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, median
from typing import Any

from ops.bench import corpora
from ops.bench.harness import run
from shared.memories.compaction import NEW, CompactionCandidate, Eviction, carry_out, oldest_goes, refusal
from shared.text.lines import shorten
from shared.text.sentences import sentences
from tests.support.meters import Calls
from worker.agent.memory_rules import ExtractiveAgent
from worker.agent.protocol import MemoryDraft, Transcript, TranscriptTurn

CAP = 10
_WHEN = 2
"""LoCoMo's category of questions that ask for a date, which this agent writes out and the others do not."""
SHARE = 0.75
LIMITS = (200, 400, 800)
SEEDS = range(5)

Write = Callable[[corpora.CorpusConversation, tuple[str, ...], int], MemoryDraft | None]
Wanted = Callable[[corpora.CorpusQuestion], bool]
Evict = Callable[[Sequence[CompactionCandidate], CompactionCandidate, int], Eviction]

_STOP = frozenset(
    re.findall(
        r"\w+",
        """a an the and or but of to in on at by for with from as is are was were be been being am it its that this
        these those he she they them their his her him i me my we our you your not no yes do does did so if then than
        too very can could would should will just have has had about into over out up who what which when where how
        because while also there s t""",
    )
)
_DIGITS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_NUMBERS = {word: str(number) for number, word in enumerate(_DIGITS)}


def answer_words(text: str) -> frozenset[str]:
    """Return the content words of a text, lower case, lightly stemmed, small numbers as digits."""
    return frozenset(_stem(word) for word in re.findall(r"[^\W_]+", text.lower()) if word not in _STOP)


def _stem(word: str) -> str:
    word = _NUMBERS.get(word, word)
    for ending in ("ing", "ed", "es", "s", "ly"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    return word.removesuffix("e") if len(word) > 3 else word


def survives(answer: frozenset[str], kept: frozenset[str]) -> bool:
    """Say whether enough of an answer's words are kept."""
    return len(answer & kept) >= SHARE * len(answer)


def transcript_of(conversation: corpora.CorpusConversation, known: tuple[str, ...]) -> Transcript:
    """Give a corpus's conversation the form an agent reads."""
    turns = tuple(
        TranscriptTurn(f"m{i}", one.role, one.name, one.content, one.created_at)
        for i, one in enumerate(conversation.messages)
    )
    return Transcript("bench", turns, turns[-1].created_at, known=known)


def by_agent(agent: ExtractiveAgent) -> Write:
    """Write memories with the real agent."""

    def write(conversation: corpora.CorpusConversation, known: tuple[str, ...], limit: int) -> MemoryDraft | None:
        draft = agent.create(transcript_of(conversation, known), limit, Calls())
        return draft if isinstance(draft, MemoryDraft) else None

    return write


def first_sentences(conversation: corpora.CorpusConversation, known: tuple[str, ...], limit: int) -> MemoryDraft | None:
    """Keep the beginning of the conversation."""
    return MemoryDraft(shorten(" ".join(one.content for one in conversation.messages), limit), 5)


def random_sentences(seed: int) -> Write:
    """Keep sentences in random order until no more fit."""

    def write(conversation: corpora.CorpusConversation, known: tuple[str, ...], limit: int) -> MemoryDraft | None:
        said = [sentence for one in conversation.messages for sentence in sentences(one.content)]
        random.Random(f"{seed} {conversation.started_at}").shuffle(said)
        kept = ""
        for sentence in said:
            if len(kept) + len(sentence) + 1 <= limit:
                kept = f"{kept} {sentence}".strip()
        return MemoryDraft(kept, 5) if kept else None

    return write


def oldest(existing: Sequence[CompactionCandidate], new: CompactionCandidate, limit: int) -> Eviction:
    """Make room by age alone, which is what thought is measured against."""
    return oldest_goes([replace(memory, importance=5) for memory in existing], "bench")


def by_merging(agent: ExtractiveAgent) -> Evict:
    """Make room with the real agent; a refused decision would fail the bench."""

    def evict(existing: Sequence[CompactionCandidate], new: CompactionCandidate, limit: int) -> Eviction:
        decision = agent.compact(existing, new, limit, Calls())
        why = refusal(decision, existing, new, limit)
        if why is not None:
            raise AssertionError(f"the agent's decision was refused: {why}")
        return carry_out(decision)

    return evict


def apply(
    existing: list[CompactionCandidate], new: CompactionCandidate, eviction: Eviction
) -> list[CompactionCandidate]:
    """Return the memories after room was made."""
    edited = [
        replace(one, content=eviction.content) if one.id == eviction.rewritten_id and eviction.content else one
        for one in existing
    ]
    left = [one for one in edited if one.id != eviction.removed_id]
    return left if eviction.removed_id == NEW else [*left, new]


@dataclass(frozen=True)
class Kept:
    """What one way of remembering kept of one subject."""

    own: dict[int, str]
    """Each session's memory as it was made."""
    remaining: list[str]


def remember(subject: corpora.CorpusSubject, write: Write, evict: Evict, limit: int) -> Kept:
    """Hold a subject's conversations in order and return what is kept."""
    own: dict[int, str] = {}
    memories: list[CompactionCandidate] = []
    for conversation in subject.conversations:
        draft = write(conversation, tuple(one.content for one in memories), limit)
        if draft is None:
            continue
        own[conversation.number] = draft.content
        new = CompactionCandidate(NEW, draft.content, conversation.started_at, draft.importance, draft.tags)
        eviction = evict(memories, new, limit) if len(memories) == CAP else None
        placed = replace(new, id=conversation.number)
        memories = apply(memories, placed, eviction) if eviction else [*memories, placed]
    return Kept(own, [one.content for one in memories])


Tally = dict[str, list[bool]]
"""Whether each question was kept, in the three ways of asking."""


def tally(subject: corpora.CorpusSubject, kept: Kept, wanted: Wanted) -> Tally:
    """Ask a subject's questions of what was kept."""
    found: Tally = {"own_session": [], "ten_that_remain": [], "older_than_last_ten": []}
    boundary = len(subject.conversations) - CAP
    everything = answer_words(" ".join(kept.remaining))
    for question in subject.questions:
        answer = answer_words(question.answer)
        if not answer or not question.sessions or not wanted(question):
            continue
        own = answer_words(" ".join(kept.own.get(n, "") for n in sorted(question.sessions)))
        found["own_session"].append(survives(answer, own))
        found["ten_that_remain"].append(is_kept := survives(answer, everything))
        if max(question.sessions) <= boundary:
            found["older_than_last_ten"].append(is_kept)
    return found


def compare(subjects: Sequence[corpora.CorpusSubject], limit: int) -> dict[str, dict[str, float]]:
    """Return what each way of remembering keeps at one limit, in per cent, and the ratios that are aimed for."""
    agent = ExtractiveAgent()
    write = by_agent(agent)

    def shares(writer: Write, evict: Evict, wanted: Wanted = lambda _: True) -> dict[str, float]:
        tallies = [tally(subject, remember(subject, writer, evict, limit), wanted) for subject in subjects]
        hits = {way: [hit for one in tallies for hit in one[way]] for way in tallies[0]}
        return {way: round(100 * mean(of), 2) if of else 0.0 for way, of in hits.items()}

    drawn = [shares(random_sentences(seed), oldest) for seed in SEEDS]
    merging = by_merging(agent)

    def has_no_date(question: corpora.CorpusQuestion) -> bool:
        return question.category != _WHEN

    ours, first, older = shares(write, merging), shares(first_sentences, oldest), shares(write, oldest)
    pairs = {
        "a_own_session_over_first_sentences": (ours["own_session"], first["own_session"]),
        "b_remaining_over_first_sentences": (ours["ten_that_remain"], first["ten_that_remain"]),
        "c_older_over_oldest_goes": (ours["older_than_last_ten"], older["older_than_last_ten"]),
    }
    return {
        "extractive": ours,
        "extractive_oldest_goes": older,
        "first_sentences_oldest_goes": first,
        "random_sentences_oldest_goes": {key: round(mean(one[key] for one in drawn), 2) for key in drawn[0]},
        "extractive_without_when_questions": shares(write, merging, has_no_date),
        "first_sentences_without_when_questions": shares(first_sentences, oldest, has_no_date),
        "ratios": {name: round(part / base, 2) if base else float("inf") for name, (part, base) in pairs.items()},
    }


def durations(subjects: Sequence[corpora.CorpusSubject], limit: int) -> dict[str, float]:
    """Return the median and the longest creation and compaction, milliseconds."""
    seconds: dict[str, list[float]] = {"create": [], "compact": []}
    agent = ExtractiveAgent()
    for subject in subjects:
        memories: list[CompactionCandidate] = []
        for one in subject.conversations:
            calls = Calls()
            draft = agent.create(transcript_of(one, ()), limit, calls)
            seconds["create"].append(calls[-1].seconds)
            if not isinstance(draft, MemoryDraft):
                continue
            new = CompactionCandidate(one.number, draft.content, one.started_at, draft.importance)
            if len(memories) == CAP:
                eviction = carry_out(agent.compact(memories, replace(new, id=NEW), limit, calls))
                seconds["compact"].append(calls[-1].seconds)
                memories = apply(memories, new, eviction)
            else:
                memories.append(new)
    return {
        f"{work}_{name}_milliseconds": round(1000 * value, 2)
        for work, all_seconds in seconds.items()
        if all_seconds
        for name, value in (("median", median(all_seconds)), ("longest", max(all_seconds)))
    }


def _second_corpus(data: Path, limit: int) -> dict[str, float]:
    """Return how many of MemoryBank's days gave a memory and how long these are: a check that the rules are general."""
    days = [day for subject in corpora.memorybank(data) for day in subject.conversations]
    drafts = [draft for day in days if (draft := by_agent(ExtractiveAgent())(day, (), limit))]
    characters = mean(len(draft.content) for draft in drafts)
    return {"days": len(days), "memories": len(drafts), "mean_characters": round(characters, 1)}


def measure(data: corpora.DataFolder = corpora.DEFAULT_DATA) -> dict[str, Any]:
    """Return what is kept at each limit, how long that takes, and how general the rules are."""
    subjects = list(corpora.locomo(corpora.required(data)))
    return {
        "locomo_percent_kept": {str(limit): compare(subjects, limit) for limit in LIMITS},
        "each_dialogue_at_200": {subject.name: compare([subject], 200)["ratios"] for subject in subjects},
        "duration_at_200": durations(subjects, 200),
        "memorybank_at_200": _second_corpus(data, 200),
    }


if __name__ == "__main__":
    run(measure)
