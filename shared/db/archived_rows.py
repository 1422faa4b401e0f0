"""Parts of an archive's document, and the rows they are copied from and to by the names of their columns."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from shared.db.base import Base

_PartT = TypeVar("_PartT", bound="ArchivePart")
_RowT = TypeVar("_RowT", bound=Base)


class ArchivePart(BaseModel):
    """A part of an archive; a field that is not known is refused."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True, allow_inf_nan=False
    )


def copied(part: type[_PartT], row: object, **own: Any) -> _PartT:
    """Return a part of the document with the fields of a row that have its names; ``own`` are set apart."""
    return part(**own, **{name: getattr(row, name) for name in part.model_fields if name not in own})


def row_of(model: type[_RowT], part: ArchivePart, **own: Any) -> _RowT:
    """Return a new row with the fields of a part of the document that its columns share; ``own`` are set apart."""
    shared_names = type(part).model_fields.keys() & model.__mapper__.attrs.keys()
    return model(**own, **{name: _as_column(getattr(part, name)) for name in shared_names - own.keys()})


def _as_column(value: Any) -> Any:
    is_object = isinstance(value, BaseModel)
    return value.model_dump(mode="json", by_alias=True, exclude_none=True) if is_object else value
