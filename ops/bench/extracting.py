"""Print as JSON what the extractive agent finds in MemoryBank and LoCoMo, and of what use it is.

Facts per conversation and per hundred user turns, what merging leaves double, and how many of LoCoMo's questions have
their answer in a block of 500 tokens: of the facts chosen for the question, of facts drawn at random, and in the last
500 tokens said. A question counts as ``ops.bench.keeping`` counts it. Both of LoCoMo's speakers are people: each in
turn is the user, and the other the assistant. Run: python -m ops.bench.extracting. With ``--sample N --seed S`` it
lists N facts drawn at random, each with the turn it was said in, to be judged by reading.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from ops.bench.corpora import CorpusConversation, CorpusSubject, locomo, memorybank, parse
from ops.bench.figures import say, show
from ops.bench.keeping import answer_words, survives
from shared.base.setting_groups import ModelSettings
from shared.context.budgets import TokenCounting
from shared.context.fact_selection import SelectableFact, in_order
from shared.context.rendering import facts_text, packed
from shared.facts.merging import Contradiction, IncomingStatement, NewStatement, Repeat, StandingFact, judge
from shared.llm.embedding import Embedder, from_bytes, to_bytes
from shared.llm.providers import make_embedder
from tests.support.meters import Calls
from worker.agent.fact_rules import ExtractiveFactAgent
from worker.agent.protocol import ExtractionRequest, Statement, TranscriptTurn

BUDGET = 500
SEEDS = range(5)
WAYS = ("chosen_facts", "chosen_facts_asked_by_the_user", "random_facts", "last_words", "all_facts_unlimited")
_CONFIDENCE = 0.75
_SECONDS = 30.0


@dataclass(frozen=True)
class Heard:
    """A statement, whose it is, and the turn it was first said in."""

    subject: str
    user: str
    statement: Statement
    turn: TranscriptTurn


@dataclass(frozen=True)
class StandingStatement:
    """A fact that stands after merging."""

    known: StandingFact
    heard: Heard


def segments(conversation: CorpusConversation) -> Iterable[tuple[str, ExtractionRequest]]:
    """Yield a conversation once for each of its users, with the other speakers as assistants."""
    users = dict.fromkeys(one.name or "" for one in conversation.messages if one.role == "user")
    for user in users:
        turns = tuple(
            TranscriptTurn(
                f"m{i}", "user" if one.role == "user" and (one.name or "") == user else "assistant", *one[1:]
            )
            for i, one in enumerate(conversation.messages)
        )
        yield user, ExtractionRequest("bench", turns)


def heard_in(subject: CorpusSubject, agent: ExtractiveFactAgent) -> list[Heard]:
    """Extract what the users of a subject state, conversation after conversation."""
    found: list[Heard] = []
    for conversation in subject.conversations:
        for user, segment in segments(conversation):
            by_id = {turn.message_id: turn for turn in segment.turns}
            statements = agent.extract(segment, Calls()).statements
            found += (Heard(subject.name, user, one, by_id[one.message_ids[0]]) for one in statements)
    return found


_NAMES = {NewStatement: "new", Repeat: "repeat", Contradiction: "replace"}


def merged(heard: Sequence[Heard], embedder: Embedder) -> tuple[list[StandingStatement], Counter[str]]:
    """Merge what one user stated as the service does; return what stands and what became of each statement."""
    standing: list[StandingStatement] = []
    outcomes: Counter[str] = Counter()
    vectors = embedder.embed([one.statement.text for one in heard], Calls())
    for number, (one, vector) in enumerate(zip(heard, vectors, strict=True), 1):
        stated = IncomingStatement(one.statement.text, None, to_bytes(vector), embedder.name)
        known = [old.known for old in standing]
        new = StandingFact(number, stated.text, one.turn.created_at, stated.vector, stated.vector_model)
        judgement = judge(stated, known, embedder.same_meaning)
        outcomes[_NAMES[type(judgement)]] += 1
        standing = _after(standing, judgement, StandingStatement(new, one))
    return standing, outcomes


def _after(
    standing: list[StandingStatement], judgement: NewStatement | Repeat | Contradiction, new: StandingStatement
) -> list[StandingStatement]:
    at = new.known.said_at
    if isinstance(judgement, Repeat):
        return [
            replace(old, known=replace(old.known, said_at=at)) if old.known.fact_id == judgement.fact_id else old
            for old in standing
        ]
    gone = judgement.fact_ids if isinstance(judgement, Contradiction) else ()
    return [*(old for old in standing if old.known.fact_id not in gone), new]


def alike(standing: Sequence[StandingStatement], same_meaning: float) -> list[tuple[str, str]]:
    """Return the pairs of one user's facts whose vectors may mean the same."""
    if not standing:
        return []
    vectors = np.stack([from_bytes(one.known.vector or b"") for one in standing])
    close = np.argwhere(np.triu(vectors @ vectors.T, 1) >= same_meaning)
    return [(standing[left].known.text, standing[right].known.text) for left, right in close]


