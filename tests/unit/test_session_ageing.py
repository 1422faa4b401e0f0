"""What becomes of versions with age: pruned by hand, kept by retention, made and removed by the rules of decay."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.base.choices import AgeingSchedule
from shared.sessions.models import RecordedSession, SessionVersion
from shared.sessions.retention import rules
from shared.sessions.retention.rules import (
    AgedVersion,
    Ageing,
    AgeingSession,
    AutoDecay,
    DecayRules,
    PruningRules,
    Retention,
    RetentionMode,
    VersionRemovals,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SIZE = 1000
RECORDED = RecordedSession(session_id="s1")
STANDARD, AGGRESSIVE = {"tierPreset": "standard"}, {"tierPreset": "aggressive"}


def version(number: int, days: float = 40, **more: Any) -> AgedVersion:
    held = {name: more.pop(name) for name in ("used_in", "is_source") if name in more}
    columns = {"created_at": NOW - timedelta(days=days), "source_bytes": SIZE, "settings": STANDARD, "uses": 0} | more
    return AgedVersion(SessionVersion(key=number, number=number, **columns), RECORDED, **held)


def numbers(removals: VersionRemovals) -> tuple[list[int], list[int]]:
    """Return which go and which stay though they are asked for."""
    return [one.version.row.number for one in removals.go], [one.version.row.number for one in removals.stay]


UNUSED, SUPERSEDED = PruningRules(unused=True), PruningRules(superseded=True)
VERSIONS = [
    version(1, 50, settings=AGGRESSIVE), version(2, 40, uses=1, last_used=NOW - timedelta(days=2)),
    version(3, 5, settings=AGGRESSIVE),
    version(4, 30, uses=3, last_used=NOW - timedelta(days=30), settings={"other": 1}),
]  # fmt: skip
HELD = [version(1, used_in=("start", "fix")), version(2, is_source=True), version(3)]
PRUNED = {
    "unused": (VERSIONS, UNUSED, [1, 3], []), "superseded": (VERSIONS, SUPERSEDED, [1], []),
    "older than": (VERSIONS, PruningRules(older_than_days=30), [1, 4], []),
    "all of what is said must hold": (VERSIONS, PruningRules(unused=True, older_than_days=30), [1], []),
    "of another session": (VERSIONS, PruningRules(unused=True, session_ids=["s2"]), [], []),
    "nothing is said": (VERSIONS, PruningRules(), [], []), "in use": (HELD, UNUSED, [3], [1, 2]),
    "no version of the original by one of a version": ([version(1), version(2, source_number=1)], SUPERSEDED, [], []),
    "a version of a version by one": ([version(2, source_number=1), version(3, source_number=1)], SUPERSEDED, [2], []),
    "superseded by one of less": ([version(1), version(2, source_bytes=SIZE - 1)], SUPERSEDED, [], []),
}  # fmt: skip


@pytest.mark.parametrize(("versions", "wanted", "go", "stay"), PRUNED.values(), ids=PRUNED)
def test_pruning_by_hand_takes_what_meets_all_that_is_said(
    versions: list[AgedVersion], wanted: PruningRules, go: list[int], stay: list[int]
) -> None:
    assert numbers(rules.prune_versions(versions, wanted, NOW)) == (go, stay)


def test_warnings_say_what_stays_where_it_is_used_and_which_session_is_left_without_versions() -> None:
    in_use = rules.warnings_of(rules.prune_versions(HELD, UNUSED, NOW), HELD)
    assert "start, fix" in in_use[0] and "being made" in in_use[1]
    alone = [version(1)]
    assert rules.warnings_of(rules.prune_versions(alone, UNUSED, NOW), alone) == ["s1 is left without any version"]


KEPT = [version(1, 60), version(2, 40), version(3, 40, last_used=NOW - timedelta(days=3)), version(4, 1)]
OLD_ONES = [version(number, 400) for number in (1, 2, 3)]


def newest(count: int) -> Retention:
    return Retention(keep=RetentionMode.NEWEST, count=count)


def of_days(days: int) -> Retention:
    return Retention(keep=RetentionMode.DAYS, days=days)


EXPIRED = {
    "all": (KEPT, Retention(), [], []), "the newest two": (KEPT, newest(2), [2, 1], []),
    "more than there are": (KEPT, newest(9), [], []), "of the last 30 days": (KEPT, of_days(30), [2, 1], []),
    "of the last 41 days": (KEPT, of_days(41), [1], []),
    "all too old, so that the newest stays alone": (OLD_ONES, of_days(30), [2, 1], [3]),
}  # fmt: skip


@pytest.mark.parametrize(("versions", "retention", "go", "stay"), EXPIRED.values(), ids=EXPIRED)
def test_retention_keeps_as_many_as_it_says(
    versions: list[AgedVersion], retention: Retention, go: list[int], stay: list[int]
) -> None:
    assert numbers(rules.expired_versions(versions, retention, NOW)) == (go, stay)


@given(
    st.lists(st.tuples(st.integers(0, 400), st.booleans()), min_size=1, max_size=8),
    st.integers(1, 8).map(newest) | st.integers(1, 400).map(of_days),
)
def test_retention_never_removes_what_is_in_use_nor_the_only_version(
    made: list[tuple[int, bool]], retention: Retention
) -> None:
    versions = [version(n + 1, days, used_in=("start",) if used else ()) for n, (days, used) in enumerate(made)]
    going = {one.version.row.number for one in rules.expired_versions(versions, retention, NOW).go}
    assert not any(one.row.number in going for one in versions if one.used_in) and len(going) < len(versions)


def session(days: float | None, *versions: AgedVersion, **more: Any) -> AgeingSession:
    last = None if days is None else NOW - timedelta(days=days)
    recorded = RecordedSession(size_bytes=SIZE, last_timestamp=last, registered_at=NOW, last_accessed=NOW)
    return AgeingSession(recorded, versions, **more)


OLD, HARD = version(1), version(2, settings=AGGRESSIVE)
DECAYING = {
    "younger than 7 days": (session(6.99), None, [], []), "7 days, nothing yet": (session(7), "standard", [], []),
    "7 days, a version": (session(7, OLD), None, [], []),
    "a version of less": (session(29.99, version(1, source_bytes=SIZE - 1)), "standard", [], []),
    "30 days, nothing yet: not both": (session(30), "aggressive", [], []),
    "30 days, a milder version": (session(30, OLD), "aggressive", [], []),
    "30 days, done": (session(30, OLD, HARD), None, [], []), "not yet 60": (session(59.99, OLD, HARD), None, [], []),
    "60 days: the milder one goes": (session(60, OLD, HARD), None, [1], []),
    "60 days, but no aggressive one to go on with": (session(60, OLD), "aggressive", [], []),
    "the last one stays": (session(60, version(3, settings=AGGRESSIVE), HARD), None, [2], []),
    "in use": (session(60, version(1, used_in=("start",)), HARD), None, [], [1]),
    "another is made from it": (session(60, version(1, is_source=True), HARD), None, [], [1]),
    "made within a day": (session(60, version(1, 0.5), HARD), None, [], [1]),
    "used within a day": (session(60, version(1, last_used=NOW - timedelta(hours=23)), HARD), None, [], [1]),
    "one at a time": (session(90, is_being_compressed=True), None, [], []),
    "failed too often": (session(90, failures=rules.MOST_FAILURES), None, [], []),
    "no time of its own": (session(None), None, [], []), "said in the future": (session(-3), None, [], []),
}  # fmt: skip


@pytest.mark.parametrize(("one", "make", "go", "stay"), DECAYING.values(), ids=DECAYING)
def test_a_session_decays_by_its_age(one: AgeingSession, make: str | None, go: list[int], stay: list[int]) -> None:
    made, removals = rules.decay_session(one, AutoDecay(enabled=True), NOW)
    assert (made.preset.value if made else None, *numbers(removals)) == (make, go, stay)
    nothing = rules.decay_session(one, AutoDecay(), NOW)
    assert nothing[0] is None and numbers(nothing[1]) == ([], [])


def test_the_rules_are_the_projects_own() -> None:
    own = DecayRules(create_after_days=1, create_preset="gentle", aggressive_after_days=2)  # type: ignore[arg-type]
    made = [rules.decay_session(session(days), AutoDecay(enabled=True, rules=own), NOW)[0] for days in (1.5, 2)]
    assert [one and one.preset.value for one in made] == ["gentle", "aggressive"]


HOUR = timedelta(hours=1)
ON_ACCESS, DAILY, WEEKLY = AgeingSchedule.ON_ACCESS, AgeingSchedule.DAILY, AgeingSchedule.WEEKLY


@pytest.mark.parametrize(
    ("schedule", "hours_since", "used_after", "due"),
    [
        (DAILY, None, None, True), (DAILY, 23.9, 1, False), (DAILY, 24, None, True), (WEEKLY, 24 * 6.9, 1, False),
        (WEEKLY, 24 * 7, None, True), (ON_ACCESS, 500, None, False), (ON_ACCESS, 0.9, 0.9, False),
        (ON_ACCESS, 1, 1, True), (ON_ACCESS, 72, 0, False), (ON_ACCESS, 72, 0.001, True),
    ],
)  # fmt: skip
def test_a_project_is_looked_at_when_its_schedule_says(
    schedule: AgeingSchedule, hours_since: float | None, used_after: float | None, due: bool
) -> None:
    aged = None if hours_since is None else NOW - hours_since * HOUR
    used = NOW - 9000 * HOUR if used_after is None or aged is None else aged + used_after * HOUR
    assert rules.is_due(schedule, aged, used, NOW) is due


def test_other_rules_have_another_digest_and_another_schedule_has_not() -> None:
    plain, kept = Ageing(), Ageing(retention=newest(1))
    weekly = Ageing(auto_decay=AutoDecay(schedule=WEEKLY))
    assert plain.digest == weekly.digest != kept.digest and (plain.is_active, kept.is_active) == (False, True)
