"""Makes ``/openapi.json`` fit for generators of clients and for readers: names, tags, servers, security and examples.

Shapes and texts stand beside their routes; here is only what FastAPI cannot know, and an example of every shape, put
together of the examples of its fields.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from pydantic.alias_generators import to_camel

from loop.api.examples import add_examples
from loop.api.policy import Access, RoutePolicies
from shared.base.settings import Settings

DESCRIPTION = """Memory for language-model apps: hold a conversation, end it, and be remembered.

Every route but the health routes needs `Authorization: Bearer TOKEN`. An admin token may do everything; an app's token
only what lies under its own `/apps/{appId}`, and look at its own jobs. Every write takes an `Idempotency-Key`."""
SERVERS = [{"url": "/", "description": "The service that answered with this document."}]
_TEXTS = {
    "Apps": "Apps, their settings, their tokens and the receipts of what was erased.",
    "Conversations": "Conversations and their messages: open one, add to it, end it, and it becomes a memory.",
    "Context": "What to send to a model: what is recalled, then what was said, within a budget.",
    "Memories": "Short paragraphs kept of ended conversations; at most ten of one user, or of the app itself.",
    "Facts": "Single statements about a user or the work in hand.",
    "Summaries": "Bullets over the latest messages of one conversation.",
    "Profiles": "What a user agreed to have kept about them, and their consent.",
    "Users": "The users of an app, and the erasure of one of them.",
    "Search": "Old messages, found by their words and their meaning.",
    "Retrieval": "How the search goes and how complete its indexes are.",
    "Retrieval settings": "The values of retrieval in force, for all apps or for one.",
    "Answers": "Answers the loop thought out: approve or reject those that wait.",
    "Archives": "An app as one document, taken out and put in.",
    "Events": "What happens, as it happens: server-sent events and long polls.",
    "Webhooks": "Addresses that events are sent to, signed.",
    "Jobs": "Background work: look at it, cancel it, run dead letters again.",
    "Energy": "The energy that model calls take, and what an app has spent.",
    "Projects": "Working folders to which recorded coding sessions belong, and their settings.",
    "Sessions": "Recorded coding sessions: registered, read, marked.",
    "Recorded sessions": "What recorded sessions are found by: search, suggestions, links, semantic memories.",
    "Versions": "Recorded sessions made shorter.",
    "Compositions": "Contexts built of versions of several sessions.",
    "Ageing": "How versions go: by hand, or by a project's rules.",
    "Health": "Whether the service can serve, and its metrics.",
}
TAGS = [{"name": name, "description": text} for name, text in _TEXTS.items()]


def operation_id(route: APIRoute) -> str:
    """Return the name of a route's operation: that of its function, as JSON spells names."""
    return to_camel(route.name)


def complete(app: FastAPI, policies: RoutePolicies, settings: Callable[[], Settings]) -> None:
    """Have an interface's description say who needs a token, what is an example, and the limits that are settings."""
    build = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = build()
            schema["components"]["securitySchemes"] = {
                "bearer": {"type": "http", "scheme": "bearer", "description": "An admin token, or a token of an app."}
            }
            schema["security"] = [{"bearer": []}]
            for path, operations in schema["paths"].items():
                for method, operation in operations.items():
                    if policies.of({"path": path, "method": method.upper()}).access is Access.ANYBODY:
                        operation["security"] = []
            add_examples(build()["components"]["schemas"])
        _add_limits(build(), settings())
        return build()

    app.openapi = openapi  # type: ignore[method-assign]


def _add_limits(schema: dict[str, Any], settings: Settings) -> None:
    parts = schema["components"]["schemas"]
    parts["AddMessage"]["properties"]["content"]["maxLength"] = settings.max_message_chars
    parts["WriteMemory"]["properties"]["content"]["maxLength"] = settings.memory_max_chars
