"""What all models share."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """A shape of the service's; fields are snake_case here and camelCase on the wire."""

    # Built when first used: a program uses few of the hundreds there are, and would wait for all of them.
    model_config = ConfigDict(populate_by_name=True, defer_build=True)
