"""What a project's owner says about how its versions age. Kept with the project's settings.

Source: seed 004, "Automatic Decay/Recompression Scheduling" and "compressionRetention".
"""

from __future__ import annotations

import json
from enum import StrEnum
from hashlib import sha256

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from shared.sessions.compressions.asking import TierPreset

_MOST_DAYS = 36_500


class Schedule(StrEnum):
    """How often versions are aged."""

    DAILY = "daily"
    WEEKLY = "weekly"
    ON_ACCESS = "on-access"
    """When the project was used since the last time, and that is an hour ago."""


class Keep(StrEnum):
    """Which versions of a session stay."""

    ALL = "all"
    NEWEST = "newest"
    DAYS = "days"


class _Wire(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)


class Retention(_Wire):
    """How many versions of a session are kept, or for how long; never applied to what is in use or the only one."""

    keep: Keep = Keep.ALL
    count: int | None = Field(None, ge=1, le=10_000, description="With `newest`: how many.")
    days: int | None = Field(None, ge=1, le=_MOST_DAYS, description="With `days`: since they were made or last used.")

    @model_validator(mode="after")
    def _belongs_together(self) -> Retention:
        if (self.keep is Keep.NEWEST) != (self.count is not None):
            raise ValueError("keep newest and count go together")
        if (self.keep is Keep.DAYS) != (self.days is not None):
            raise ValueError("keep days and days go together")
        return self


class DecayRules(_Wire):
    """What becomes of a session with age; days since something was last said in it."""

    create_after_days: int = Field(7, ge=0, le=_MOST_DAYS)
    create_preset: TierPreset = Field(TierPreset.STANDARD, description="Of the version made then, if it has none.")
    aggressive_after_days: int = Field(30, ge=0, le=_MOST_DAYS)
    aggressive_preset: TierPreset = TierPreset.AGGRESSIVE
    prune_intermediate_after_days: int = Field(
        60, ge=0, le=_MOST_DAYS, description="Then versions other than the aggressive one go."
    )

    @model_validator(mode="after")
    def _in_order(self) -> DecayRules:
        if TierPreset.CUSTOM in (self.create_preset, self.aggressive_preset):
            raise ValueError("the presets are gentle, standard or aggressive")
        days = [self.create_after_days, self.aggressive_after_days, self.prune_intermediate_after_days]
        if days != sorted(days):
            raise ValueError("createAfterDays, aggressiveAfterDays and pruneIntermediateAfterDays must ascend")
        return self


class AutoDecay(_Wire):
    """Whether and when sessions are compressed further as they grow old."""

    enabled: bool = False
    schedule: Schedule = Schedule.DAILY
    rules: DecayRules = DecayRules()


class Ageing(_Wire):
    """All of it."""

    retention: Retention = Retention()
    auto_decay: AutoDecay = AutoDecay()

    @property
    def is_active(self) -> bool:
        """Whether there is anything to do at all."""
        return self.auto_decay.enabled or self.retention.keep is not Keep.ALL

    @property
    def schedule(self) -> Schedule:
        """How often; what is kept is looked at daily where nothing decays."""
        return self.auto_decay.schedule if self.auto_decay.enabled else Schedule.DAILY

    @property
    def digest(self) -> str:
        """Tells these rules from others; how often they are followed is no part of it."""
        rules = self.model_dump(mode="json", exclude={"auto_decay": {"schedule"}})
        return sha256(json.dumps(rules, sort_keys=True).encode()).hexdigest()[:16]
