"""Ageing over each database: shown before it is done, never what is in use, and each removal with who and why."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from loop.steps.sessions import AgeSessions
from shared.apps.queries import lock_app
from shared.base.choices import AgeingSchedule
from shared.base.errors import Conflict, NotFound
from shared.contracts.jobs import JobKind
from shared.sessions.models import BuildState, Project, SessionChange, SessionVersion
from shared.sessions.queries import changes_of, get_project, last_run, lock_project
from shared.sessions.registry.configuration import change_configuration
from shared.sessions.retention.rules import AutoDecay, DecayRules, PruningRules, Retention, RetentionMode
from shared.sessions.retention.runs import AgeingResult, by_name, by_rules, change_rules, remove_chosen, run_ageing
from tests.support.composing import Shop, open_shop
from tests.support.house import House
from tests.support.settings import default_settings

AGGRESSIVE = {"tierPreset": "aggressive"}


@pytest.fixture
def shop(house: House, tmp_path: Path) -> Iterator[Shop]:
    with open_shop(house, tmp_path) as shop:
        yield shop


def said(shop: Shop, days: float) -> datetime:
    """Return a time so many days ago."""
    return shop.house.clock.now() - timedelta(days=days)


def rules(shop: Shop, **given: Any) -> None:
    with shop.house.database.write() as session:
        lock_app(session, shop.app_id)
        project = lock_project(session, shop.app_id, shop.project_id)
        change_rules(session, project, shop.cause(), {"retention": None, "auto_decay": None} | given)


def decaying(shop: Shop, schedule: AgeingSchedule = AgeingSchedule.DAILY, **given: Any) -> None:
    rules(shop, auto_decay=AutoDecay(enabled=True, schedule=schedule, rules=DecayRules(**given)))


class Tick:
    """The loop's step, as it stays from tick to tick."""

    def __init__(self, shop: Shop) -> None:
        house = shop.house
        self.shop = shop
        self.step = AgeSessions(house.database, house.clock, shop.store, house.metrics, default_settings())

    def after(self, days: float = 0.0) -> dict[str, Any]:
        """Let time pass and the step run; return what the last run of the project said."""
        self.shop.house.clock.advance(days * 86_400)
        assert not self.step.run()
        with self.shop.house.database.read() as session:
            last = last_run(session, get_project(session, self.shop.app_id, self.shop.project_id))
            return {} if last is None else last.after


def standing(shop: Shop) -> list[int]:
    """Return the numbers of all versions that are whole."""
    with shop.house.database.read() as session:
        return sorted(one.number for one in session.query(SessionVersion).filter_by(state=BuildState.READY))


def changes(shop: Shop, kind: str = "removed") -> list[SessionChange]:
    with shop.house.database.read() as session:
        found = changes_of(session, shop.app_id, shop.project_id, 100)
        return [one for one in reversed(found) if one.kind == kind]


def version_files(shop: Shop) -> set[str]:
    folder = shop.store.project_folder(shop.app_id, shop.project_id) / "summaries"
    return {one.name[:4] for one in folder.rglob("v*_made.*")}


def test_the_first_run_after_enabling_only_shows_what_the_next_one_does(shop: Shop) -> None:
    shop.register("s1", 30, at=said(shop, 8))
    decaying(shop)
    tick = Tick(shop)
    shown = tick.after()
    assert shown["dryRun"] is True
    assert shown["plan"]["compress"] == [{"sessionId": "s1", "preset": "standard", "reason": "7 days old, no version"}]
    assert shop.house.jobs() == []
    tick.after(0.9)
    assert shop.house.jobs() == []
    done = tick.after(0.2)
    assert done["dryRun"] is False and done["plan"] == shown["plan"]
    [job] = shop.house.jobs(kind=JobKind.COMPRESS_SESSION)
    assert job.state == "pending" and job.priority == 9
    with shop.house.database.read() as session:
        [version] = session.query(SessionVersion).all()
        assert (version.asked_by, version.reason) == ("rule:auto_decay", "7 days old, no version")
        assert version.settings["tierPreset"] == "standard"


def test_one_version_of_a_session_is_made_at_a_time(shop: Shop) -> None:
    shop.register("s1", 30, at=said(shop, 8))
    decaying(shop)
    tick = Tick(shop)
    for _ in range(4):
        tick.after(1.1)
    assert len(shop.house.jobs(kind=JobKind.COMPRESS_SESSION)) == 1


