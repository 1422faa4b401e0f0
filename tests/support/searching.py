"""An embedder that understands what tests tell it to, and a finder over the house."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np

from shared.base.errors import NotFound
from shared.base.settings import Tuning
from shared.conversations.lifecycle import NewConversation, NewMessage, Role, append_messages, start
from shared.conversations.queries import lock_conversation
from shared.energy.ledger import LedgerAccount
from shared.llm.calls import EXTRACTIVE, CallEstimate, CallOutcome, Meter, ModelCall, WorkKind
from shared.llm.embedding import Vectors, normalised
from shared.search.query import QueryEmbedders
from shared.search.search import MessageSearch
from shared.search.statistics import Recorder
from shared.search.vectors import VectorMatrices
from shared.search.view import Search, SearchRequest
from tests.support.house import House

DIMENSIONS = 64


@dataclass
class TopicEmbedder:
    """Texts about the same topic (any of its words stands in them) have the same vector; each other has its own."""

    house: House
    topics: dict[str, tuple[str, ...]] = field(default_factory=dict)
    name: str = "builtin:topics"
    same_meaning: float = 0.9
    fails: list[Exception] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)

    def embed(self, texts: Sequence[str], meter: Meter) -> Vectors:
        assert not self.house.database.is_held_here, "a transaction is open while texts are embedded"
        meter.reserve(CallEstimate(WorkKind.EMBED, EXTRACTIVE, 10, 0))
        meter(ModelCall(WorkKind.EMBED, EXTRACTIVE, 10, 0, True, CallOutcome.ANSWERED, 0.0))
        self.seen += texts
        if self.fails:
            raise self.fails.pop(0)
        return normalised(np.stack([self._vector(text) for text in texts]))

    def _vector(self, text: str) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        said = text.lower()
        about = [n for n, words in enumerate(self.topics.values()) if any(word in said for word in words)]
        seeds = about or [int.from_bytes(blake2b(said.encode(), digest_size=4).digest(), "big")]
        directions = [np.random.default_rng(seed).standard_normal(DIMENSIONS).astype(np.float32) for seed in seeds]
        return np.sum(directions, axis=0)


class Library:
    """Conversations to search, and a finder that searches them as the loop's does."""

    def __init__(self, house: House, **topics: tuple[str, ...]) -> None:
        self.house = house
        self.embedder = TopicEmbedder(house, topics)
        house.embedder = self.embedder
        self.recorder = Recorder()
        self.matrices = VectorMatrices(10_000_000)
        self.finder = self.make_finder(Tuning())

    def make_finder(self, tuning: Tuning, knows: QueryEmbedders | None = None) -> MessageSearch:
        house = self.house
        return MessageSearch(
            house.database,
            house.clock,
            knows or QueryEmbedders(lambda name: self.embedder if name == self.embedder.name else None),
            self.matrices,
            self.recorder,
            lambda app_id: house.accountant.meter(LedgerAccount(app_id, None, None)),
            tuning,
            house.metrics,
        )

    def tell(
        self,
        conversation_id: str,
        *said: str | NewMessage,
        app_id: str = "notes",
        user_id: str | None = None,
        tags: Sequence[str] = (),
    ) -> None:
        """Say something in a conversation, user and assistant in turn; messages are named after it."""
        with self.house.database.write() as session:
            now = self.house.clock.advance(60)
            try:
                conversation = lock_conversation(session, app_id, conversation_id)
            except NotFound:
                details = {"tags": list(tags)} if tags else {}
                start(session, app_id, NewConversation(conversation_id, user_id, details=details), now)
                conversation = lock_conversation(session, app_id, conversation_id)
            first = conversation.message_count
            roles = (Role.USER, Role.ASSISTANT)
            messages = [
                one
                if isinstance(one, NewMessage)
                else NewMessage(roles[(first + n) % 2], one, f"{conversation_id}-{first + n}")
                for n, one in enumerate(said)
            ]
            append_messages(session, conversation, messages, now)

    def find(self, text: str, app_id: str = "notes", limit: int = 10, **wanted: object) -> Search:
        self.house.embed()
        return self.finder.find(app_id, SearchRequest(text, limit, **wanted))  # type: ignore[arg-type]

    def ids(self, text: str, app_id: str = "notes", limit: int = 10, **wanted: object) -> list[str]:
        return [hit.message_id for hit in self.find(text, app_id, limit, **wanted).hits]
