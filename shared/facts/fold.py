"""What stands, folded from what was mentioned: the only code that decides it, and a pure function.

Mentions are read one after another, in the order in which they were made, each against what stands by then: it says
the same as a fact (then it is one mention more of it), contradicts some (then it begins a fact that replaces them), or
neither (then it stands beside them). So the same chats leave the same facts whichever is brought in first, and
"Madrid, Berlin, Madrid" is three facts. Source: decision 41.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache

from shared.facts.models import Fact, FactMention, SingleValue, single_value
from shared.llm.embedding import from_bytes
from shared.telemetry.metrics import MergedBy
from shared.text.likeness import Gist, are_opposed, differ, gist, normal

LEARNED_CONFIDENCE = 0.75
WRITTEN_CONFIDENCE = 0.60
_LEARNED_BOOST = 0.15
_WRITTEN_BOOST = 0.25
_AFTER_ALL = chr(0x10FFFF)
"""Behind every conversation's id."""


class Topic:
    """A statement taken apart as far as rules need it to see a contradiction."""

    value: SingleValue | None
    gist: Gist
    about: frozenset[object]
    """Only statements that share some of it can contradict each other, or are the same."""

    def __init__(self, statement: str) -> None:
        self.value, self.gist = single_value(statement), gist(statement)
        kinds = () if self.value is None else (self.value.kind,)
        # The words too: capitals alone make another gist of the same statement.
        what = (self.gist.names, self.gist.numbers, self.gist.content)
        self.about = frozenset[object]([what, normal(statement), *kinds])

    def contradicts(self, other: "Topic") -> bool:
        """Whether another gives a different value of the one thing, or says the same with the opposite sign."""
        return (self.value is not None and self.value.contradicts(other.value)) or are_opposed(self.gist, other.gist)


@dataclass(eq=False)
class Run:
    """Mentions that say the same with no contradiction between them: a fact, as the mentions make it."""

    meaning: int
    about: frozenset[object]
    """What its first words may be contradicted about."""
    mentions: list[FactMention] = field(default_factory=list)
    """In the order in which they were made; never empty once folded."""
    replaced_by: "Run | None" = None
    by_rule: bool = True
    """Whether a rule saw what replaced it, and not whoever found the statement."""

    @property
    def first_heard(self) -> FactMention:
        """The mention that was heard of first, whenever it was made."""
        # By their numbers, which are given as they are heard; a live chat's ``heard_at`` is when it was said.
        return min(self.mentions, key=lambda one: one.mention_id or float("inf"))

    @property
    def by_hand(self) -> bool:
        """Whether a person wrote it first."""
        return self.first_heard.by_hand

    @property
    def worded(self) -> FactMention:
        """The mention whose words are the fact's: the one made first, unless a hand wrote or changed them."""
        if self.by_hand:
            return self.first_heard
        return next((one for one in self.mentions if one.edits), self.mentions[0])

    @property
    def confidence(self) -> float:
        """How certain so many mentions make it, 0..1."""
        return certainty(len(self.mentions), self.by_hand)

    @property
    def last(self) -> tuple[datetime, str, float]:
        """When it was last said."""
        return moment(self.mentions[-1])

    @property
    def top(self) -> "Run":
        """What stands in its place; itself, if it stands."""
        run = self
        while run.replaced_by is not None:
            run = run.replaced_by
        return run


def certainty(mentions: int, by_hand: bool) -> float:
    """Return the confidence of what was said so often, 0..1. Source: decisions, "Facts and context"."""
    baseline, boost = (WRITTEN_CONFIDENCE, _WRITTEN_BOOST) if by_hand else (LEARNED_CONFIDENCE, _LEARNED_BOOST)
    # Rounded, so that five boosts of 0.15 come to what is written on paper.
    return round(min(baseline + boost * (mentions - 1), 1.0), 6)


def moment(mention: FactMention) -> tuple[datetime, str, float]:
    """Return what orders mentions: when, in which conversation, and in which order they were read there."""
    # What a hand wrote at the same instant comes last; so does what has no number yet.
    conversation = _AFTER_ALL if mention.conversation_id is None else mention.conversation_id
    return mention.said_at, conversation, mention.mention_id or float("inf")


