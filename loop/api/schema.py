"""The types all bodies and answers are made of, and the limits that keep what a stranger sends within bounds."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictInt
from pydantic.alias_generators import to_camel
from pydantic.warnings import UnsupportedFieldAttributeWarning

from shared.base.closed import Closed

APP_ID_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._:@-]{0,99}$"
KEY_PATTERN = r"^[\x21-\x7e]{1,200}$"
_MAX_UNITS = 1e12
MOST_TOKENS = 10_000_000
ONE, MANY = "one message", "several messages"
"""Tags of the two shapes in which messages are sent; an error does not name them as a place."""

# FastAPI silences it while it builds a field, in a list that all threads share, so that now and then it was logged for
# what another thread built at the same moment. What it warns of is FastAPI's own way with its fields.
warnings.filterwarnings("ignore", category=UnsupportedFieldAttributeWarning)


@dataclass(frozen=True)
class From:
    """Where in a row a field is taken from, if not from the attribute of its name: ``inner`` or ``outer.inner``."""

    path: str


class ResponseModel(BaseModel):
    """What the server says."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, from_attributes=True, frozen=True)

    @classmethod
    def from_row(cls, row: object, **given: Any) -> Self:
        """Return the answer about a row, or any value: what is not given is taken from it (see ``From``)."""
        taken = {name: take(row) for name, take in _getters(cls).items() if name not in given}
        return cls.model_validate(taken | given)


@cache
def _getters(model: type[ResponseModel]) -> dict[str, attrgetter[Any]]:
    named = {
        name: [one.path for one in field.metadata if isinstance(one, From)]
        for name, field in model.model_fields.items()
    }
    return {name: attrgetter(*(path or [name])) for name, path in named.items()}


class RequestModel(Closed):
    """What a client sends; a field we do not know is refused, so that a misspelt one is seen."""

    model_config = ConfigDict(alias_generator=to_camel, frozen=True)


class PartialModel(RequestModel):
    """A change: each field that it takes from its other bases may be left out, or null, and stays as it is then."""

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        # These are copies: the bases keep theirs.
        for field in cls.model_fields.values():
            annotation: Any = field.annotation
            field.annotation, field.default, field.default_factory = annotation | None, None, None
        cls.model_rebuild(force=True)

    def given(self) -> dict[str, Any]:
        return self.model_dump(exclude_none=True)


Units = Annotated[float, Field(strict=True, ge=0, le=_MAX_UNITS, allow_inf_nan=False)]
"""Energy units; null where it stands beside ``None`` means no budget."""
AppId = Annotated[str, Field(pattern=APP_ID_PATTERN, examples=["chat"])]
Tokens = Annotated[StrictInt, Field(ge=0, le=MOST_TOKENS)]
Flag = Annotated[bool, Field(strict=True)]
NamedUser = Annotated[str | None, BeforeValidator(lambda user_id: user_id or None)]
"""Whose something is, out of a row in which nobody is an empty id."""


class Success(ResponseModel):
    """It was done."""

    success: bool = True


TEXT: dict[str, Any] = {"schema": {"type": "string"}}
"""Describes an answer that is a text and not JSON."""
