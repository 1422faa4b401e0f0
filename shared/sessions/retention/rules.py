"""How versions age: which of a session may go, and what is made of it as it grows old. Values in, values out.

What is in use never goes. The rules are kept with the project's settings; ages are counted from when something was last
said in a session, or from its last use since. Source: seed 004, "Rehearsal", "Automatic Decay/Recompression Scheduling"
and "compressionRetention".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from typing import Annotated, Any

from pydantic import ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from shared.base.choices import AgeingSchedule, TierPreset
from shared.base.closed import Closed
from shared.contracts.values import FILE_ID_PATTERN
from shared.sessions.models import RecordedSession, SessionVersion

KEEPS = "compressionRetention"
"""Under which name an app and a project keep which versions stay."""
_MOST_DAYS = 36_500
_DAYS = re.compile(r"([0-9]{1,5}) days?")


class RetentionMode(StrEnum):
    """Which versions of a session stay."""

    ALL = "all"
    NEWEST = "newest"
    DAYS = "days"


class _RulesBody(Closed):
    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)


class Retention(_RulesBody):
    """How many versions of a session are kept, or for how long; never applied to what is in use or the only one."""

    keep: RetentionMode = RetentionMode.ALL
    count: int | None = Field(None, ge=1, le=10_000, description="With `newest`: how many.")
    days: int | None = Field(None, ge=1, le=_MOST_DAYS, description="With `days`: since they were made or last used.")

    @model_validator(mode="after")
    def _belongs_together(self) -> Retention:
        if (self.keep is RetentionMode.NEWEST) != (self.count is not None):
            raise ValueError("keep newest and count go together")
        if (self.keep is RetentionMode.DAYS) != (self.days is not None):
            raise ValueError("keep days and days go together")
        return self

    @classmethod
    def of(cls, kept: str | int) -> Retention:
        """Return what ``all``, a number of versions or ``30 days`` says. Raises: ValueError."""
        if kept == RetentionMode.ALL:
            return cls()
        if isinstance(kept, int):
            return cls(keep=RetentionMode.NEWEST, count=kept)
        if found := _DAYS.fullmatch(kept):
            return cls(keep=RetentionMode.DAYS, days=int(found[1]))
        raise ValueError("say all, how many versions of a session are kept, as 5, or for how long, as `30 days`")

    @property
    def short(self) -> str | int:
        """The same as one word or number."""
        return self.count or (f"{self.days} days" if self.days else RetentionMode.ALL.value)


class DecayRules(_RulesBody):
    """What becomes of a session with age; days since something was last said in it, or it was last used."""

    create_after_days: int = Field(7, ge=0, le=_MOST_DAYS)
    create_preset: TierPreset = Field(
        TierPreset.STANDARD, description="Of the version made then, if it has none; the project's unless said."
    )
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


class AutoDecay(_RulesBody):
    """Whether and when sessions are compressed further as they grow old."""

    enabled: bool = False
    schedule: AgeingSchedule = AgeingSchedule.DAILY
    rules: DecayRules = DecayRules()


class Ageing(_RulesBody):
    """All of it."""

    retention: Retention = Retention()
    auto_decay: AutoDecay = AutoDecay()

    @property
    def is_active(self) -> bool:
        """Whether there is anything to do at all."""
        return self.auto_decay.enabled or self.retention.keep is not RetentionMode.ALL

    @property
    def schedule(self) -> AgeingSchedule:
        """How often; what is kept is looked at daily where nothing decays."""
        return self.auto_decay.schedule if self.auto_decay.enabled else AgeingSchedule.DAILY

    @property
    def digest(self) -> str:
        """Tells these rules from others; how often they are followed is no part of it."""
        rules = self.model_dump(mode="json", exclude={"auto_decay": {"schedule"}})
        return sha256(json.dumps(rules, sort_keys=True).encode()).hexdigest()[:16]


DECAY, RETENTION, BY_HAND = "decay", "retention", "by_hand"
"""What versions are removed for; labels the metric."""


@dataclass(frozen=True)
class AgedVersion:
    """A version that is whole, as far as removing it goes."""

    row: SessionVersion
    recorded: RecordedSession
    used_in: tuple[str, ...] = ()
    """Names of the compositions that use it."""
    is_source: bool = False
    """Whether another version is being made from it at this moment."""

    @property
    def made_at(self) -> datetime:
        return self.row.finished_at or self.row.created_at

    @property
    def touched_at(self) -> datetime:
        """When it was made or last used."""
        return max(self.made_at, self.row.last_used or self.made_at)

    @property
    def held_by(self) -> str | None:
        if self.used_in:
            return f"in use by {', '.join(self.used_in[:5])}"
        return "another version is being made from it" if self.is_source else None


@dataclass(frozen=True)
class VersionRemoval:
    """What is to become of a version, and why."""

    version: AgedVersion
    why: str
    what_for: str = BY_HAND

    def shown(self) -> dict[str, Any]:
        """Return it as it is kept and shown: ids and numbers."""
        version, row = self.version, self.version.row
        return {
            "sessionId": version.recorded.session_id,
            "versionId": row.version_id,
            "tokens": row.output_tokens,
            "createdAt": version.made_at.isoformat(),
            "lastUsed": None if row.last_used is None else row.last_used.isoformat(),
            "usedIn": list(version.used_in),
            "reason": self.why,
        }


@dataclass(frozen=True)
class VersionRemovals:
    """Which versions go, and which would but have to stay."""

    go: tuple[VersionRemoval, ...] = ()
    stay: tuple[VersionRemoval, ...] = ()

    @classmethod
    def of(cls, removals: Iterable[VersionRemoval], kept: Iterable[VersionRemoval] = ()) -> VersionRemovals:
        """Return removals without what is in use."""
        removals = list(removals)
        in_use = [
            VersionRemoval(one.version, one.version.held_by) for one in removals if one.version.held_by is not None
        ]
        return cls(tuple(one for one in removals if one.version.held_by is None), (*in_use, *kept))

    def joined(self, other: VersionRemovals) -> VersionRemovals:
        """Return both, without what goes by the first for the second as well."""
        own = {one.version.row.key: one for one in self.go}
        go = own | {one.version.row.key: one for one in other.go if one.version.row.key not in own}
        stay = (one for one in (*self.stay, *other.stay) if one.version.row.key not in go)
        return VersionRemovals(tuple(go.values()), tuple(stay))

    def but_the_only_one(self, versions: Sequence[AgedVersion]) -> VersionRemovals:
        """Return removals that leave the session a version: the newest of those that would go."""
        if not self.go or len(self.go) < len(versions):
            return self
        newest = max(self.go, key=lambda one: one.version.row.number)
        rest = tuple(one for one in self.go if one is not newest)
        return VersionRemovals(rest, (*self.stay, VersionRemoval(newest.version, "the only version of its session")))


class PruningRules(_RulesBody):
    """Which versions a person wants gone: those that meet all that is said."""

    unused: bool = Field(False, strict=True, description="Never used, in any composition or otherwise.")
    superseded: bool = Field(
        False, strict=True, description="A newer one was made with the same settings of the same, and of no less."
    )
    older_than_days: int | None = Field(
        None, strict=True, ge=0, le=_MOST_DAYS, description="Neither made nor used since."
    )
    session_ids: Annotated[list[Annotated[str, Field(pattern=FILE_ID_PATTERN)]], Field(max_length=1000)] = Field(
        default_factory=list, description="Only versions of these; of all where none is named."
    )

    @property
    def says_anything(self) -> bool:
        return self.unused or self.superseded or self.older_than_days is not None


def prune_versions(versions: Sequence[AgedVersion], rules: PruningRules, now: datetime) -> VersionRemovals:
    """Return what goes of a session's versions, which are given oldest first."""
    if rules.session_ids and not any(one.recorded.session_id in rules.session_ids for one in versions):
        return VersionRemovals()
    found = [(version, _reasons(version, versions, rules, now)) for version in versions]
    return VersionRemovals.of(VersionRemoval(version, "; ".join(why)) for version, why in found if why)


