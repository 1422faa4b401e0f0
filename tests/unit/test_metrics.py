"""Metrics stand at zero from the start, add up over forked processes, and survive what happens to those."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.parser import text_string_to_metric_families

from loop.steps.due_jobs import EndSilent, EnqueueEmbedding, EnqueueExtraction, EnqueueSummaries, WakeSnoozed
from loop.steps.publish_events import PublishEvents
from loop.steps.relay_jobs import RelayJobs
from loop.steps.sessions import AgeSessions, IndexSessions, ScanSessions, TendSessions
from loop.steps.settlement import SettleEnergy, SettleFacts
from loop.steps.upkeep import FinishErasures, ForgetOld, ProbeProvider, ReconcileTenantQueues, Upkeep
from loop.thinking.thinker import ChooseAndThink
from shared.jobs.models import FINISHED
from shared.telemetry.exposition import gathered, scrape, wipe
from shared.telemetry.metrics import (
    FINAL_STATES,
    HOLD_LEADERSHIP,
    TICK_STEPS,
    Metrics,
)

ROOT = Path(__file__).resolve().parents[2]
BY_ROUTE = {"http_requests", "http_duration"}
# Forks one process an argument, `slot:jobs lost:how it ends`, one after the other, as a worker forks its pool.
_FORKS = """
import os, signal, sys
from pathlib import Path
from shared.telemetry.exposition import use_files
slot = "main"
use_files(Path(sys.argv[1]), lambda: slot)
from prometheus_client import CollectorRegistry
from shared.telemetry.metrics import Metrics
for argument in sys.argv[2:]:
    slot, lost, end = argument.split(":")
    child = os.fork()
    if child == 0:
        metrics = Metrics(CollectorRegistry())
        metrics.jobs_lost.inc(int(lost))
        metrics.job_duration.labels("create_memory").observe(0.2)
        if end == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        os._exit(0)
    os.waitpid(child, 0)
"""


@pytest.fixture
def fresh() -> tuple[CollectorRegistry, Metrics]:
    """The metrics of a process in which nothing has happened."""
    registry = CollectorRegistry()
    return registry, Metrics(registry)


def _fork(directory: Path, *processes: str) -> None:
    command = [sys.executable, "-c", _FORKS, str(directory), *processes]
    subprocess.run(command, cwd=ROOT, check=True, timeout=60)


def _lost(directory: Path) -> float | None:
    return gathered(directory).get_sample_value("afterthought_jobs_lost_total")


def _samples(text: str) -> dict[tuple[str, ...], float]:
    return {
        (sample.name, *(f"{key}={value}" for key, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_every_series_stands_at_zero_before_anything_happens(fresh: tuple[CollectorRegistry, Metrics]) -> None:
    registry, metrics = fresh
    for name, metric in vars(metrics).items():
        if isinstance(metric, Counter | Histogram) and name not in BY_ROUTE:
            assert any(family.samples for family in metric.collect()), name
    values = {
        sample.value for family in registry.collect() for sample in family.samples if "created" not in sample.name
    }
    assert values == {0.0}


def test_labels_are_closed_sets_so_the_number_of_series_is_bounded(fresh: tuple[CollectorRegistry, Metrics]) -> None:
    series = sum(len(family.samples) for family in fresh[0].collect())
    # A new kind of job brings about a hundred; far more is a label whose values somebody else chooses.
    assert 200 < series < 3000


def test_names_follow_the_convention(fresh: tuple[CollectorRegistry, Metrics]) -> None:
    for family in fresh[0].collect():
        assert family.name.startswith("afterthought_")
        assert family.documentation.endswith(".")
        if family.type == "histogram":
            assert family.name.endswith(("_seconds", "_ratio"))


def test_label_sets_are_those_of_the_domain() -> None:
    assert set(FINAL_STATES) == {state.value for state in FINISHED}
    steps = (
        PublishEvents, RelayJobs, SettleEnergy, WakeSnoozed, EndSilent, Upkeep, FinishErasures, ReconcileTenantQueues,
        EnqueueExtraction, SettleFacts, EnqueueEmbedding, EnqueueSummaries, ForgetOld, ChooseAndThink,
        ScanSessions, TendSessions, AgeSessions, IndexSessions, ProbeProvider,
    )  # fmt: skip
    assert set(TICK_STEPS) == {HOLD_LEADERSHIP} | {step.name for step in steps}


def test_counters_and_histograms_add_up_over_forked_processes(tmp_path: Path) -> None:
    _fork(tmp_path, "loop:1:ends", "w1-p0:20:ends", "w1-p1:300:ends")
    registry = gathered(tmp_path)
    assert registry.get_sample_value("afterthought_jobs_lost_total") == 321
    labels = {"kind": "create_memory"}
    assert registry.get_sample_value("afterthought_job_duration_seconds_count", labels) == 3
    assert registry.get_sample_value("afterthought_job_duration_seconds_bucket", {**labels, "le": "0.25"}) == 3
    assert registry.get_sample_value("afterthought_job_duration_seconds_bucket", {**labels, "le": "0.1"}) == 0


def test_a_killed_process_keeps_what_it_counted_and_its_successor_counts_on(tmp_path: Path) -> None:
    _fork(tmp_path, "w1-p0:5:killed")
    assert _lost(tmp_path) == 5
    files = sorted(path.name for path in tmp_path.iterdir())
    _fork(tmp_path, "w1-p0:2:ends", "w1-p0:1:killed")
    assert _lost(tmp_path) == 8
    assert sorted(path.name for path in tmp_path.iterdir()) == files, "slots are reused, so files stay bounded"


def test_a_starting_worker_wipes_the_files_of_its_former_self_only(tmp_path: Path) -> None:
    _fork(tmp_path, "loop:1:ends", "w1-p0:20:killed", "w1-p7:20:killed", "w10-p0:300:ends")
    assert wipe(tmp_path, "w1-") == 4
    assert _lost(tmp_path) == 301
    assert wipe(tmp_path, "w1-") == 0


def test_what_is_scraped_parses_and_every_series_is_there_once(tmp_path: Path) -> None:
    _fork(tmp_path, "loop:1:ends", "w1-p0:20:killed")
    text = scrape(gathered(tmp_path)).decode()
    lines = [line.rpartition(" ")[0] for line in text.splitlines() if not line.startswith("#")]
    assert len(lines) == len(set(lines))
    assert _samples(text)[("afterthought_jobs_lost_total",)] == 21
