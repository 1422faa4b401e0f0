"""What the pages say in the place of the interface's names: of kinds and states, and of what it refuses.

The service says what to do in words of its interface, which nobody who looks at a page has in front of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from afterthought_client import ApiError

Labels = Mapping[str, tuple[str, str]]
"""Of the interface's fields, by their names: what a page calls each, and what may stand in it."""
_ID = "letters, digits and any of . _ : @ -, beginning with a letter or a digit."
_FIELDS: Labels = {
    "fact": ("Memory", "write something, at most 500 characters."),
    "content": ("Text", "write something."),
    "query": ("Search", "write something, at most 4,000 characters."),
    "q": ("Search", "write something, at most 4,000 characters."),
    "label": ("Label", "at most 200 characters."),
    "reason": ("Reason", "at most 500 characters."),
    "appId": ("App", _ID),
    "userId": ("User", "1 to 200 characters, without those that cannot be seen."),
    "conversationId": ("Conversation", _ID),
    "tags": ("Tags", "at most 20, each of 1 to 50 characters."),
    "olderThanDays": ("Neither made nor used", "a whole number of days, 0 or more, and not so many."),
    "importance": ("Importance", "a whole number from 0 to 10."),
}
_BY_CODE = {
    "unauthenticated": "This token is unknown or revoked. Ask who runs the service for another.",
    "unknown_route": "This page asks for something that the service does not have: is it of another release?",
    "too_large": "That is too long. Make it shorter, or give it in parts.",
    "too_many": "That is too much at once. Try again in a moment.",
    "internal": "Something went wrong in the service. Its log says what.",
}
_HELP = {
    "installApp": "Install it under Administration.",
    "changeConsent": "Ask them, then agree under Profile.",
    "undoClearingFacts": "Take that back, or wait until it is final.",
    "syncSession": "Sync it first.",
    "registerSession": "Add it to memory first.",
    "listAnswers": "Look at those that wait.",
}
"""What to do, by the operation of the interface that would help."""
_HINT = r"\?[A-Za-z]+=|(?:GET|POST|PUT|PATCH|DELETE) /|/openapi\.json|Idempotency-Key"
"""How it shows that words are about the interface."""


KINDS = {
    "create_memory": "Write a memory",
    "compact_memories": "Make room for memories",
    "extract_facts": "Extract facts",
    "summarise": "Summarise",
    "embed": "Embed texts",
    "embed_messages": "Embed messages",
    "index_messages": "Index messages",
    "compress_session": "Shorten a session",
    "compose_context": "Compose a context",
    "learn_from_sessions": "Learn from sessions",
    "end_conversation": "End a conversation",
    "deliver_webhook": "Call a webhook",
    "think": "Think out an answer",
    "chat": "Apps' own questions",
}
"""Kinds of jobs, and of calls of models."""
STATES = {
    "pending": "waiting",
    "deferred": "deferred",
    "queued": "handed to a worker",
    "running": "running",
    "retrying": "to be tried again",
    "done": "done",
    "nothing": "done, nothing to keep",
    "dead": "dead letter",
    "cancelled": "cancelled",
}
"""Of jobs."""
_NAMES = {
    "provider_away": "the model's server is away",
    "prompt_cut": "the prompt was cut",
    "totalMs": "in all",
    "embedMs": "embed the question",
    "ftsMs": "words",
    "denseMs": "vectors",
    "rerankMs": "rank",
    "conversationDense": "vectors of the conversation",
    "globalDense": "vectors of the app",
    "ftsLexical": "words",
    "ticker": "clock of the loop",
}


def words_of(name: str) -> str:
    """Return what a page calls a name of the interface; one that is in no table is told in its own words."""
    known = KINDS | STATES | _NAMES
    return known.get(name) or re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("_", " ").lower()


def author_of(model: str) -> str:
    """Return what a page calls who did a piece of work: a model by its name, or the rules that are built in."""
    return "the built-in agent" if model == "extractive" else model


def message_of(error: Exception, labels: Labels = {}) -> str:  # noqa: B006
    """Return an error in words for people; ``labels`` are those of a form, before what all pages call a field."""
    if not isinstance(error, ApiError):
        return str(error)
    known = {**_FIELDS, **labels}
    if problems := error.details.get("fields"):
        return " ".join(_problem(one["field"], one["problem"], known) for one in problems)
    if only := error.details.get("onlyApp"):
        return f"This token opens only the app {only}."
    if error.code in _BY_CODE:
        return _BY_CODE[error.code]
    operation = error.details.get("operation") or {}
    text = _before_hint(error.message, str(operation.get("route", "")).partition("?")[0])
    if text == error.message:
        for name, (label, _) in labels.items():
            text = re.sub(rf"\b{re.escape(name)}\b", label, text)
        return text
    return f"{text} {_HELP.get(operation.get('id', ''), '')}".strip()


def _problem(field: str, problem: str, labels: Labels) -> str:
    label, may_be = labels.get(field.rpartition(".")[2], (field, problem))
    return f"{label}: {may_be}"


def _before_hint(message: str, route: str) -> str:
    """Return a message up to the clause that names a route, an address or a parameter of the interface."""
    address = route.partition(" ")[2]
    found = re.search(f"{_HINT}|{re.escape(address)}" if address else _HINT, message)
    return message if found is None else re.sub(r"[;.:(][^;.:(]*$", "", message[: found.start()]).rstrip() + "."