def _reasons(version: AgedVersion, versions: Sequence[AgedVersion], rules: PruningRules, now: datetime) -> list[str]:
    """Return why a version goes; nothing when any of what is said does not hold."""
    reasons: list[str | None] = []
    if rules.unused:
        reasons.append("never used" if version.row.uses == 0 and version.row.last_used is None else None)
    if rules.superseded:
        row, later = version.row, [one.row for one in versions if one.row.number > version.row.number]
        # What another version was made from has less to say than the original, by the same settings.
        newer = [
            one
            for one in later
            if (one.settings, one.source_number) == (row.settings, row.source_number)
            and one.source_bytes >= row.source_bytes
        ]
        reasons.append(f"superseded by {newer[-1].version_id}" if newer else None)
    if rules.older_than_days is not None:
        is_old = version.touched_at <= now - timedelta(days=rules.older_than_days)
        reasons.append(f"not touched for {rules.older_than_days} days" if is_old else None)
    return [] if None in reasons else [one for one in reasons if one]


def warnings_of(removals: VersionRemovals, versions: Sequence[AgedVersion]) -> list[str]:
    """Return what a person should know before a session's versions go."""
    warnings = [
        f"{one.version.recorded.session_id} {one.version.row.version_id} stays: {one.why}" for one in removals.stay
    ]
    if removals.go and len(removals.go) == len(versions):
        warnings.append(f"{versions[0].recorded.session_id} is left without any version")
    return warnings


