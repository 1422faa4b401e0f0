"""Print as JSON what the extractive agent finds in MemoryBank and LoCoMo, and of what use it is.

Facts per conversation and per hundred user turns, what merging leaves double, and how many of LoCoMo's questions have
their answer in a block of 500 tokens: of the facts chosen for the question, of facts drawn at random, and in the last
500 tokens said. A question counts as ``ops.bench.keeping`` counts it. Both of LoCoMo's speakers are people: each in
turn is the user, and the other the assistant. Run: python -m ops.bench.extracting. With ``--sample N --seed S`` it
lists N facts drawn at random, each with the turn it was said in, to be judged by reading.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import mean
from typing import Annotated, Any

import numpy as np

from ops.bench import corpora
from ops.bench.harness import run, say
from ops.bench.keeping import answer_words, survives
from shared.base.setting_groups import ModelSettings
from shared.context.render import RecalledFact, facts_text
from shared.context.select import fill_facts, order_for
from shared.facts.fold import find_same, fold
from shared.facts.models import Fact, FactMention
from shared.llm.calls import TokenCounting
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
    """A statement, who made it, and the turn it was first said in."""

    user: str
    statement: Statement
    turn: TranscriptTurn


@dataclass(frozen=True)
class StandingStatement:
    """A fact that stands after merging, who said it first, and when it was said last."""

    fact: Fact
    heard: Heard
    said_at: datetime


def segments(conversation: corpora.CorpusConversation) -> Iterable[tuple[str, ExtractionRequest]]:
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


def heard_in(subject: corpora.CorpusSubject, agent: ExtractiveFactAgent) -> list[Heard]:
    """Extract what the users of a subject state, conversation after conversation."""
    found: list[Heard] = []
    for conversation in subject.conversations:
        for user, segment in segments(conversation):
            by_id = {turn.message_id: turn for turn in segment.turns}
            statements = agent.extract(segment, Calls()).statements
            found += (Heard(user, one, by_id[one.message_ids[0]]) for one in statements)
    return found


def merged(heard: Sequence[Heard], embedder: Embedder) -> tuple[list[StandingStatement], Counter[str]]:
    """Fold what one user stated as the service does; return what stands and what became of each statement."""
    facts: dict[int, Fact] = {}
    mentions: list[FactMention] = []
    vectors = embedder.embed([one.statement.text for one in heard], Calls())
    for number, (one, vector) in enumerate(zip(heard, vectors, strict=True), 1):
        text, at = one.statement.text, one.turn.created_at
        fact = Fact(fact_id=number, statement=text, vector=to_bytes(vector), vector_model=embedder.name)
        same = find_same(text, fact.vector, embedder.name, list(facts.values()), embedder.same_meaning)
        meaning = facts.setdefault(number if same is None else same[0].fact_id, fact).fact_id
        mention = FactMention(mention_id=number, meaning=meaning, message_ids=[], statement=text)
        mention.said_at = mention.heard_at = at
        mentions.append(mention)
    runs = fold(mentions)
    standing = [
        StandingStatement(facts[one.meaning], heard[one.mentions[0].mention_id - 1], one.mentions[-1].said_at)
        for one in runs
        if one.replaced_by is None
    ]
    replacing = len({run.replaced_by for run in runs} - {None})
    outcomes = {"new": len(runs) - replacing, "repeat": len(mentions) - len(runs), "replace": replacing}
    return standing, Counter(outcomes)


def alike(standing: Sequence[StandingStatement], same_meaning: float) -> list[tuple[str, str]]:
    """Return the pairs of one user's facts whose vectors may mean the same."""
    if not standing:
        return []
    vectors = np.stack([from_bytes(one.fact.vector or b"") for one in standing])
    close = np.argwhere(np.triu(vectors @ vectors.T, 1) >= same_meaning)
    return [(standing[left].fact.statement, standing[right].fact.statement) for left, right in close]


