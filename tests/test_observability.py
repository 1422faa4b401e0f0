"""Prometheus, Grafana and the runbook agree with each other, with the metrics there are, and with the compose file.

``promtool`` checks rules, their tests and the dashboard's queries where it is installed (Debian: ``prometheus``).
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry

from loop.gauges import CATALOGUE
from loop.totals import GAUGES_OF_APPS
from ops.grafana.dashboard import APP_ROW, ROWS
from shared.base.settings import Settings, environment_name
from shared.jobs.models import Deferral
from shared.telemetry.metrics import Metrics

ROOT = Path(__file__).resolve().parents[1]
PROMETHEUS = ROOT / "ops" / "prometheus"
GRAFANA = ROOT / "ops" / "grafana"
RUNBOOK = (ROOT / "ops" / "runbook.md").read_text()
CONFIG: dict[str, Any] = yaml.safe_load((PROMETHEUS / "prometheus.yml").read_text())
GROUPS: list[dict[str, Any]] = yaml.safe_load((PROMETHEUS / "alerts.yml").read_text())["groups"]
RULES: list[dict[str, Any]] = [rule for group in GROUPS for rule in group["rules"]]
ALERTS = {rule["alert"]: rule for rule in RULES if "alert" in rule}
RECORDED = {rule["record"] for rule in RULES if "record" in rule}
TESTS_OF_RULES = [PROMETHEUS / "alerts_test.yml", PROMETHEUS / "alerts_days_test.yml"]
RULE_TESTS: list[dict[str, Any]] = [
    test for path in TESTS_OF_RULES for test in yaml.safe_load(path.read_text())["tests"]
]
BOARD: dict[str, Any] = json.loads((GRAFANA / "dashboards" / "afterthought.json").read_text())
BOARD_ROWS: list[dict[str, Any]] = [panel for panel in BOARD["panels"] if panel["type"] == "row"]
PANELS: list[dict[str, Any]] = [
    shown
    for panel in BOARD["panels"]
    for shown in (panel["panels"] if panel["type"] == "row" else [panel])
]  # fmt: skip
QUERIES = [target["expr"] for panel in PANELS for target in panel["targets"]]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
_METRIC = re.compile(r"(?<![\w:/.])afterthought[_:][a-z0-9_:]+")
_SECTION = re.compile(r"^## (Afterthought\w+)$", re.MULTILINE)
_PARTS = ("**Means:**", "**Users notice:**", "**Look:**", "**Mend:**", "**Worry:**")


def _known_metrics() -> set[str]:
    """Return every name that can be queried, as Prometheus stores it."""
    registry = CollectorRegistry()
    Metrics(registry)
    names = {f"afterthought_{gauge.name}" for gauge in CATALOGUE} | RECORDED
    for family in registry.collect():
        endings = ("_bucket", "_sum", "_count") if family.type == "histogram" else ("_total",)
        names |= {family.name + ending for ending in endings}
    return names


def _promtool(*arguments: str) -> subprocess.CompletedProcess[str]:
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not installed (Debian: apt-get install prometheus)")
    return subprocess.run(["promtool", *arguments], capture_output=True, text=True, timeout=300)


def test_promtool_accepts_the_rules() -> None:
    result = _promtool("check", "rules", str(PROMETHEUS / "alerts.yml"))
    assert result.returncode == 0, result.stdout + result.stderr


def test_every_alert_fires_when_it_should_and_is_silent_when_it_should_be() -> None:
    result = _promtool("test", "rules", *map(str, TESTS_OF_RULES))
    assert result.returncode == 0, result.stdout + result.stderr


def test_promtool_accepts_the_configuration_as_compose_mounts_it(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t0k")
    text = (PROMETHEUS / "prometheus.yml").read_text()
    assert "/run/secrets/metrics_token" in text
    (tmp_path / "prometheus.yml").write_text(text.replace("/run/secrets/metrics_token", str(tmp_path / "token")))
    shutil.copy(PROMETHEUS / "alerts.yml", tmp_path)
    result = _promtool("check", "config", str(tmp_path / "prometheus.yml"))
    assert result.returncode == 0, result.stdout + result.stderr


def test_promtool_parses_every_query_of_the_dashboard(tmp_path: Path) -> None:
    rules = [{"record": f"panel:query{number}", "expr": expr} for number, expr in enumerate(QUERIES)]
    path = tmp_path / "queries.yml"
    path.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    result = _promtool("check", "rules", str(path))
    assert result.returncode == 0, result.stdout + result.stderr
    assert f"{len(QUERIES)} rules found" in result.stdout


@pytest.mark.parametrize("name", ALERTS)
def test_every_alert_says_what_is_wrong_how_bad_it_is_and_where_to_read_on(name: str) -> None:
    alert = ALERTS[name]
    assert alert["labels"]["severity"] in {"critical", "warning", "info"}
    assert alert["annotations"].keys() == {"summary", "description", "runbook_url"}
    assert alert["annotations"]["runbook_url"] == f"ops/runbook.md#{name.lower()}"


@pytest.mark.parametrize("name", ALERTS)
def test_every_alert_is_seen_firing_in_a_test(name: str) -> None:
    fired = {label for test in RULE_TESTS for label in _expected(test)}
    assert f'{{alertname="{name}"}}' in fired


def _expected(test: dict[str, Any]) -> Iterator[str]:
    for check in test["promql_expr_test"]:
        for sample in check["exp_samples"]:
            yield sample["labels"]


def test_scenarios_of_silence_begin_with_a_fresh_installation() -> None:
    silent = [test["name"] for test in RULE_TESTS if not list(_expected(test))]
    assert "fresh installation" in silent[0]
    assert len(silent) >= 3


def test_alerts_and_sections_of_the_runbook_are_the_same() -> None:
    assert sorted(_SECTION.findall(RUNBOOK)) == sorted(ALERTS)


@pytest.mark.parametrize("name", ALERTS)
def test_every_section_of_the_runbook_answers_all_five_questions(name: str) -> None:
    section = RUNBOOK.split(f"\n## {name}\n")[1].split("\n## ")[0]
    places = [section.find(part) for part in _PARTS]
    assert -1 not in places
    assert places == sorted(places)


def test_every_setting_the_runbook_names_exists() -> None:
    settings = {environment_name(name) for name in Settings.model_fields}
    assert set(re.findall(r"AFTERTHOUGHT_[A-Z_]+", RUNBOOK)) - settings == set()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("\n".join(rule["expr"] for rule in RULES), id="rules"),
        pytest.param("\n".join(path.read_text() for path in TESTS_OF_RULES), id="tests of rules"),
        pytest.param("\n".join(QUERIES), id="dashboard"),
        pytest.param(RUNBOOK, id="runbook"),
    ],
)
def test_every_metric_that_is_named_exists(text: str) -> None:
    named = {name.rstrip(":_") for name in _METRIC.findall(text)} - {"afterthought"}
    assert named - _known_metrics() - {"afterthought_figures"} == set()


def test_every_label_value_the_rules_select_exists() -> None:
    registry = CollectorRegistry()
    Metrics(registry)
    known = {value for family in registry.collect() for sample in family.samples for value in sample.labels.values()}
    selected = {
        value
        for rule in RULES
        for _, values in re.findall(r'(reason|outcome|step|kind|injected|focus)(?:=~?|!~?)"([^"]+)"', rule["expr"])
        for value in values.split("|")
    }
    assert selected - known == set()
    causes = {cause for rule in RULES for cause in re.findall(r'cause="([^"]+)"', rule["expr"])}
    assert causes == {cause.value for cause in Deferral}


def test_every_metric_but_those_of_bookkeeping_is_on_the_dashboard() -> None:
    text = "\n".join([*QUERIES, *(rule["expr"] for rule in RULES if "record" in rule)])
    shown = set(_METRIC.findall(text))
    families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in _known_metrics() - RECORDED}
    missing = {name for name in families if not any(one.startswith(name) for one in shown)}
    assert missing == set()


def test_the_dashboard_has_the_rows_of_the_runbook_and_every_panel_explains_itself() -> None:
    assert [row["title"] for row in BOARD_ROWS] == [*ROWS, APP_ROW]
    for panel in PANELS:
        assert panel["title"]
        assert panel["description"].endswith(".")
        assert panel["fieldConfig"]["defaults"]["unit"]
        assert panel["targets"]
        assert panel["datasource"]["uid"] == "${datasource}"
    titles = [panel["title"] for panel in PANELS]
    assert len(set(titles)) == len(titles)


def test_the_dashboard_lets_one_choose_the_data_source_that_is_provisioned() -> None:
    variable = BOARD["templating"]["list"][0]
    (source,) = yaml.safe_load((GRAFANA / "provisioning/datasources/prometheus.yml").read_text())["datasources"]
    assert (variable["name"], variable["type"], variable["query"]) == ("datasource", "datasource", "prometheus")
    assert variable["current"]["value"] == source["uid"]


def test_the_first_row_is_open_and_the_others_are_folded_with_their_panels_in_them() -> None:
    first, *folded = BOARD_ROWS
    assert (first["collapsed"], first["panels"]) == (False, [])
    at = BOARD["panels"].index(folded[0])
    assert all(panel["type"] != "row" for panel in BOARD["panels"][1:at]), "what stands below an open row is its own"
    assert BOARD["panels"][at:] == folded
    assert all(row["collapsed"] and row["panels"] for row in folded)


def test_the_last_row_is_repeated_for_each_app_that_is_chosen() -> None:
    row, variable = BOARD_ROWS[-1], BOARD["templating"]["list"][1]
    assert (row["repeat"], variable["name"]) == ("app", "app")
    assert "$app" in row["title"]
    assert (variable["type"], variable["multi"], variable["includeAll"]) == ("query", True, True)
    assert variable["datasource"]["uid"] == "${datasource}"
    assert variable["definition"] == variable["query"]["query"] == "label_values(afterthought_app_memories, app)"
    for target in (target for panel in row["panels"] for target in panel["targets"]):
        assert re.search(r'afterthought_app_\w+\{app="\$app"\}', target["expr"]), "the panel is of one app alone"
    shown = {name for panel in row["panels"] for target in panel["targets"] for name in _METRIC.findall(target["expr"])}
    assert shown == {f"afterthought_{gauge.name}" for gauge in GAUGES_OF_APPS}


def test_metrics_that_name_apps_are_in_the_row_of_apps_alone() -> None:
    elsewhere = [panel for row in BOARD_ROWS[:-1] for panel in row["panels"]] + BOARD["panels"]
    text = json.dumps([panel.get("targets") for panel in elsewhere])
    assert "afterthought_app_" not in text


def test_no_two_panels_overlap_where_a_row_is_open() -> None:
    for panels in (BOARD["panels"], *(row["panels"] for row in BOARD_ROWS)):
        taken: set[tuple[int, int]] = set()
        for panel in panels:
            at = panel["gridPos"]
            cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
            assert at["x"] + at["w"] <= 24
            assert not cells & taken, panel["title"]
            taken |= cells
    for row in BOARD_ROWS:
        assert min((panel["gridPos"]["y"] for panel in row["panels"]), default=row["gridPos"]["y"] + 1) == (
            row["gridPos"]["y"] + 1
        ), "Grafana unfolds a row by where its first panel stands below it"
    numbers = [panel["id"] for panel in [*BOARD_ROWS, *PANELS]]
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize(
    ("panel", "alert"),
    [
        ("Attempts that are tried again", "AfterthoughtRetriesHigh"),
        ("From claim to end", "AfterthoughtJobsSlow"),
        ("Age of the oldest waiting job", "AfterthoughtQueueOld"),
        ("Fallbacks", "AfterthoughtCompactionsFallBack"),
        ("Calls without a usable answer", "AfterthoughtModelFailing"),
        ("Failing requests", "AfterthoughtHttpErrors"),
        ("Duration by route", "AfterthoughtHttpSlow"),
        ("Failures of the tick", "AfterthoughtTickFailing"),
        ("Age of the last tick", "AfterthoughtTickLate"),
        ("Longest deferral", "AfterthoughtDeferredForEnergy"),
        ("Turns without an answer", "AfterthoughtThinkingFailing"),
        ("Age of the oldest unanswered", "AfterthoughtUnansweredOld"),
        ("Age of the oldest unheard event", "AfterthoughtEventsUnplaced"),
        ("Extraction lag", "AfterthoughtFactsLagging"),
    ],
)
def test_a_panel_turns_red_where_its_alert_fires(panel: str, alert: str) -> None:
    (shown,) = [one for one in PANELS if one["title"] == panel]
    red = [step["value"] for step in shown["fieldConfig"]["defaults"]["thresholds"]["steps"] if step["color"] == "red"]
    limit = re.search(r"> (\d+(?:\.\d+)?)", ALERTS[alert]["expr"])
    assert limit
    assert red == [float(limit[1])]


def test_prometheus_asks_where_compose_says_the_parts_listen() -> None:
    loop, worker = CONFIG["scrape_configs"]
    services = COMPOSE["services"]
    port = services["loop"]["environment"]["AFTERTHOUGHT_PORT"]
    assert loop["static_configs"] == [{"targets": [f"loop:{port}"]}]
    (name,) = worker["dns_sd_configs"]
    assert name["names"] == ["worker"]
    assert str(name["port"]) == services["worker"]["environment"]["AFTERTHOUGHT_WORKER_METRICS_PORT"]
    assert set(services["prometheus"]["networks"]) <= set(services["loop"]["networks"]) & set(
        services["worker"]["networks"]
    )


def test_prometheus_shows_the_token_that_compose_hands_it() -> None:
    authorization = CONFIG["scrape_configs"][0]["authorization"]
    (secret,) = COMPOSE["services"]["prometheus"]["secrets"]
    assert authorization == {"type": "Bearer", "credentials_file": f"/run/secrets/{secret}"}
    assert COMPOSE["secrets"][secret] == {"environment": "AFTERTHOUGHT_METRICS_TOKEN"}
    assert "AFTERTHOUGHT_METRICS_TOKEN" in COMPOSE["services"]["loop"]["environment"]


def test_what_is_provisioned_lies_where_compose_mounts_it() -> None:
    mounts = dict(volume.split(":")[:2] for volume in COMPOSE["services"]["grafana"]["volumes"])
    (provider,) = yaml.safe_load((GRAFANA / "provisioning/dashboards/afterthought.yml").read_text())["providers"]
    assert provider["options"]["path"] == mounts["./ops/grafana/dashboards"]
    mounted = dict(volume.split(":")[:2] for volume in COMPOSE["services"]["prometheus"]["volumes"])
    directory = str(Path(mounted["./ops/prometheus/prometheus.yml"]).parent)
    for rules in CONFIG["rule_files"]:
        assert mounted[f"./ops/prometheus/{rules}"] == f"{directory}/{rules}"


def test_the_recipe_for_a_machine_without_containers_gives_a_valid_configuration(tmp_path: Path) -> None:
    recipe = RUNBOOK.split("```sh\n")[1].split("```")[0].split("\nprometheus ")[0]
    (tmp_path / ".afterthought").mkdir()
    subprocess.run(["bash", "-euc", recipe], cwd=ROOT, env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}, check=True)
    written = tmp_path / ".afterthought" / "prometheus" / "prometheus.yml"
    (job,) = yaml.safe_load(written.read_text())["scrape_configs"]
    assert job["static_configs"] == [{"targets": ["127.0.0.1:8700"]}]
    result = _promtool("check", "config", str(written))
    assert result.returncode == 0, result.stdout + result.stderr
