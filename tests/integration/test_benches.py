"""The benches run, and what they show holds; their timings decide nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from ops.bench import corpora, idling, ingesting, service

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.timeout(900)]


@pytest.mark.skipif(corpora.missing(corpora.DEFAULT_DATA) is not None, reason="the public corpora are not here")
def test_real_conversations_all_end_and_never_pass_the_cap(tmp_path: Path) -> None:
    figures = ingesting.measure(tmp_path, corpora.DEFAULT_DATA)
    assert set(figures["jobs"]) <= {"done", "nothing"} and figures["jobs"]["done"] > 200
    assert figures["conversations"] == sum(figures["jobs"].values())
    assert figures["most_memories_an_app_ever_had"] == 10 and figures["samples"] > 100
    assert figures["removals"] > 0 and figures["removals_without_who_why_and_before"] == 0


@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_the_service_bench_measures_everything(
    database: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "SIZES", (10, 300))
    url = request.getfixturevalue("postgres_url") if database == "postgres" else None
    figures = service.measure(tmp_path, url, 60)
    assert figures["sustained"]["conversations"] == 60
    assert {"memories", "context", "write_at_the_cap"} == set(figures["with_300_apps"])
    assert figures["job_overhead_over_bare_task_p50_ms"] > 0


def test_the_idling_bench_finds_no_model_call(tmp_path: Path) -> None:
    figures = idling.measure(tmp_path, None, seconds=2.0, deferred=200)
    for state in ("empty", "with_200_deferred_jobs"):
        assert figures[state]["model_calls"] == 0
        assert 0 < figures[state]["transactions_per_second"] < 30