def answered(subject: corpora.CorpusSubject, standing: Sequence[StandingStatement]) -> dict[str, list[bool]]:
    """Ask a subject's questions of the block chosen for each, and of the other ways to fill it."""
    facts = [
        RecalledFact(nth, one.fact.statement, one.heard.statement.category, _CONFIDENCE, one.said_at)
        for nth, one in enumerate(standing, 1)
    ]

    def block(chosen: Sequence[RecalledFact]) -> frozenset[str]:
        return answer_words(facts_text(fill_facts(chosen, BUDGET, TokenCounting()).taken))

    said = " ".join(one.content for conversation in subject.conversations for one in conversation.messages)
    last = answer_words(said[-TokenCounting().holds(BUDGET) :])
    drawn = [block(random.Random(seed).sample(facts, len(facts))) for seed in SEEDS]
    everything = answer_words(" ".join(fact.statement for fact in facts))
    users = {one.heard.user for one in standing} - {""}
    hits: dict[str, list[bool]] = {way: [] for way in WAYS}
    for question in subject.questions:
        if answer := answer_words(question.answer):
            own = in_own_voice(question.text, users)
            texts = (block(order_for(facts, question.text)), block(order_for(facts, own)), *drawn, last, everything)
            chosen, by_user, *at_random, of_last, unlimited = (survives(answer, text) for text in texts)
            for way, found in zip(WAYS, ([chosen], [by_user], at_random, [of_last], [unlimited]), strict=True):
                hits[way] += found
    return hits


def in_own_voice(question: str, users: Iterable[str]) -> str:
    """Ask as the user would: a service's users speak of themselves as ``I``, where LoCoMo's questions name them."""
    for user in users:
        question = re.sub(rf"\b{re.escape(user)}\b", "I", re.sub(rf"\b{re.escape(user)}['’]s\b", "my", question))
    return question


def measure(
    data: corpora.DataFolder = corpora.DEFAULT_DATA,
    embedding: Annotated[str | None, "as the setting; the built-in one otherwise"] = None,
    sample: Annotated[int | None, "list so many facts instead of measuring"] = None,
    seed: int = 0,
) -> dict[str, Any] | str:
    """Return the figures of both corpora, or statements drawn at random, each with the turn it was said in."""
    agent, data = ExtractiveFactAgent(), corpora.required(data)
    both = {"memorybank": list(corpora.memorybank(data)), "locomo": list(corpora.locomo(data))}
    if sample:
        heard = [one for subjects in both.values() for subject in subjects for one in heard_in(subject, agent)]
        drawn = random.Random(seed).sample(heard, min(sample, len(heard)))
        return "\n".join(
            f"{number}. [{one.statement.category}] {one.statement.text}\n"
            f"    {one.turn.created_at.date().isoformat()}: {one.turn.content}"
            for number, one in enumerate(drawn, 1)
        )
    embedder = make_embedder(embedding, ModelSettings(), _SECONDS)
    return {
        "embedder": embedder.name,
        "same_meaning": embedder.same_meaning,
        **{name: _corpus(subjects, agent, embedder) for name, subjects in both.items()},
    }


def _corpus(
    subjects: Sequence[corpora.CorpusSubject], agent: ExtractiveFactAgent, embedder: Embedder
) -> dict[str, Any]:
    outcomes: Counter[str] = Counter()
    pairs: list[tuple[str, str]] = []
    hits: dict[str, list[bool]] = {}
    heard: list[Heard] = []
    facts = 0
    for subject in subjects:
        say(f"{subject.name}: {len(subject.conversations)} conversations")
        own, by_user = heard_in(subject, agent), defaultdict[str, list[Heard]](list)
        for one in own:
            by_user[one.user].append(one)
        standing: list[StandingStatement] = []
        # Facts of two users never merge.
        for stated in by_user.values():
            left, became = merged(stated, embedder)
            outcomes += became
            pairs += alike(left, embedder.same_meaning)
            standing += left
        heard += own
        facts += len(standing)
        for way, found in answered(subject, standing).items():
            hits.setdefault(way, []).extend(found)
    conversations = [one for subject in subjects for one in subject.conversations]
    turns = sum(message.role == "user" for one in conversations for message in one.messages)
    percent = {way: round(100 * mean(found), 2) for way, found in hits.items() if found}
    questions = {"percent_of_questions_answered": percent | {"questions": len(hits["chosen_facts"])}} if percent else {}
    return {
        "conversations": len(conversations),
        "user_turns": turns,
        "statements": len(heard),
        "statements_per_conversation": round(len(heard) / len(conversations), 2),
        "statements_per_100_user_turns": round(100 * len(heard) / turns, 2),
        "by_category": dict(Counter(one.statement.category.value for one in heard)),
        "became": dict(outcomes),
        "facts_after_merging": facts,
        "pairs_left_that_may_mean_the_same": len(pairs),
        "such_pairs": pairs,
        **questions,
    }


if __name__ == "__main__":
    run(measure)
