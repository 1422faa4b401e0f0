"""What is remembered, as LangChain's documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import BaseModel, ConfigDict, Field

from afterthought_client import Afterthought

_PAGE = 200
_TEXTS = {"fact", "content", "sources", "explanation"}
"""What of an answer stands in the document itself, or is longer than it."""


class AfterthoughtRetriever(BaseRetriever):
    """Finds what is remembered of one user that fits a question: facts, memories, then earlier messages, best first.

    Facts and memories are those that ``/context`` recalls. ``metadata["kind"]`` is fact, memory or message, and the
    rest of it says where it is from. Raises: AfterthoughtError.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    client: Afterthought
    user_id: str = Field(min_length=1)
    k: int = Field(10, ge=1, le=50)
    """Most messages."""
    token_budget: int | None = Field(None, ge=1)
    """Most tokens of facts and memories; the service's own budget where it is not given."""

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        user = self.user_id
        included = self.client.compose_context(user_id=user, message=query, token_budget=self.token_budget).included
        found = self.client.search_messages(query, user_id=user, limit=self.k).results
        return [
            *(_document("fact", one.fact, one) for one in self._listed(self.client.iter_facts, included.facts)),
            *(
                _document("memory", one.content, one)
                for one in self._listed(self.client.iter_memories, included.memories)
            ),
            *(_document("message", one.content, one) for one in found),
        ]

    def _listed(self, listing: Callable[..., Iterator[Any]], ids: list[int]) -> list[Any]:
        """Return what has these ids, in their order, in as few requests as there are pages."""
        found: dict[int, Any] = {}
        # Second, what names nobody, which an app may share with all of its users.
        for user_id in (self.user_id, ""):
            if not found.keys() >= set(ids):
                found.update({one.id: one for one in listing(user_id=user_id, limit=_PAGE)})
        return [found[one] for one in ids if one in found]


def _document(kind: str, text: str, of: BaseModel) -> Document:
    metadata = of.model_dump(mode="json", exclude=_TEXTS, exclude_none=True)
    id_ = metadata["message_id"] if kind == "message" else metadata["id"]
    return Document(text, id=f"{kind}:{id_}", metadata=metadata | {"kind": kind})
