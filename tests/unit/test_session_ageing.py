"""What becomes of versions with age: pruned by hand, kept by retention, made and removed by the rules of decay."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from shared.base.choices import AgeingSchedule
from shared.sessions.models import RecordedSession, SessionVersion
from shared.sessions.retention.rules import (
    MOST_FAILURES,
    AgedVersion,
    Ageing,
    AgeingSession,
    AutoDecay,
    DecayRules,
    PruningRules,
    Retention,
    RetentionMode,
    VersionRemovals,
    decay_session,
    expired_versions,
    is_due,
    prune_versions,
    warnings_of,
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


@pytest.mark.parametrize(
    ("wanted", "go"),
    [
        pytest.param(PruningRules(unused=True), [1, 3], id="unused"),
        pytest.param(PruningRules(superseded=True), [1], id="superseded"),
        pytest.param(PruningRules(older_than_days=30), [1, 4], id="older than"),
        pytest.param(PruningRules(unused=True, older_than_days=30), [1], id="all of what is said must hold"),
        pytest.param(PruningRules(unused=True, session_ids=["s2"]), [], id="of another session"),
        pytest.param(PruningRules(), [], id="nothing is said"),
    ],
)
def test_pruning_by_hand_takes_what_meets_all_that_is_said(wanted: PruningRules, go: list[int]) -> None:
    versions = [
        version(1, 50, settings=AGGRESSIVE),
        version(2, 40, uses=1, last_used=NOW - timedelta(days=2)),
        version(3, 5, settings=AGGRESSIVE),
        version(4, 30, uses=3, last_used=NOW - timedelta(days=30), settings={"other": 1}),
    ]
    assert numbers(prune_versions(versions, wanted, NOW))[0] == go


@pytest.mark.parametrize(
    "wanted", [PruningRules(unused=True), PruningRules(superseded=True), PruningRules(older_than_days=0)], ids=str
)
def test_one_rule_is_enough_to_prune_by(wanted: PruningRules) -> None:
    assert wanted.says_anything and not PruningRules(session_ids=["s1"]).says_anything


def test_a_newer_version_of_less_supersedes_nothing() -> None:
    assert numbers(
        prune_versions([version(1), version(2, source_bytes=SIZE - 1)], PruningRules(superseded=True), NOW)
    ) == (
        [],
        [],
    )


def test_what_is_in_use_stays_and_it_is_said_where() -> None:
    held = [version(1, used_in=("start", "fix")), version(2, is_source=True), version(3)]
    found = prune_versions(held, PruningRules(unused=True), NOW)
    assert numbers(found) == ([3], [1, 2])
    assert "start, fix" in warnings_of(found, held)[0] and "being made" in warnings_of(found, held)[1]


def test_a_session_that_is_left_without_versions_is_named() -> None:
    one = [version(1)]
    assert warnings_of(prune_versions(one, PruningRules(unused=True), NOW), one) == ["s1 is left without any version"]


RETENTIONS = [
    pytest.param(Retention(), [], id="all"),
    pytest.param(Retention(keep=RetentionMode.NEWEST, count=2), [2, 1], id="the newest two"),
    pytest.param(Retention(keep=RetentionMode.NEWEST, count=9), [], id="more than there are"),
    pytest.param(Retention(keep=RetentionMode.DAYS, days=30), [2, 1], id="of the last 30 days"),
    pytest.param(Retention(keep=RetentionMode.DAYS, days=41), [1], id="of the last 41 days"),
]


@pytest.mark.parametrize(("retention", "go"), RETENTIONS)
def test_retention_keeps_as_many_as_it_says(retention: Retention, go: list[int]) -> None:
    versions = [version(1, 60), version(2, 40), version(3, 40, last_used=NOW - timedelta(days=3)), version(4, 1)]
    assert numbers(expired_versions(versions, retention, NOW)) == (go, [])


def test_of_versions_that_are_all_too_old_the_newest_stays_alone() -> None:
    versions = [version(number, 400) for number in (1, 2, 3)]
    found = expired_versions(versions, Retention(keep=RetentionMode.DAYS, days=30), NOW)
    assert (sorted(numbers(found)[0]), numbers(found)[1]) == ([1, 2], [3])


VERSIONS = st.lists(
    st.builds(
        lambda days, used: {"days": days, "used_in": ("start",) if used else ()},
        st.integers(0, 400),
        st.booleans(),
    ),
    min_size=1,
    max_size=8,
)


@given(
    VERSIONS,
    st.integers(1, 8).map(lambda count: Retention(keep=RetentionMode.NEWEST, count=count))
    | st.integers(1, 400).map(lambda days: Retention(keep=RetentionMode.DAYS, days=days)),
)
def test_retention_never_removes_what_is_in_use_nor_the_only_version(
    made: list[dict[str, Any]], retention: Retention
) -> None:
    versions = [version(number + 1, **more) for number, more in enumerate(made)]
    going = {one.version.row.number for one in expired_versions(versions, retention, NOW).go}
    assert not any(one.row.number in going for one in versions if one.used_in)
    assert len(going) < len(versions)


def session(days: float | None, *versions: AgedVersion, **more: Any) -> AgeingSession:
    last = None if days is None else NOW - timedelta(days=days)
    recorded = RecordedSession(size_bytes=SIZE, last_timestamp=last, registered_at=NOW, last_accessed=NOW)
    return AgeingSession(recorded, versions, **more)


def decided(one: AgeingSession, **rules: Any) -> tuple[str | None, list[int], list[int]]:
    made, removals = decay_session(one, AutoDecay(enabled=True, rules=DecayRules(**rules)), NOW)
    return made.preset.value if made else None, *numbers(removals)


OLD, HARD = version(1), version(2, settings=AGGRESSIVE)


@pytest.mark.parametrize(
    ("one", "make", "go", "stay"),
    [
        pytest.param(session(6.99), None, [], [], id="younger than 7 days"),
        pytest.param(session(7), "standard", [], [], id="7 days, nothing yet"),
        pytest.param(session(7, OLD), None, [], [], id="7 days, a version"),
        pytest.param(session(29.99, version(1, source_bytes=SIZE - 1)), "standard", [], [], id="a version of less"),
        pytest.param(session(30), "aggressive", [], [], id="30 days, nothing yet: not both"),
        pytest.param(session(30, OLD), "aggressive", [], [], id="30 days, a milder version"),
        pytest.param(session(30, OLD, HARD), None, [], [], id="30 days, done"),
        pytest.param(session(59.99, OLD, HARD), None, [], [], id="not yet 60 days"),
        pytest.param(session(60, OLD, HARD), None, [1], [], id="60 days: the milder one goes"),
        pytest.param(session(60, OLD), "aggressive", [], [], id="60 days, but no aggressive one to go on with"),
        pytest.param(session(60, version(3, settings=AGGRESSIVE), HARD), None, [2], [], id="the last one stays"),
        pytest.param(session(60, version(1, used_in=("start",)), HARD), None, [], [1], id="in use"),
        pytest.param(session(60, version(1, is_source=True), HARD), None, [], [1], id="another is made from it"),
        pytest.param(session(60, version(1, 0.5), HARD), None, [], [1], id="made within a day"),
        pytest.param(
            session(60, version(1, last_used=NOW - timedelta(hours=23)), HARD), None, [], [1], id="used within a day"
        ),
        pytest.param(session(90, is_being_compressed=True), None, [], [], id="one at a time"),
        pytest.param(session(90, failures=MOST_FAILURES), None, [], [], id="failed too often"),
        pytest.param(session(None), None, [], [], id="no time of its own"),
        pytest.param(session(-3), None, [], [], id="said in the future"),
    ],
)
def test_a_session_decays_by_its_age(one: AgeingSession, make: str | None, go: list[int], stay: list[int]) -> None:
    assert decided(one) == (make, go, stay)


def test_the_rules_are_the_projects_own() -> None:
    rules = {"create_after_days": 1, "create_preset": "gentle", "aggressive_after_days": 2}
    assert decided(session(1.5), **rules)[0] == "gentle"
    assert decided(session(2), **rules)[0] == "aggressive"


def test_nothing_decays_where_it_is_not_enabled() -> None:
    assert decay_session(session(400, OLD, HARD), AutoDecay(), NOW) == decay_session(
        session(None), AutoDecay(enabled=True), NOW
    )


@pytest.mark.parametrize(
    ("schedule", "hours_since", "used_since", "due"),
    [
        (AgeingSchedule.DAILY, None, False, True),
        (AgeingSchedule.DAILY, 23.9, True, False),
        (AgeingSchedule.DAILY, 24, False, True),
        (AgeingSchedule.WEEKLY, 24 * 6.9, True, False),
        (AgeingSchedule.WEEKLY, 24 * 7, False, True),
        (AgeingSchedule.ON_ACCESS, 500, False, False),
        (AgeingSchedule.ON_ACCESS, 0.9, True, False),
        (AgeingSchedule.ON_ACCESS, 1, True, True),
    ],
)
def test_a_project_is_looked_at_when_its_schedule_says(
    schedule: AgeingSchedule, hours_since: float | None, used_since: bool, due: bool
) -> None:
    aged = None if hours_since is None else NOW - timedelta(hours=hours_since)
    accessed = NOW if used_since else NOW - timedelta(days=365)
    assert is_due(schedule, aged, accessed, NOW) is due


def test_a_project_used_no_later_than_it_was_aged_is_not_looked_at_on_access() -> None:
    aged = NOW - timedelta(days=3)
    assert not is_due(AgeingSchedule.ON_ACCESS, aged, aged, NOW)
    assert is_due(AgeingSchedule.ON_ACCESS, aged, aged + timedelta(seconds=1), NOW)


@pytest.mark.parametrize(
    "wrong",
    [
        {"retention": {"keep": "newest"}},
        {"retention": {"keep": "all", "count": 3}},
        {"retention": {"keep": "days", "count": 3}},
        {"autoDecay": {"rules": {"createAfterDays": 31}}},
        {"autoDecay": {"rules": {"createPreset": "custom"}}},
        {"autoDecay": {"schedule": "hourly"}},
    ],
    ids=str,
)
def test_rules_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Ageing.model_validate(wrong)


def test_other_rules_have_another_digest_and_another_schedule_has_not() -> None:
    plain = Ageing()
    weekly = Ageing(auto_decay=AutoDecay(schedule=AgeingSchedule.WEEKLY))
    newest = Ageing(retention=Retention(keep=RetentionMode.NEWEST, count=1))
    assert plain.digest == weekly.digest != newest.digest
    assert (plain.is_active, newest.is_active) == (False, True)