def expired_versions(versions: Sequence[AgedVersion], retention: Retention, now: datetime) -> VersionRemovals:
    why = f"retention keeps {retention.keep} {retention.count or retention.days or ''}".strip()
    # By number, which never goes back; a clock may have been set.
    newest_first = sorted(versions, key=lambda one: -one.row.number)
    beyond: Sequence[AgedVersion] = []
    if retention.keep is RetentionMode.NEWEST:
        beyond = newest_first[retention.count or 1 :]
    elif retention.keep is RetentionMode.DAYS:
        since = now - timedelta(days=retention.days or 1)
        beyond = [one for one in newest_first if one.touched_at <= since]
    return VersionRemovals.of(VersionRemoval(one, why, RETENTION) for one in beyond).but_the_only_one(versions)


RESTING = timedelta(days=1)
PERIODS = {
    AgeingSchedule.DAILY: timedelta(days=1),
    AgeingSchedule.WEEKLY: timedelta(days=7),
    AgeingSchedule.ON_ACCESS: timedelta(hours=1),
}
MOST_FAILURES = 3
"""After so many failures over the same bytes a version is not asked for again."""


@dataclass(frozen=True)
class AgeingSession:
    """A session with its versions, as far as its age goes."""

    recorded: RecordedSession
    versions: tuple[AgedVersion, ...] = ()
    is_being_compressed: bool = False
    failures: int = 0
    """How often a version of these very bytes failed since the last that did not."""
    distance: int = 1
    """Its place by age in the project; 1 is the newest."""

    def days(self, now: datetime) -> float | None:
        """Return how old it is, from when it was used last if that was later; None where it has no time."""
        last_said = self.recorded.last_timestamp
        if last_said is None:
            return None
        return (now - max(last_said, self.recorded.used_at or last_said)) / timedelta(days=1)

    @property
    def fresh(self) -> list[AgedVersion]:
        """Its versions that cover all there is, from its beginning."""
        return [
            one
            for one in self.versions
            if one.row.source_bytes >= self.recorded.size_bytes and not one.row.skipped_messages
        ]

    def made_with(self, preset: TierPreset) -> AgedVersion | None:
        made = [one for one in self.fresh if one.row.settings.get("tierPreset") == preset]
        return max(made, key=lambda one: one.row.number, default=None)


@dataclass(frozen=True)
class ProposedVersion:
    """A version that is to be made."""

    session: AgeingSession
    preset: TierPreset
    why: str


def decay_session(
    session: AgeingSession, config: AutoDecay, now: datetime
) -> tuple[ProposedVersion | None, VersionRemovals]:
    """Return what the rules want of a session at its age: a version to be made, and what goes."""
    days = session.days(now)
    if not config.enabled or days is None:
        return None, VersionRemovals()
    return _wanted_version(session, config.rules, days), _intermediate(session, config.rules, days, now)


def is_due(schedule: AgeingSchedule, aged_at: datetime | None, accessed_at: datetime, now: datetime) -> bool:
    if aged_at is None:
        return True
    if schedule is AgeingSchedule.ON_ACCESS and accessed_at <= aged_at:
        return False
    return now >= aged_at + PERIODS[schedule]


def _wanted_version(session: AgeingSession, rules: DecayRules, days: float) -> ProposedVersion | None:
    if session.is_being_compressed or session.failures >= MOST_FAILURES:
        return None
    if days >= rules.aggressive_after_days:
        if session.made_with(rules.aggressive_preset) is None:
            return ProposedVersion(session, rules.aggressive_preset, f"{rules.aggressive_after_days} days old")
    elif days >= rules.create_after_days and not session.fresh:
        return ProposedVersion(session, rules.create_preset, f"{rules.create_after_days} days old, no version")
    return None


def _intermediate(session: AgeingSession, rules: DecayRules, days: float, now: datetime) -> VersionRemovals:
    last = session.made_with(rules.aggressive_preset)
    if days < rules.prune_intermediate_after_days or last is None:
        return VersionRemovals()
    others = [one for one in session.versions if one is not last]
    why = f"intermediate, {rules.prune_intermediate_after_days} days old"
    resting = [one for one in others if one.touched_at > now - RESTING]
    stay = [VersionRemoval(one, "made or used within the last day") for one in resting if one.held_by is None]
    # What is in use is handed on though it rests: `VersionRemovals.of` keeps it, and says what for.
    go = (VersionRemoval(one, why, DECAY) for one in others if one not in resting or one.held_by)
    return VersionRemovals.of(go, stay)