def fold(mentions: Iterable[FactMention], topic_of: Callable[[str], Topic] | None = None) -> list[Run]:
    """Return the facts that mentions of one subject make, in the order in which they began."""
    runs: list[Run] = []
    standing: dict[int, Run] = {}
    contradicted: defaultdict[int, set[int]] = defaultdict(set)
    # Each text is taken apart once a fold, or once a batch of them (0.1 ms); not longer, as an erased one must not stay
    # in memory.
    topic_of = topic_of or cache(Topic)
    for mention in sorted(mentions, key=moment):
        run = standing.get(mention.meaning)
        if mention.updates is not None and mention.updates != mention.meaning:
            # Both ways: what is said again after what contradicted it replaces that in its turn.
            contradicted[mention.meaning].add(mention.updates)
            contradicted[mention.updates].add(mention.meaning)
        against = {standing[one]: False for one in contradicted[mention.meaning] if one in standing}
        if run is None:
            about = frozenset[object]().union(*(topic_of(words).about for words in mention.wordings))
            run = Run(mention.meaning, about)
            for other in standing.values():
                # Most are about something else, which is seen at once.
                if not about.isdisjoint(other.about) and _contradicts(topic_of, mention, other):
                    against.setdefault(other, True)
            runs.append(run)
            standing[mention.meaning] = run
        run.mentions.append(mention)
        for other, by_rule in against.items():
            other.replaced_by, other.by_rule = run, by_rule
            del standing[other.meaning]
    return runs


def _contradicts(topic_of: Callable[[str], Topic], mention: FactMention, run: Run) -> bool:
    """Whether a rule says that a mention contradicts a fact that stands."""
    first = run.mentions[0]
    # In the words each had when the later of both was heard: an edit since upsets nothing.
    heard = None if None in (mention.mention_id, first.mention_id) else max(mention.mention_id, first.mention_id)
    one, other = topic_of(mention.words_by(heard)), topic_of(first.words_by(heard))
    return one.contradicts(other) and not (one.value is not None and _is_of_one_message(mention, run))


def _is_of_one_message(mention: FactMention, run: Run) -> bool:
    """Whether the very message gave both values of what there is only one of: "I work at Lego and at Novo"."""
    return any(
        one.conversation_key == mention.conversation_key and not set(one.message_ids).isdisjoint(mention.message_ids)
        for one in run.mentions
    )


def find_same(
    statement: str, vector: bytes | None, vector_model: str | None, known: Sequence[Fact], same_meaning: float
) -> tuple[Fact, MergedBy] | None:
    """Return which fact says what a statement does, and what showed it: its words, or the closest vector.

    ``same_meaning`` is the cosine from which vectors may mean the same, -1..1.
    """
    wording = normal(statement)
    for fact in known:
        if normal(fact.statement) == wording:
            return fact, MergedBy.TEXT
    if vector is None:
        return None
    incoming = from_bytes(vector)
    # A vector of another length is of another build of the model, and cannot be compared.
    comparable = [
        (one, from_bytes(one.vector))
        for one in known
        if one.vector is not None and one.vector_model == vector_model and len(one.vector) == len(vector)
    ]
    close = [(float(incoming @ other), one) for one, other in comparable]
    # Vectors only propose: they lie close wherever the frames of two statements do (decision 13).
    alike = [(cosine, one) for cosine, one in close if cosine >= same_meaning and not differ(one.statement, statement)]
    best = max(alike, key=lambda pair: (pair[0], -pair[1].fact_id), default=None)
    return None if best is None else (best[1], MergedBy.EMBEDDING)


@dataclass(frozen=True)
class Trace:
    """What links a fact to others: one of its meanings, what that was named to contradict, and in which words."""

    fact_id: int
    meaning: int
    updates: int | None
    statement: str


def connected(
    traces: Iterable[Trace], seeds: Iterable[Trace], topic_of: Callable[[str], Topic] | None = None
) -> set[int]:
    """Return the facts that may change with the seeds: a group that is folded by itself.

    Facts are connected where they say the same or may contradict each other, over any number of steps.
    """
    topic_of = topic_of or cache(Topic)

    def links(trace: Trace) -> frozenset[object]:
        return topic_of(trace.statement).about | {trace.meaning} | ({trace.updates} - {None})

    reach = {link for seed in seeds for link in links(seed)}
    apart, group = {trace: links(trace) for trace in traces}, set[int]()
    while near := [one for one, own in apart.items() if one.fact_id in group or not reach.isdisjoint(own)]:
        group |= {one.fact_id for one in near}
        reach = reach.union(*(apart.pop(one) for one in near))
    return group
