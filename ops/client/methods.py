"""The methods of the client: one for each operation of ``/openapi.json``, and an iterator for each listing in pages.

A method takes the parts of the address and what the body must have by position, all else by name. Its arguments are the
fields of the body, not the body, so that a program reads like the documentation.
"""

from __future__ import annotations

import json
import keyword
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

_REFERENCE = "#/components/schemas/"
_JSON = "application/json"
_KEY = "idempotency-key"
_APPS = "/apps"
"""Installs an app, which is that of no client yet."""
_HEAD = """
from __future__ import annotations

from collections.abc import {iterator}, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Literal

from afterthought_client import models
from afterthought_client.calls import (
    OMIT, Call, Omit, json_body, json_of, path_of, query_of, read, typed, write_headers,
)
from afterthought_client.events import ServerSentEvent
from afterthought_client.{module} import Content, {base}


class {name}({base}):
    \"\"\"Everything the service does; a method is named as its operation in ``/openapi.json``.

    Give ``app`` once, or ``app_id`` with a call; an app's token opens only what belongs to its app.
    \"\"\"
"""
_SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


@dataclass(frozen=True)
class Argument:
    """An argument of a method."""

    name: str
    """As in the method."""
    wire: str
    """As in the service's JSON or query."""
    kind: str
    is_required: bool
    text: str = ""
    default: str = "None"

    @property
    def declared(self) -> str:
        """The argument as a signature has it."""
        if self.is_required:
            return f"{self.name}: {self.kind}"
        other = "Omit" if self.default == "OMIT" else "None"
        kinds = dict.fromkeys([*self.kind.split(" | "), other])
        last = ["None"] if "None" in kinds else []
        return f"{self.name}: {' | '.join([kind for kind in kinds if kind != 'None'] + last)} = {self.default}"


@dataclass(frozen=True)
class Operation:
    """What a method is written from."""

    name: str
    method: str
    path: str
    text: str
    places: tuple[Argument, ...]
    query: tuple[Argument, ...]
    fields: tuple[Argument, ...]
    app: str | None
    """Where the app stands: in the "path", the "query" or the "body", or nowhere."""
    is_write: bool
    file_type: str | None
    """Of a body that is a file."""
    is_file_needed: bool
    is_whole: bool
    """Whether the body is handed over as one value."""
    answers: dict[int, str]
    """Models by status."""
    answer_kind: str

    @property
    def arguments(self) -> Iterator[Argument | str]:
        """The arguments in the order of the signature; a star before what is only taken by name."""
        everything = (*self.places, *self.fields, *self.query)
        yield from (one for one in everything if one.is_required)
        if self.file_type and not self.fields:
            yield Argument("content", "", "Content", self.is_file_needed, f"The file, as {self.file_type}.")
        yield "*"
        if self.file_type and self.fields:
            yield Argument("content", "", "Content", False, f"The file itself, as {self.file_type}.")
        yield from (one for one in everything if not one.is_required)
        if self.app:
            yield Argument("app_id", "appId", "str", False, "The app, where it is not that of the client.")
        if self.is_write:
            yield Argument("idempotency_key", "", "str", False, "Made anew for each call unless given.")


def methods_module(description: dict[str, Any], *, is_async: bool) -> str:
    """Return the module of a client."""
    prefix = "Async" if is_async else "Sync"
    head = _HEAD.format(
        iterator="AsyncIterator" if is_async else "Iterator",
        module=f"{prefix.lower()}_transport",
        base=f"{prefix}Transport",
        name="AsyncAfterthought" if is_async else "Afterthought",
    )
    operations = [one for every in _operations(description) for one in every]
    written = [part for one in operations for part in _methods(one, description, is_async)]
    names = re.findall(r"^    (?:async )?def (\w+)", "\n".join(written), re.MULTILINE)
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"two methods of one name: {sorted(twice)}")
    return head + "\n" + "\n".join(written)


