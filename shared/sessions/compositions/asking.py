"""How a composition is asked for, checked; kept as it was asked, so that it can be asked for again.

Source: seed 004, "Composition Algorithm".
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StringConstraints, model_validator
from pydantic.alias_generators import to_camel

from shared.contracts.values import FILE_ID_PATTERN
from shared.sessions.compositions.allocating import Strategy
from shared.sessions.compressions.asking import CompressionSettings

AUTO, ORIGINAL = "auto", "original"
LEAST_BUDGET, MOST_BUDGET = 100, 2_000_000
MOST_COMPONENTS = 100
MOST_NAME = 100
NAME_PATTERN = rf"^[A-Za-z0-9][A-Za-z0-9._-]{{0,{MOST_NAME - 1}}}$"
_VERSION_PATTERN = r"^(auto|original|v[0-9]{3,9})$"

CompositionName = Annotated[str, StringConstraints(pattern=NAME_PATTERN)]


class OutputFormat(StrEnum):
    """Which documents are written."""

    MARKDOWN = "markdown"
    JSONL = "jsonl"
    BOTH = "both"


class Order(StrEnum):
    """In which order the sessions stand."""

    OLDEST_FIRST = "oldest-first"
    AS_GIVEN = "as-given"


class _Wire(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)


class ComponentAsked(_Wire):
    """A session that is to be in it."""

    session_id: str = Field(pattern=FILE_ID_PATTERN)
    version_id: str = Field(
        AUTO, pattern=_VERSION_PATTERN, description="`auto`, `original`, or a version as `v001`.", examples=["auto"]
    )
    allocation: StrictInt | None = Field(None, ge=0, le=MOST_BUDGET, description="Its tokens; with strategy custom.")
    recompress_settings: CompressionSettings | None = Field(
        None, description="Has a new version made for it; with versionId auto."
    )

    @model_validator(mode="after")
    def _belongs_together(self) -> ComponentAsked:
        if self.recompress_settings is not None and self.version_id != AUTO:
            raise ValueError("recompressSettings goes with versionId auto")
        return self


class CompositionAsked(_Wire):
    """What a composition is to be made of."""

    components: tuple[ComponentAsked, ...] = Field(min_length=1, max_length=MOST_COMPONENTS)
    total_token_budget: StrictInt = Field(
        ge=LEAST_BUDGET, le=MOST_BUDGET, description="Never exceeded.", examples=[16000]
    )
    strategy: Strategy = Strategy.EQUAL
    output_format: OutputFormat = OutputFormat.BOTH
    order: Order = Order.OLDEST_FIRST
    min_freshness: StrictInt | None = Field(
        None, ge=1, le=10, description="1: versions must cover all there is now; 10: any version will do."
    )
    model: str | None = Field(None, max_length=200, description="Who compresses where that is needed.")

    @model_validator(mode="after")
    def _add_up(self) -> CompositionAsked:
        named = [one.session_id for one in self.components]
        if len(set(named)) < len(named):
            raise ValueError("each session can be named once")
        is_custom = self.strategy is Strategy.CUSTOM
        if any((one.allocation is not None) != is_custom for one in self.components):
            raise ValueError("with strategy custom each component has an allocation, with any other none has")
        if is_custom and sum(one.allocation or 0 for one in self.components) > self.total_token_budget:
            raise ValueError("the allocations together pass totalTokenBudget")
        return self
