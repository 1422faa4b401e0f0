"""Tuning over each database: an app's own values lie above those of all apps, and those above the settings."""

from __future__ import annotations

import math

import pytest
from sqlalchemy import text
from structlog.testing import capture_logs

from shared.base.choices import RankingFormula
from shared.base.errors import Invalid
from shared.base.settings import Settings, Tuning
from shared.search.models import EVERYWHERE
from shared.search.tuning import (
    NAMES,
    TuningChange,
    TuningInForce,
    TuningSource,
    acceptable,
    change_tuning,
    in_force,
    overlay,
    tuning_of,
)
from tests.support.house import House

DEFAULTS = Tuning(token_budget=900)
APP = "notes"


def change(house: House, scope: str, **wanted: object) -> TuningChange:
    with house.database.write() as session:
        return change_tuning(session, DEFAULTS, scope, wanted, "admin", house.clock.now())


def tuning(house: House, app_id: str | None = APP) -> Tuning:
    with house.database.read() as session:
        return in_force(session, DEFAULTS, app_id)


def test_weights_are_judged_together_and_kept_together(house: House) -> None:
    with pytest.raises(Invalid, match="add up"):
        change(house, APP, alpha=0.2)
    change(house, APP, alpha=0.5, beta=0.4)
    change(house, EVERYWHERE, alpha=0.0, beta=0.0, gamma=1.0)
    assert (tuning(house).alpha, tuning(house).beta, tuning(house).gamma) == (0.5, 0.4, 0.1)
    change(house, APP, alpha=None)
    assert (tuning(house).alpha, tuning(house).beta, tuning(house).gamma) == (0.0, 0.0, 1.0)


@pytest.mark.parametrize(
    ("scope", "wanted", "why"),
    [
        pytest.param(APP, {"metrics_days": 10}, "all apps", id="how long figures are kept, for one app"),
        pytest.param(APP, {"colour": 1}, "cannot be tuned", id="unknown"),
        pytest.param(EVERYWHERE, {"formula": "best"}, "formula", id="no formula"),
    ],
)
def test_a_refused_change_changes_nothing(house: House, scope: str, wanted: dict[str, object], why: str) -> None:
    with pytest.raises(Invalid, match=why):
        change(house, scope, hybrid=False, **wanted)
    assert tuning(house) == DEFAULTS


@pytest.mark.parametrize(
    "damaged",
    [
        "[1]", '{"token_budget": "many"}', '{"alpha": 0.9, "beta": 0.9, "gamma": 0.9}', "null",
        '{"formula": ["signals"]}',
    ],
    ids=["a list", "a word for a number", "weights that do not add up", "null", "a list for a word"],
)  # fmt: skip
def test_a_damaged_row_counts_for_nothing_and_can_be_mended(house: House, damaged: str) -> None:
    change(house, EVERYWHERE, hybrid=False)
    change(house, APP, token_budget=300)
    with house.database.write() as session:
        values = {"damaged": damaged, "app": APP}
        session.execute(text('UPDATE tuning_overrides SET "values" = :damaged WHERE scope = :app'), values)
    with capture_logs() as logs:
        left = tuning(house)
    assert (left.hybrid, left.token_budget) == (False, 900)
    assert [(one["event"], one["scope"]) for one in logs] == [("tuning_ignored", APP)]
    mended = dict.fromkeys(NAMES) | {"token_budget": 400}
    mended.pop("metrics_days")
    change(house, APP, **mended)
    assert (tuning(house).token_budget, tuning(house).alpha) == (400, 0.6)


def test_a_row_that_is_no_json_at_all_counts_for_nothing(house: House) -> None:
    if not house.database.is_sqlite:
        pytest.skip("PostgreSQL keeps no such row")
    change(house, APP, hybrid=False)
    with house.database.write() as session:
        session.execute(text("""UPDATE tuning_overrides SET "values" = '{"hyb' """))
    assert tuning(house) == DEFAULTS
    change(house, APP, token_budget=300)
    assert (tuning(house).token_budget, tuning(house).hybrid) == (300, True)