def _operations(description: dict[str, Any]) -> Iterator[Iterator[Operation]]:
    for path, item in description["paths"].items():
        for method, operation in item.items():
            yield _read(path, method.upper(), operation, description["components"]["schemas"])


def _read(path: str, method: str, operation: dict[str, Any], shapes: dict[str, Any]) -> Iterator[Operation]:
    """Yield what an operation becomes: one method, and another where the same is also answered as a text."""
    parameters = operation.get("parameters", [])
    app = next((one["in"] for one in parameters if one["name"] == "appId"), None)
    others = [one for one in parameters if one["name"] != "appId"]
    in_path = tuple(_parameter(one, shapes) for one in others if one["in"] == "path")
    in_query = tuple(_parameter(one, shapes) for one in others if one["in"] == "query")
    is_whole, fields, file_type = _body(operation.get("requestBody"), shapes)
    if path != _APPS and any(one.wire == "appId" for one in fields):
        app, fields = "body", tuple(one for one in fields if one.wire != "appId")
    kinds = _answers(operation)
    common: dict[str, Any] = {
        "method": method,
        "path": path,
        "text": f"{operation['summary']}.\n\n{operation['description']}",
        "places": in_path,
        "fields": fields,
        "app": app,
        "is_write": any(one["name"].lower() == _KEY for one in parameters),
        "file_type": file_type,
        "is_file_needed": operation.get("requestBody", {}).get("required", False) and not fields,
        "is_whole": is_whole,
    }
    name = _snake(operation["operationId"])
    json_answers = kinds.pop(_JSON, {})
    if json_answers and kinds:
        # With `format` the same is a text; a method has one type.
        [form] = [one for one in in_query if one.wire == "format"]
        plain = tuple(one for one in in_query if one is not form)
        form = replace(form, kind=form.kind.replace('"json", ', ""), is_required=True)
        yield Operation(name, query=plain, answers=json_answers, answer_kind=_JSON, **common)
        yield Operation(f"{name}_text", query=(form, *plain), answers={}, answer_kind="text/plain", **common)
    else:
        kind = _JSON if json_answers else next(iter(kinds))
        yield Operation(name, query=in_query, answers=json_answers, answer_kind=kind, **common)


def _answers(operation: dict[str, Any]) -> dict[str, dict[int, str]]:
    """Return the models of successes by kind of content and status."""
    found: dict[str, dict[int, str]] = {}
    for status, answer in operation["responses"].items():
        if status.startswith("2"):
            for kind, content in answer.get("content", {}).items():
                model = content["schema"].get("$ref", "").removeprefix(_REFERENCE)
                found.setdefault(kind, {})[int(status)] = model
    return found


def _body(body: dict[str, Any] | None, shapes: dict[str, Any]) -> tuple[bool, tuple[Argument, ...], str | None]:
    """Return whether a body is handed over whole, its fields as arguments, and the type of a file."""
    content = (body or {}).get("content", {})
    file_type = next((kind for kind in content if kind != _JSON), None)
    if _JSON not in content:
        return False, (), file_type
    shape, is_needed = content[_JSON]["schema"], not file_type
    # Of several shapes the last is the most general; where null is one, nothing need be given.
    choices = [one for one in shape.get("anyOf", shape.get("oneOf", [shape])) if one.get("type") != "null"]
    name = choices[-1].get("$ref", "").removeprefix(_REFERENCE)
    fields = shapes[name] if name else choices[-1]
    if name == "Archive":
        return True, (Argument("archive", "", "models.Archive | Mapping[str, Any]", True),), None
    required = set(fields.get("required", ())) if is_needed else set()
    arguments = tuple(_field(wire, part, shapes, wire in required) for wire, part in fields["properties"].items())
    return False, arguments, file_type


def _field(wire: str, part: dict[str, Any], shapes: dict[str, Any], is_required: bool) -> Argument:
    return Argument(_python(wire), wire, _kind(part, shapes), is_required, part.get("description", ""), "OMIT")


