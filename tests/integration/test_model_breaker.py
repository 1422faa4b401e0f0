"""A model that answers nothing usable for long, from the front door: it is left alone, said everywhere, and probed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.integration.test_unusable_model import GARBAGE, Service, service
from tests.support.api import metric_of
from tests.support.model_server import Act

_SAID = re.compile(r"I live in \w+ now, in house number \d+\.|I play the \w+ and my sister Ada keeps \d+ bees\.")


def repeat(body: dict[str, Any]) -> dict[str, Any]:
    """Answer a talk, which stands first in the prompt, with what the user said."""
    return {"memory": " ".join(_SAID.findall(body["messages"][-1]["content"])[:2]), "facts": []}


@contextmanager
def one_job_each(url: str, home: Path, **chosen: Any) -> Iterator[Service]:
    """An installation in which each conversation asks the model for one job."""
    with service(url, home, "ollama", facts=False, model_size="large", **chosen) as bad:
        bad.server.script.answers = repeat
        yield bad


def told(bad: Service) -> tuple[float, str, str, list[str]]:
    """Return what is said of it: the gauge, who writes, the model's line of readiness, the doctor's."""
    ready = bad.api.send("GET", "/health/ready").json()
    findings = bad.api.ask("GET", "/doctor")["findings"]
    warned = [one["found"] for one in findings if "its last" in one["found"] and one["health"] == "warn"]
    gauge = metric_of(bad.api, "afterthought_model_breaker_open")
    return gauge, ready["agent"], ready["dependencies"]["ollama"]["detail"], warned


def talk(bad: Service, number: int, count: int = 1) -> None:
    bad.end_conversations(count, first=number)
    bad.work_off()


def test_a_model_that_gave_twenty_jobs_nothing_usable_is_not_asked_until_a_probe_gets_something(
    database_url: str, tmp_path: Path
) -> None:
    with one_job_each(database_url, tmp_path / "home") as bad:
        bad.server.will(*[GARBAGE["prose"]] * 66)
        talk(bad, 0, 20)
        assert len(bad.server.chats) == 60
        opened = bad.api.clock.now()
        talk(bad, 20)
        assert len(bad.server.chats) == 60, "nothing is asked"
        why = "answered nothing usable in 20 of its last 20 jobs"
        again = f"it is asked again at {opened + timedelta(minutes=10):%H:%M} UTC"
        assert bad.jobs("create_memory")[0]["reason"] == f"done by extractive, as ollama:tiny {why}; {again}"
        assert len(bad.memories(3)) == 21
        gauge, agent, detail, [warned] = told(bad)
        assert (gauge, agent) == (1, "extractive")
        assert f"It {why}; the built-in agent does them, and {again}" in detail
        assert warned == f"ollama:tiny {why}; the built-in agent does them, and {again}"
        # Of two jobs one asks, every ten minutes; after it failed, in twenty.
        for number, asked in ((21, 63), (23, 63), (25, 66)):
            bad.api.clock.advance(601)
            talk(bad, number, 2)
            assert len(bad.server.chats) == asked
        bad.api.clock.advance(2400)
        talk(bad, 27, 2)
        gauge, agent, detail, warned = told(bad)
        assert (gauge, agent, warned) == (0, "ollama:tiny", []) and "usable" not in detail
        assert [job["reason"] for job in bad.jobs("create_memory")[:2]] == [None, None]


def test_where_no_rules_stand_behind_it_the_breaker_only_tells(sqlite_url: str, tmp_path: Path) -> None:
    with one_job_each(sqlite_url, tmp_path / "home", on_bad_output="dead_letter") as strict:
        strict.server.will(*[GARBAGE["prose"]] * 63)
        talk(strict, 0, 21)
        assert len(strict.server.chats) == 63 and {job["state"] for job in strict.jobs("create_memory")} == {"dead"}
        gauge, agent, _, [warned] = told(strict)
        assert (gauge, agent) == (1, "ollama:tiny") and warned.endswith("they become dead letters")
        talk(strict, 21)
        assert told(strict)[0] == 0


def test_a_server_that_answers_500_for_hours_loses_no_job_and_is_asked_again_afterwards(
    sqlite_url: str, tmp_path: Path
) -> None:
    with one_job_each(sqlite_url, tmp_path / "home") as bad:
        bad.server.will(*[Act(status=500)] * 1000)
        for number in range(24):
            bad.end_conversations(1, first=number)
            for _ in range(3):
                bad.work_off()
                bad.api.clock.advance(100)
        jobs = bad.jobs("create_memory")
        assert Counter((job["state"], job["attempts"]) for job in jobs[-20:]) == {("done", 3): 20}, "none is dead"
        assert "status 500" in jobs[-1]["reason"] and "its server failed" in jobs[0]["reason"]
        assert len(bad.memories(3)) == 24 and told(bad)[0] == 1
        warned = [one for one in bad.api.ask("GET", "/doctor")["findings"] if "its server failed" in one["found"]]
        assert [one["mend"].startswith("Look at the model's server") for one in warned] == [True]
        bad.server.script.acts.clear()
        bad.api.clock.advance(7200)
        talk(bad, 24)
        assert told(bad)[0] == 0
        assert next(one for one in bad.memories(3) if "24" in one["content"])["agent"] == "ollama:tiny"
