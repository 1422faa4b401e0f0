"""Makes ``/openapi.json`` fit for generators of clients and for readers: names, tags, servers, security and examples.

Shapes and texts stand beside their routes; here is only what FastAPI cannot know, and an example of every shape. In it
a field's own ``examples`` win; then its first choice, the table of usual values by the field's name, and what its type
allows. A shape whose fields depend on each other gives an example of its own (``json_schema_extra``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from pydantic.alias_generators import to_camel

from loop.api.policy import Access, RoutePolicies
from shared.base.settings import Settings

_REFERENCE = "#/components/schemas/"
_USUAL: Mapping[str, str] = {
    "actor": "admin",
    "agent": "extractive",
    "answerId": "answer_01",
    "appId": "chat",
    "compositionId": "composition_01",
    "content": "I moved to Lisbon in May.",
    "conversationId": "kites",
    "cursor": "bTox",
    "displayName": "Kites",
    "fact": "Lives in Lisbon.",
    "jobId": "job_01",
    "label": "home",
    "lastSeenConversationId": "kites",
    "markerId": "marker_01",
    "messageId": "m1",
    "messageIds": "m1",
    "messageUuid": "5d8f1c1e-6a52-4a8e-9a53-3c0d5b1f0a11",
    "model": "ollama:llama3.2:3b",
    "name": "Chat",
    "originalFile": "/home/ada/.sessions/5d8f1c1e.jsonl",
    "originalPath": "/home/ada/.sessions/5d8f1c1e.jsonl",
    "path": "/home/ada/.sessions/5d8f1c1e.jsonl",
    "projectId": "-home-ada-kites",
    "query": "Where does Ada live?",
    "reason": "the user left",
    "receiptId": "receipt_01",
    "role": "user",
    "sessionId": "5d8f1c1e-6a52-4a8e-9a53-3c0d5b1f0a11",
    "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "sourceConversationId": "kites",
    "summary": "Ada flies kites and moved to Lisbon.",
    "summaryId": "summary_01",
    "systemPrompt": "What you remember: Ada moved to Lisbon in May.",
    "tags": "home",
    "text": "I moved to Lisbon in May.",
    "token": "the-token-shown-once",
    "tokenId": "token_01",
    "url": "https://app.example.com/events",
    "userId": "ada",
    "uuid": "5d8f1c1e-6a52-4a8e-9a53-3c0d5b1f0a11",
    "versionId": "v002",
    "webhookId": "webhook_01",
}
"""Examples of texts by the name of their field, where the field itself gives none."""
_BY_FORMAT = {"date-time": "2026-03-01T12:00:00Z", "date": "2026-03-01"}
_BY_TYPE: Mapping[str, Any] = {"string": "text", "boolean": True, "object": {}}
_NONE = object()


def add_examples(schemas: dict[str, Any]) -> None:
    for name, schema in schemas.items():
        schema.setdefault("examples", [_example_of(schema, schemas, (name,))])


def _example_of(schema: dict[str, Any], schemas: dict[str, Any], within: tuple[str, ...]) -> Any:
    """Return an example; a shape within itself has none."""
    if "examples" in schema:
        return schema["examples"][0]
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(_REFERENCE)
        return _NONE if name in within else _example_of(schemas[name], schemas, (*within, name))
    for choices in ("anyOf", "oneOf"):
        if choices in schema:
            found = (_example_of(one, schemas, within) for one in schema[choices])
            return next((one for one in found if one is not _NONE), None)
    if "properties" in schema:
        return _object(schema, schemas, within)
    if schema.get("type") == "array":
        if "prefixItems" in schema:
            return [_example_of(one, schemas, within) for one in schema["prefixItems"]]
        one = _example_of(schema.get("items", {}), schemas, within)
        return [] if one is _NONE else [one] * max(1, schema.get("minItems", 1))
    kind = schema.get("type", "string")
    if kind in ("integer", "number"):
        lowest = schema.get("minimum", schema.get("exclusiveMinimum", 0) + 1)
        return int(min(max(lowest, 1), schema.get("maximum", lowest + 1)))
    if "format" in schema:
        return _BY_FORMAT.get(schema["format"], "text")
    return _BY_TYPE.get(kind)


def _object(schema: dict[str, Any], schemas: dict[str, Any], within: tuple[str, ...]) -> dict[str, Any]:
    """Return an example with what must be given, and with what may be where somebody thought of an example."""
    required, example = schema.get("required", ()), {}
    for name, part in schema["properties"].items():
        choices = part.get("anyOf", [part])
        if thought_of := [one["examples"][0] for one in (part, *choices) if "examples" in one]:
            value = thought_of[0]
        elif name in _USUAL and any(_is_plain_text(one) for one in choices):
            value = _USUAL[name]
        elif name in required or ("$ref" in part and part.get("default")):
            value = _example_of(part, schemas, within)
            value = [_USUAL[name]] if value == ["text"] and name in _USUAL else value
        else:
            continue
        if value is not _NONE:
            example[name] = value
    return example or _of_defaults(schema["properties"], schemas, within)


def _of_defaults(properties: dict[str, Any], schemas: dict[str, Any], within: tuple[str, ...]) -> dict[str, Any]:
    """Return an example of a shape of which nothing must be given: what holds anyway, else its first field."""
    holds = {name: part["default"] for name, part in properties.items() if part.get("default") is not None}
    first = next(iter(properties))
    return holds or {first: _example_of(properties[first], schemas, within)}


def _is_plain_text(schema: dict[str, Any]) -> bool:
    return schema.get("type") == "string" and not {"enum", "const", "format"} & schema.keys()


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
                    if policies.of({"path": path, "method": method.upper()})[0].access is Access.ANYBODY:
                        operation["security"] = []
            add_examples(build()["components"]["schemas"])
        # Each time: the loop behind the interface, and so its settings, may be another by now.
        _add_limits(build(), settings())
        return build()

    app.openapi = openapi  # type: ignore[method-assign]


def _add_limits(schema: dict[str, Any], settings: Settings) -> None:
    parts = schema["components"]["schemas"]
    parts["AddMessage"]["properties"]["content"]["maxLength"] = settings.max_message_chars
    parts["WriteMemory"]["properties"]["content"]["maxLength"] = settings.memory_max_chars