def _parameter(one: dict[str, Any], shapes: dict[str, Any]) -> Argument:
    kinds = [kind for kind in _kind(one["schema"], shapes).split(" | ") if kind != "None"]
    return Argument(_python(one["name"]), one["name"], " | ".join(kinds), one["required"], one.get("description", ""))


def _kind(shape: dict[str, Any], shapes: dict[str, Any]) -> str:
    """Return the type of what may be given."""
    if "$ref" in shape:
        name = shape["$ref"].removeprefix(_REFERENCE)
        return _kind(shapes[name], shapes) if "enum" in shapes[name] else f"models.{name} | Mapping[str, Any]"
    if "enum" in shape:
        return f"Literal[{', '.join(json.dumps(one) for one in shape['enum'])}]"
    if "anyOf" in shape or "oneOf" in shape:
        choices = [_kind(one, shapes) for one in shape.get("anyOf", shape.get("oneOf"))]
        return " | ".join(dict.fromkeys(choices))
    if shape.get("format") in ("date-time", "date"):
        return "datetime | str" if shape["format"] == "date-time" else "date | str"
    if shape.get("type") == "array":
        return f"Sequence[{_kind(shape.get('items', {}), shapes)}]"
    if shape.get("type") == "object":
        return "Mapping[str, Any]"
    return _SCALARS.get(shape.get("type", ""), "Any")


def _methods(operation: Operation, description: dict[str, Any], is_async: bool) -> Iterator[str]:
    if operation.answer_kind == "text/event-stream":
        yield _method(operation, is_async, f"{'Async' if is_async else ''}Iterator[ServerSentEvent]", is_stream=True)
        return
    yield _method(operation, is_async, _result(operation), is_stream=False)
    if _result(operation) == "bytes":
        result = f"{'Async' if is_async else ''}Iterator[bytes]"
        lines = [f"call = {_call(operation)}", "return self._pieces(call)"]
        text = f"As ``{operation.name}``, piece by piece as it comes."
        yield _function(f"{operation.name}_in_pieces", operation, result, lines, False, text)
    item = _listed(operation, description["components"]["schemas"])
    if item is not None:
        yield _iterator(operation, is_async, *item)


def _result(operation: Operation) -> str:
    if operation.answers:
        return " | ".join(dict.fromkeys(f"models.{model}" for model in operation.answers.values()))
    return "str" if operation.answer_kind.startswith("text/") else "bytes"


def _method(operation: Operation, is_async: bool, result: str, *, is_stream: bool) -> str:
    sent = "return self._follow(call)" if is_stream else f"response = {'await ' * is_async}self._send(call)"
    lines = [f"call = {_call(operation)}", sent]
    models = list(dict.fromkeys(operation.answers.items()))
    if len(set(operation.answers.values())) > 1:
        *first, (_, last) = models
        lines += [f"if response.status_code == {status}:\n    return read(response, models.{m})" for status, m in first]
        lines.append(f"return read(response, models.{last})")
    elif operation.answers:
        lines.append(f"return read(response, models.{models[0][1]})")
    elif not is_stream:
        lines.append("return response.text" if result == "str" else "return response.content")
    # A stream is an iterator from the beginning, so that `async for` takes it as it is.
    return _function(operation.name, operation, result, lines, is_async and not is_stream)


