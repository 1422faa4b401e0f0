"""What becomes of a session as it grows old: a version, then a more aggressive one, then that one alone.

Ages are counted from when something was last said in a session. One version of a session is made at a time. What
was made or used within the last day stays, whatever the rules say. Source: seed 004, "Automatic Decay".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from shared.sessions.ageing.pruning import Decision, Removals, Version
from shared.sessions.ageing.rules import AutoDecay, DecayRules, Schedule
from shared.sessions.compressions.asking import TierPreset

RESTING = timedelta(days=1)
PERIODS = {
    Schedule.DAILY: timedelta(days=1),
    Schedule.WEEKLY: timedelta(days=7),
    Schedule.ON_ACCESS: timedelta(hours=1),
}
MOST_FAILURES = 3
"""After so many failures over the same bytes a version is not asked for again."""


@dataclass(frozen=True)
class AgeingSession:
    """A session, as far as its age goes."""

    session_id: str
    size_bytes: int
    last_said: datetime | None
    versions: tuple[Version, ...] = ()
    is_being_compressed: bool = False
    failures: int = 0
    """How often a version of these very bytes failed since the last that did not."""

    def days(self, now: datetime) -> float | None:
        """Return how old it is; None where it has no time."""
        return None if self.last_said is None else (now - self.last_said) / timedelta(days=1)

    @property
    def fresh(self) -> list[Version]:
        """Its versions that cover all there is."""
        return [one for one in self.versions if one.covers >= self.size_bytes]

    def made_with(self, preset: TierPreset) -> Version | None:
        """Return the newest version of all there is that was made with a preset."""
        made = [one for one in self.fresh if one.settings.get("tierPreset") == preset]
        return max(made, key=lambda one: one.number, default=None)


@dataclass(frozen=True)
class Wanted:
    """A version that is to be made."""

    session_id: str
    preset: TierPreset
    why: str


@dataclass(frozen=True)
class Decayed:
    """What is to be done about a session."""

    make: Wanted | None = None
    removals: Removals = field(default_factory=Removals)


def decay(session: AgeingSession, config: AutoDecay, now: datetime) -> Decayed:
    """Return what the rules want of a session at its age."""
    days = session.days(now)
    if not config.enabled or days is None:
        return Decayed()
    return Decayed(_wanted(session, config.rules, days), _intermediate(session, config.rules, days, now))


def is_due(schedule: Schedule, aged_at: datetime | None, accessed_at: datetime, now: datetime) -> bool:
    """Whether it is time to look at a project again."""
    if aged_at is None:
        return True
    if schedule is Schedule.ON_ACCESS and accessed_at <= aged_at:
        return False
    return now >= aged_at + PERIODS[schedule]


def _wanted(session: AgeingSession, rules: DecayRules, days: float) -> Wanted | None:
    if session.is_being_compressed or session.failures >= MOST_FAILURES:
        return None
    if days >= rules.aggressive_after_days:
        if session.made_with(rules.aggressive_preset) is None:
            why = f"{rules.aggressive_after_days} days old"
            return Wanted(session.session_id, rules.aggressive_preset, why)
    elif days >= rules.create_after_days and not session.fresh:
        return Wanted(session.session_id, rules.create_preset, f"{rules.create_after_days} days old, no version")
    return None


def _intermediate(session: AgeingSession, rules: DecayRules, days: float, now: datetime) -> Removals:
    last = session.made_with(rules.aggressive_preset)
    if days < rules.prune_intermediate_after_days or last is None:
        return Removals()
    others = [one for one in session.versions if one is not last]
    why = f"intermediate, {rules.prune_intermediate_after_days} days old"
    resting = [one for one in others if one.touched_at > now - RESTING]
    stay = [Decision(one, "made or used within the last day") for one in resting if one.held_by is None]
    return Removals.of((Decision(one, why) for one in others if one not in resting or one.held_by), stay)