def test_a_weight_that_is_given_has_effect_unless_the_formula_is_given_too(house: House) -> None:
    done = change(house, APP, alpha=0.0, beta=0.0, gamma=1.0)
    assert (done.in_force.tuning.formula, done.selects_weighted) == (RankingFormula.WEIGHTED, True)
    assert not change(house, APP, alpha=0.2, gamma=0.8).selects_weighted, "it was selected before"
    assert change(house, APP, formula="signals").in_force.tuning.formula is RankingFormula.SIGNALS
    own = change(house, APP, alpha=0.1, beta=0.1, gamma=0.8, formula="signals")
    assert (own.in_force.tuning.formula, own.selects_weighted) == (RankingFormula.SIGNALS, False)
    change(house, APP, **dict.fromkeys(NAMES[:-1]))
    assert tuning(house).formula is RankingFormula.SIGNALS
    change(house, EVERYWHERE, formula="weighted")
    assert not change(house, APP, alpha=0.5, beta=0.4).selects_weighted, "it is in force for all apps"


PLAIN = TuningInForce(Tuning(), dict.fromkeys(NAMES, TuningSource.SETTING))


def test_the_settings_are_what_is_in_force_where_nothing_was_changed() -> None:
    chosen = Settings(token_budget=700, formula="weighted", hybrid=False, _env_file=None)  # type: ignore[call-arg]
    assert tuning_of(chosen) == Tuning(hybrid=False, token_budget=700, formula="weighted")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "given", "kept"),
    [
        pytest.param("token_budget", 99, 100, id="budget below"),
        pytest.param("token_budget", 100, 100, id="least budget"),
        pytest.param("token_budget", 5001, 5000, id="budget above"),
        pytest.param("summary_frequency", -1, 0, id="frequency below"),
        pytest.param("summary_frequency", 0, 0, id="off"),
        pytest.param("summary_frequency", 101, 100, id="frequency above"),
        pytest.param("metrics_days", 0, 1, id="days below"),
        pytest.param("metrics_days", 366, 365, id="days above"),
        pytest.param("alpha", 1, 1.0, id="a whole weight"),
        pytest.param("hybrid", False, False, id="a flag"),
    ],
)
def test_numbers_are_brought_within_their_bounds(name: str, given: object, kept: object) -> None:
    assert acceptable({name: given}) == {name: kept}


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("token_budget", True), ("token_budget", "100"), ("token_budget", 100.5), ("hybrid", 1), ("hybrid", None),
        ("formula", "seed"), ("alpha", -0.1), ("alpha", 1.1), ("alpha", math.nan), ("alpha", True), ("alpha", "0.6"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(name: str, given: object) -> None:
    with pytest.raises(Invalid, match=name):
        acceptable({name: given})


@pytest.mark.parametrize(
    ("weights", "balanced"),
    [
        pytest.param((0.6, 0.3, 0.1), True, id="one"),
        pytest.param((0.6, 0.3, 0.11), True, id="one hundredth above"),
        pytest.param((0.6, 0.3, 0.09), True, id="one hundredth below"),
        pytest.param((0.6, 0.3, 0.111), False, id="more above"),
        pytest.param((0.6, 0.3, 0.089), False, id="more below"),
        pytest.param((0, 0, 1), True, id="identifiers alone"),
    ],
)
def test_weights_add_up_to_one_within_a_hundredth(weights: tuple[float, ...], balanced: bool) -> None:
    chosen = dict(zip(("alpha", "beta", "gamma"), weights, strict=True))
    if balanced:
        assert overlay(PLAIN, chosen, TuningSource.APP).tuning.gamma == weights[2]
    else:
        with pytest.raises(Invalid, match="add up"):
            overlay(PLAIN, chosen, TuningSource.APP)