def answered(subject: CorpusSubject, standing: Sequence[StandingStatement]) -> dict[str, list[bool]]:
    """Ask a subject's questions of the block chosen for each, and of the other ways to fill it."""
    facts = [_shown(number, one) for number, one in enumerate(standing, 1)]
    last = answer_words(_last_words(subject))
    drawn = [answer_words(_block(random.Random(seed).sample(facts, len(facts)))) for seed in SEEDS]
    everything = answer_words(" ".join(fact.statement for fact in facts))
    users = {user for user in (one.heard.user for one in standing) if user}
    hits: dict[str, list[bool]] = {way: [] for way in WAYS}
    for question in subject.questions:
        answer = answer_words(question.answer)
        if answer:
            hits["chosen_facts"].append(survives(answer, answer_words(_block(in_order(facts, question.text)))))
            own = answer_words(_block(in_order(facts, in_own_voice(question.text, users))))
            hits["chosen_facts_asked_by_the_user"].append(survives(answer, own))
            hits["random_facts"] += (survives(answer, one) for one in drawn)
            hits["last_words"].append(survives(answer, last))
            hits["all_facts_unlimited"].append(survives(answer, everything))
    return hits


def in_own_voice(question: str, users: Iterable[str]) -> str:
    """Ask as the user would: a service's users speak of themselves as ``I``, where LoCoMo's questions name them."""
    for user in users:
        question = re.sub(rf"\b{re.escape(user)}\b", "I", re.sub(rf"\b{re.escape(user)}['’]s\b", "my", question))
    return question


def _shown(number: int, one: StandingStatement) -> SelectableFact:
    return SelectableFact(number, one.known.text, one.heard.statement.category, _CONFIDENCE, one.known.said_at)


def _block(facts: Sequence[SelectableFact]) -> str:
    return facts_text(packed(facts, BUDGET, TokenCounting()))


def _last_words(subject: CorpusSubject) -> str:
    said = " ".join(one.content for conversation in subject.conversations for one in conversation.messages)
    return said[-TokenCounting().holds(BUDGET) :]


def users_of(heard: Iterable[Heard]) -> dict[tuple[str, str], list[Heard]]:
    """Return what was heard by subject and user: facts of two users never merge."""
    found: dict[tuple[str, str], list[Heard]] = {}
    for one in heard:
        found.setdefault((one.subject, one.user), []).append(one)
    return found


def measure(data: Path, embedder: Embedder) -> dict[str, Any]:
    """Return the figures of both corpora."""
    corpora = {"memorybank": list(memorybank(data)), "locomo": list(locomo(data))}
    return {
        "embedder": embedder.name,
        "same_meaning": embedder.same_meaning,
        **{name: _corpus(subjects, embedder) for name, subjects in corpora.items()},
    }


def _corpus(subjects: Sequence[CorpusSubject], embedder: Embedder) -> dict[str, Any]:
    agent = ExtractiveFactAgent()
    outcomes: Counter[str] = Counter()
    pairs: list[tuple[str, str]] = []
    hits: dict[str, list[bool]] = {}
    heard: list[Heard] = []
    facts = 0
    for subject in subjects:
        say(f"{subject.name}: {len(subject.conversations)} conversations")
        own = heard_in(subject, agent)
        standing: list[StandingStatement] = []
        for stated in users_of(own).values():
            left, became = merged(stated, embedder)
            outcomes += became
            pairs += alike(left, embedder.same_meaning)
            standing += left
        heard += own
        facts += len(standing)
        for way, found in answered(subject, standing).items():
            hits.setdefault(way, []).extend(found)
    return {
        **_counted(subjects, heard),
        "became": dict(outcomes),
        "facts_after_merging": facts,
        "pairs_left_that_may_mean_the_same": len(pairs),
        "such_pairs": pairs,
        **({"percent_of_questions_answered": _percent(hits)} if any(hits.values()) else {}),
    }


def _counted(subjects: Sequence[CorpusSubject], heard: Sequence[Heard]) -> dict[str, Any]:
    conversations = [one for subject in subjects for one in subject.conversations]
    turns = sum(message.role == "user" for one in conversations for message in one.messages)
    return {
        "conversations": len(conversations),
        "user_turns": turns,
        "statements": len(heard),
        "statements_per_conversation": round(len(heard) / len(conversations), 2),
        "statements_per_100_user_turns": round(100 * len(heard) / turns, 2),
        "by_category": dict(Counter(one.statement.category.value for one in heard)),
    }


def _percent(hits: dict[str, list[bool]]) -> dict[str, float]:
    return {way: round(100 * mean(found), 2) for way, found in hits.items()} | {"questions": len(hits["chosen_facts"])}


def heard_in_corpora(data: Path) -> list[Heard]:
    """Return every statement of both corpora."""
    agent = ExtractiveFactAgent()
    return [one for subject in (*memorybank(data), *locomo(data)) for one in heard_in(subject, agent)]


def sample(heard: Sequence[Heard], count: int, seed: int) -> list[str]:
    """Return statements drawn at random, each with the turn it was said in."""
    drawn = random.Random(seed).sample(heard, min(count, len(heard)))
    return [f"{number}. {_listed(one)}" for number, one in enumerate(drawn, 1)]


def _listed(one: Heard) -> str:
    said = f"{one.turn.created_at.date().isoformat()}: {one.turn.content}"
    return f"[{one.statement.category}] {one.statement.text}\n    {said}"


def main(arguments: list[str]) -> int:
    """Measure, or list a sample."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--embedding", help="as the setting; the built-in one otherwise")
    parser.add_argument("--sample", type=int, help="list so many facts instead of measuring")
    parser.add_argument("--seed", type=int, default=0)
    options = parse(parser, arguments)
    if options.sample:
        print("\n".join(sample(heard_in_corpora(options.data), options.sample, options.seed)))
    else:
        show(measure(options.data, make_embedder(options.embedding, ModelSettings(), _SECONDS)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
