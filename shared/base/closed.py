"""What strangers send: an object in which a field that is not known is refused."""

from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator

_MOST_UNKNOWN = 20
"""Unknown fields of one object that are told one by one."""


class Closed(BaseModel):
    """An object in which a field that is not known is refused, with one error where there are very many."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _has_few_unknown_fields(cls, given: Any) -> Any:
        # Of each, the library makes an error: of millions that takes minutes, and gigabytes.
        if isinstance(given, dict) and len(given) > len(cls.model_fields) + _MOST_UNKNOWN:
            known = {name for field, one in cls.model_fields.items() for name in (field, one.alias)}
            unknown = next((str(key)[:40] for key in given if key not in known), None)
            if unknown is not None:
                raise ValueError(
                    f"has {len(given)} fields, of which {len(cls.model_fields)} can be known; {unknown} is not"
                )
        return given