def test_a_session_is_compressed_further_with_age_and_then_kept_as_that_alone(shop: Shop) -> None:
    shop.register("s1", 30, at=said(shop, 28))
    shop.version("s1", 900)
    decaying(shop)
    tick = Tick(shop)
    assert tick.after()["plan"]["counts"] == {"compress": 0, "remove": 0, "keep": 0}
    assert tick.after(3)["plan"]["compress"][0]["preset"] == "aggressive"
    shop.finish("s1", tokens=300)
    shop.house.clock.advance(86_400)
    assert standing(shop) == [1, 2] and version_files(shop) == {"v001", "v002"}
    done = tick.after(29)
    assert [(one["versionId"], one["for"]) for one in done["plan"]["remove"]] == [("v001", "decay")]
    assert standing(shop) == [2] and version_files(shop) == {"v002"}
    [removal] = changes(shop)
    assert (removal.actor, removal.subject, removal.session_id) == ("rule:auto_decay", "v001", "s1")
    assert "60 days old" in removal.reason and removal.before["outputTokens"] > 0
    assert shop.house.counted("versions_removed_total", reason="decay") == 1


def test_what_a_composition_uses_is_never_removed_by_a_rule(shop: Shop) -> None:
    shop.register("s1", 40, at=said(shop, 100))
    shop.version("s1", 900)
    shop.version("s1", 300, settings=AGGRESSIVE)
    shop.ask("start", "s1", budget=1100)
    shop.house.clock.advance(3 * 86_400)
    decaying(shop)
    rules(shop, auto_decay=AutoDecay(enabled=True), retention=Retention(keep=RetentionMode.NEWEST, count=1))
    tick = Tick(shop)
    plan = tick.after()["plan"]
    assert plan["remove"] == [] and [one["usedIn"] for one in plan["keep"]] == [["start"], ["start"]]
    for _ in range(3):
        tick.after(2)
    assert standing(shop) == [1, 2]


def test_retention_keeps_the_newest_and_never_the_last_of_none(shop: Shop) -> None:
    shop.register("s1", 30)
    shop.register("s2", 30)
    for _ in range(3):
        shop.version("s1", 300)
    shop.version("s2", 300)
    rules(shop, retention=Retention(keep=RetentionMode.DAYS, days=5))
    tick = Tick(shop)
    tick.after(10)
    assert len(standing(shop)) == 4
    tick.after(2)
    assert standing(shop) == [1, 3]
    assert {one.actor for one in changes(shop)} == {"rule:retention"}
    assert shop.house.counted("versions_removed_total", reason="retention") == 2


def test_what_an_app_keeps_holds_for_projects_that_do_not_say(shop: Shop) -> None:
    shop.register("s1", 30)
    for _ in range(3):
        shop.version("s1", 300)
    tick = Tick(shop)
    assert tick.after() == {}, "nothing is asked for yet"
    with shop.house.database.write() as session:
        app = lock_app(session, shop.app_id)
        wanted = {"storage": {"compressionRetention": 2}}
        change_configuration(session, app, wanted, default_settings(), shop.cause())
    assert tick.after()["dryRun"] is True
    tick.after(1)
    assert standing(shop) == [2, 3]
    rules(shop, retention=Retention())
    shop.version("s1", 300)
    tick.after(2)
    tick.after(2)
    assert standing(shop) == [2, 3, 4], "the project says that all stay"


def test_changed_rules_are_shown_again_before_they_are_followed(shop: Shop) -> None:
    shop.register("s1", 30)
    for _ in range(3):
        shop.version("s1", 300)
    rules(shop, retention=Retention(keep=RetentionMode.NEWEST, count=2))
    tick = Tick(shop)
    tick.after()
    tick.after(1.1)
    assert standing(shop) == [2, 3]
    rules(shop, retention=Retention(keep=RetentionMode.NEWEST, count=1))
    assert tick.after(0.01)["dryRun"] is True and standing(shop) == [2, 3]
    tick.after(1.1)
    assert standing(shop) == [3]