def _call(operation: Operation) -> str:
    parts = [f"{one.name}={one.name}" for one in operation.places]
    parts += ["appId=self._app(app_id)"] if operation.app == "path" else []
    template = operation.path
    for one in operation.places:
        template = template.replace("{" + one.wire + "}", "{" + one.name + "}")
    path = f'path_of("{template}", {", ".join(parts)})' if parts else f'"{template}"'
    query = [f"{one.wire + '_' * keyword.iskeyword(one.wire)}={one.name}" for one in operation.query]
    query += ["appId=app_id or self.app"] if operation.app == "query" else []
    given = [f'"{operation.method}"', path]
    given += [f"query=query_of({', '.join(query)})"] if query else []
    told = ["appId=app_id or self.app"] if operation.app == "body" else []
    fields = ", ".join([*told, *(f"{one.wire}={one.name}" for one in operation.fields)])
    body = "json_of(archive)" if operation.is_whole else f"json_body({fields})" if fields else ""
    kind = f'"{_JSON}"'
    if operation.file_type:
        other = kind if body else "None"
        kind = f'"{operation.file_type}"' + (
            "" if operation.is_file_needed else f" if content is not None else {other}"
        )
        body = f"content if content is not None else {body}" if body else "content"
    given += [f"content={body}"] if body else []
    if operation.is_write:
        given.append(f"headers=write_headers(idempotency_key{', ' + kind if body else ''})")
    elif body:
        given.append(f"headers=typed({kind})")
    return f"Call({', '.join(given)})"


def _listed(operation: Operation, shapes: dict[str, Any]) -> tuple[str, str] | None:
    """Return the field and the type of what a listing in pages lists."""
    is_listing = operation.name.startswith(("list_", "show_", "read_"))
    if not is_listing or "cursor" not in {one.wire for one in operation.query}:
        return None
    fields = shapes[next(iter(operation.answers.values()))]["properties"]
    lists = [(name, part["items"]) for name, part in fields.items() if part.get("type") == "array"]
    if "cursor" not in fields or len(lists) != 1:
        return None
    [(name, items)] = lists
    reference = items.get("$ref", "").removeprefix(_REFERENCE)
    return _python(name), f"models.{reference}" if reference else "Any"


def _iterator(operation: Operation, is_async: bool, field: str, item: str) -> str:
    given = [one for one in operation.arguments if isinstance(one, Argument)]
    passed = ", ".join(f"{one.name}={one.name}" for one in given)
    name = "iter_" + operation.name.partition("_")[2]
    # An asynchronous generator has no `yield from`.
    items = [f"for one in page.{field}:", "    yield one"] if is_async else [f"yield from page.{field}"]
    page = [f"page = {'await ' * is_async}self.{operation.name}({passed})", *items, "cursor = page.cursor"]
    lines = ["while True:", *(f"    {line}" for line in page), "    if cursor is None:", "        return"]
    result = f"{'Async' if is_async else ''}Iterator[{item}]"
    text = f"Iterate over what ``{operation.name}`` lists, page by page; ``limit`` is the length of a page."
    return _function(name, operation, result, lines, is_async, text)


def _function(
    name: str, operation: Operation, result: str, lines: list[str], is_async: bool, text: str | None = None
) -> str:
    arguments = list(operation.arguments)
    if arguments[-1] == "*":
        arguments.pop()
    declared = ["self", *(one if isinstance(one, str) else one.declared for one in arguments)]
    told = [f"    {one.name}: {one.text}" for one in arguments if isinstance(one, Argument) and one.text]
    doc = [*(text or operation.text).split("\n\n"), "\n".join(["Args:", *told]) if told else ""]
    body = "\n".join([f'"""{_docstring(doc)}"""', *lines])
    head = f"{'async ' * is_async}def {name}({', '.join(declared)}) -> {result}:"
    return textwrap.indent(f"{head}\n{textwrap.indent(body, '    ')}\n", "    ")


def _docstring(paragraphs: list[str]) -> str:
    """Return paragraphs as a docstring with lines that fit; those that begin with spaces stand by themselves."""
    folded = []
    for paragraph in filter(None, paragraphs):
        lines = re.split(r"\n(?= )", paragraph) if paragraph.startswith("Args:") else [" ".join(paragraph.split("\n"))]
        folded.append(
            "\n".join(textwrap.fill(line, 110, subsequent_indent=" " * 8 * (len(lines) > 1)) for line in lines)
        )
    text = "\n\n".join(folded).replace("\\", "\\\\")
    return text + ("\n" if "\n" in text else "")


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def _python(wire: str) -> str:
    name = _snake(wire).replace("-", "_")
    return f"{name}_" if keyword.iskeyword(name) else name
