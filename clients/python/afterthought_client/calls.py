"""A call as values: built from the arguments of a method, before anything is sent."""

from __future__ import annotations

import math
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, BinaryIO, TypeVar
from urllib.parse import quote

import httpx
from pydantic import BaseModel, TypeAdapter, ValidationError

from afterthought_client.errors import InvalidArgument, UnexpectedAnswer

_ANY: TypeAdapter[Any] = TypeAdapter(Any)
ModelT = TypeVar("ModelT", bound=BaseModel)


class Omit(Enum):
    """Stands for an argument that was not given, which is not the same as None: None takes a value away."""

    OMIT = "omit"

    def __repr__(self) -> str:
        return "OMIT"


OMIT = Omit.OMIT


@dataclass(frozen=True)
class Call:
    """One call of the service, sent once or, where the connection breaks, several times alike."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    content: bytes | BinaryIO | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)

    def resumed(self, last_id: str | None) -> Call:
        """Return a call that follows a stream from where it broke off."""
        if last_id is None:
            return self
        query = {name: value for name, value in self.query.items() if name != "after"}
        return replace(self, query=query, headers={**self.headers, "Last-Event-ID": last_id})


def path_of(template: str, **parts: str | int) -> str:
    """Put the parts into an address, so that none of them reaches beyond its place. Raises: InvalidArgument."""
    return template.format(**{name: _quoted(name, str(part)) for name, part in parts.items()})


def query_of(**values: object) -> dict[str, str]:
    """Return the query of those values that were given. A trailing underscore spares Python's own words."""
    return {name.rstrip("_"): _in_query(value) for name, value in values.items() if value is not None}


def json_body(**fields: object) -> bytes:
    """Return the body of those fields that were given."""
    return json_of({name: value for name, value in fields.items() if value is not OMIT})


def json_of(value: object) -> bytes:
    """Return a value as JSON; of a model only what was given. Raises: InvalidArgument for a number JSON has not."""
    plain = _ANY.dump_python(value, mode="python", by_alias=True, exclude_unset=True)
    if _has_no_number(plain):
        # As JSON it would be null, which takes a value away: a budget of NaN would lift the budget.
        raise InvalidArgument("nan and inf are no numbers of JSON; leave out what is not known.")
    return _ANY.dump_json(value, by_alias=True, exclude_unset=True)


def _has_no_number(value: object) -> bool:
    # Not by calling itself: what is imported may be nested deeper than Python goes.
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, Mapping):
            left.extend(one.values())
        elif isinstance(one, list | tuple):
            left.extend(one)
        elif isinstance(one, float) and not math.isfinite(one):
            return True
    return False


def write_headers(key: str | None, content_type: str | None = None) -> dict[str, str]:
    """Return the headers of a write; its key is made here, once a call, so that every try has the same."""
    return {"Idempotency-Key": key or str(uuid.uuid4()), **typed(content_type)}


def typed(content_type: str | None = None) -> dict[str, str]:
    """Return the header that says what a body is."""
    return {} if content_type is None else {"Content-Type": content_type}


def read(response: httpx.Response, model: type[ModelT]) -> ModelT:
    """Return an answer as a model. Raises: UnexpectedAnswer."""
    try:
        return model.model_validate_json(response.content)
    except ValidationError as error:
        # Without what was answered: that is somebody's text.
        told = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:3])
        message = f"The answer to {response.request.method} {response.request.url.path} is not a {model.__name__}"
        raise UnexpectedAnswer(f"{message} ({told}); client and service may be of different releases.") from None


def _quoted(name: str, part: str) -> str:
    if not part:
        raise InvalidArgument(f"{name}: must not be empty")
    # Dots alone would be taken for a step up.
    return part.replace(".", "%2E") if part in (".", "..") else quote(part, safe="")


def _in_query(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