def test_rules_that_were_switched_off_are_not_followed(shop: Shop) -> None:
    shop.register("s1", 30, at=said(shop, 8))
    decaying(shop)
    tick = Tick(shop)
    tick.after()
    rules(shop)
    for _ in range(3):
        tick.after(2)
    assert shop.house.jobs() == []


def test_on_access_waits_until_the_project_is_used(shop: Shop) -> None:
    shop.register("s1", 30, at=said(shop, 8))
    decaying(shop, AgeingSchedule.ON_ACCESS)
    tick = Tick(shop)
    tick.after()
    tick.after(30)
    assert shop.house.jobs() == []
    with shop.house.database.write() as session:
        lock_project(session, shop.app_id, shop.project_id).last_accessed = shop.house.clock.now()
    shop.house.clock.advance(7200)
    tick.after()
    assert len(shop.house.jobs()) == 1


def test_a_version_that_fails_again_and_again_is_not_asked_for_for_ever(shop: Shop) -> None:
    shop.register("s1", 30, at=said(shop, 8))
    decaying(shop)
    tick = Tick(shop)
    tick.after()
    for asked in (1, 2, 3, 3, 3):
        tick.after(1.1)
        assert len(shop.house.jobs(kind=JobKind.COMPRESS_SESSION)) == asked
        if asked == len(shop.house.jobs()) and working(shop):
            shop.finish("s1", state=BuildState.FAILED)


def working(shop: Shop) -> bool:
    with shop.house.database.read() as session:
        return session.query(SessionVersion).filter_by(state=BuildState.WORKING).count() > 0


def test_rules_cannot_be_carried_out_by_hand_before_they_were_shown(shop: Shop) -> None:
    shop.register("s1", 30)
    for _ in range(2):
        shop.version("s1", 300)
    rules(shop, retention=Retention(keep=RetentionMode.NEWEST, count=1))
    with pytest.raises(Conflict) as refused:
        run(shop, is_dry=False)
    assert refused.value.code == "dry_run_first" and standing(shop) == [1, 2]
    assert run(shop, is_dry=True).plan.shown()["counts"]["remove"] == 1 and standing(shop) == [1, 2]
    run(shop, is_dry=False)
    assert standing(shop) == [2]


def run(shop: Shop, is_dry: bool) -> AgeingResult:
    with shop.house.database.write() as session:
        app = lock_app(session, shop.app_id)
        project = lock_project(session, shop.app_id, shop.project_id)
        return run_ageing(session, app, project, shop.cause(), default_settings(), is_dry)


def test_pruning_by_hand_takes_what_is_unused_and_says_what_is_in_use(shop: Shop) -> None:
    shop.register("s1", 40)
    shop.version("s1", 900)
    shop.version("s1", 300)
    shop.ask("start", "s1", budget=1100)
    with shop.house.database.write() as session:
        lock_app(session, shop.app_id)
        project = lock_project(session, shop.app_id, shop.project_id)
        choice = by_rules(session, project, PruningRules(unused=True), shop.house.clock.now())
        done = remove_chosen(session, project, choice, shop.cause("not needed"))
    done.settle(shop.house.database, shop.store, shop.house.metrics, shop.app_id, shop.project_id)
    assert standing(shop) == [1] and version_files(shop) == {"v001"}
    assert [one.why for one in choice.stay] == ["in use by start"] == [one.split(": ")[1] for one in choice.warnings]
    [removal] = changes(shop)
    assert (removal.actor, removal.reason) == ("admin", "never used")


@pytest.mark.parametrize("named", [("s1", "v009"), ("s9", "v001")])
def test_what_is_named_must_exist(shop: Shop, named: tuple[str, str]) -> None:
    shop.register("s1", 30)
    shop.version("s1", 300)
    with shop.house.database.read() as session, pytest.raises(NotFound):
        by_name(session, get_project(session, shop.app_id, shop.project_id), [named])


def test_a_project_of_an_app_that_was_uninstalled_rests(shop: Shop) -> None:
    shop.register("s1", 30, at=said(shop, 8))
    decaying(shop)
    with shop.house.database.write() as session:
        lock_app(session, shop.app_id).uninstalled_at = shop.house.clock.now()
    tick = Tick(shop)
    assert tick.after() == {}
    with shop.house.database.read() as session:
        assert session.query(Project).one().tended_at is None
