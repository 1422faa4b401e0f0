"""Which versions of a session may go, and why; what is in use never does. Values in, values out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from shared.sessions.version_ids import version_id


@dataclass(frozen=True)
class Version:
    """A version, as far as removing it goes."""

    key: int
    session_id: str
    number: int
    made_at: datetime
    output_tokens: int = 0
    last_used: datetime | None = None
    uses: int = 0
    covers: int = 0
    """Bytes of the original."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    used_in: tuple[str, ...] = ()
    """Names of the compositions that use it."""
    is_source: bool = False
    """Whether another version is being made from it at this moment."""

    @property
    def version_id(self) -> str:
        """``v001`` and so on."""
        return version_id(self.number)

    @property
    def touched_at(self) -> datetime:
        """When it was made or last used."""
        return max(self.made_at, self.last_used or self.made_at)

    @property
    def held_by(self) -> str | None:
        """What keeps it from being removed."""
        if self.used_in:
            return f"in use by {', '.join(self.used_in[:5])}"
        return "another version is being made from it" if self.is_source else None


@dataclass(frozen=True)
class Decision:
    """What is to become of a version, and why."""

    version: Version
    why: str


@dataclass(frozen=True)
class Removals:
    """Which versions go, and which would but have to stay."""

    go: tuple[Decision, ...] = ()
    stay: tuple[Decision, ...] = ()

    @classmethod
    def of(cls, wanted: Iterable[Decision], kept: Iterable[Decision] = ()) -> Removals:
        """Return removals without what is in use."""
        wanted = list(wanted)
        held = [Decision(one.version, one.version.held_by) for one in wanted if one.version.held_by is not None]
        return cls(tuple(one for one in wanted if one.version.held_by is None), (*held, *kept))

    def but_the_only_one(self, versions: Sequence[Version]) -> Removals:
        """Return removals that leave the session a version: the newest of those that would go."""
        if not self.go or len(self.go) < len(versions):
            return self
        newest = max(self.go, key=lambda one: one.version.number)
        rest = tuple(one for one in self.go if one is not newest)
        return Removals(rest, (*self.stay, Decision(newest.version, "the only version of its session")))


@dataclass(frozen=True)
class Pruning:
    """Which versions a person wants gone: those that meet all that is said."""

    unused: bool = False
    """Never used, in any composition or by being read."""
    superseded: bool = False
    """A newer one was made with the same settings from no less."""
    older_than_days: int | None = None
    """Neither made nor used since."""
    sessions: tuple[str, ...] = ()
    """Only of these; of all where none is named."""

    @property
    def says_anything(self) -> bool:
        """Whether any rule is given."""
        return self.unused or self.superseded or self.older_than_days is not None


def prune(versions: Sequence[Version], wanted: Pruning, now: datetime) -> Removals:
    """Return what goes of a session's versions."""
    if wanted.sessions and not any(one.session_id in wanted.sessions for one in versions):
        return Removals()
    found = [(version, _reasons(version, versions, wanted, now)) for version in versions]
    return Removals.of(Decision(version, "; ".join(why)) for version, why in found if why)


def _reasons(version: Version, versions: Sequence[Version], wanted: Pruning, now: datetime) -> list[str]:
    """Return why a version goes; nothing when any of what is said does not hold."""
    reasons: list[str | None] = []
    if wanted.unused:
        reasons.append("never used" if version.uses == 0 and version.last_used is None else None)
    if wanted.superseded:
        newer = successor(version, versions)
        reasons.append(f"superseded by {newer.version_id}" if newer else None)
    if wanted.older_than_days is not None:
        is_old = version.touched_at <= now - timedelta(days=wanted.older_than_days)
        reasons.append(f"not touched for {wanted.older_than_days} days" if is_old else None)
    return [] if None in reasons else [one for one in reasons if one]


def successor(version: Version, versions: Iterable[Version]) -> Version | None:
    """Return the newest version that was made later with the same settings and covers no less."""
    later = [
        one
        for one in versions
        if one.number > version.number and one.settings == version.settings and one.covers >= version.covers
    ]
    return max(later, key=lambda one: one.number, default=None)


def warnings_of(removals: Removals, versions: Sequence[Version]) -> list[str]:
    """Return what a person should know before a session's versions go."""
    said = [f"{one.version.session_id} {one.version.version_id} stays: {one.why}" for one in removals.stay]
    if removals.go and len(removals.go) == len(versions):
        said.append(f"{versions[0].session_id} is left without any version")
    return said
