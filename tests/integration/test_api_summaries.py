"""Summaries and the tuning over HTTP and from the command line."""

from __future__ import annotations

from datetime import timedelta

from loop.steps.upkeep import ForgetOld
from shared.apps.queries import lock_app
from shared.conversations.queries import get_conversation, lock_conversation
from shared.conversations.summarising import move_on
from shared.search.models import Retrieval
from shared.summaries.queries import NewSummary, insert_summary
from tests.support.api import Api


def talk(api: Api, path: str, turns: int) -> None:
    messages = [{"role": role, "content": f"{role} {n}"} for n in range(turns) for role in ("user", "assistant")]
    api.ask("POST", f"{path}/messages", json={"messages": messages})


def summarised(api: Api, conversation_id: str, content: str, app_id: str = "chat") -> None:
    """Summarise all that was said, as a worker would."""
    with api.loop.database.write() as session:
        lock_app(session, app_id)
        conversation = lock_conversation(session, app_id, conversation_id)
        start, until = conversation.summarised, conversation.message_count
        insert_summary(session, conversation, NewSummary(content, "extractive", start, until - 1), api.clock.now())
        move_on(session, conversation, until, 5, api.clock.now())


def jobs(api: Api) -> list[str]:
    return [job["state"] for job in api.ask("GET", "/jobs", params={"kind": "summarise"})["jobs"]]


def test_a_summary_on_demand_is_asked_for_once_and_only_where_something_new_was_said(api: Api) -> None:
    conversation = api.converse(api.install(), "c1", "Hello")
    asked = api.ask("POST", f"{conversation}/summaries", 202)
    assert (asked["conversationId"], asked["job"]["kind"], asked["job"]["state"]) == ("c1", "summarise", "pending")
    assert api.ask("POST", f"{conversation}/summaries", 202)["job"]["jobId"] == asked["job"]["jobId"]
    api.ask("POST", f"/jobs/{asked['job']['jobId']}/cancel")
    summarised(api, "c1", "- Hello")
    error = api.refused(409, "POST", f"{conversation}/summaries")
    assert error["code"] == "nothing_new"


def test_a_cancelled_or_dead_job_does_not_keep_a_summary_from_being_asked_for_again(api: Api) -> None:
    conversation = api.converse(api.install(), "c1", "Hello")
    first = api.ask("POST", f"{conversation}/summaries")["job"]["jobId"]
    api.ask("POST", f"/jobs/{first}/cancel")
    assert api.ask("POST", f"{conversation}/summaries")["job"]["jobId"] != first


def test_summaries_are_listed_newest_first_page_by_page_and_stay_in_their_conversation(api: Api) -> None:
    path = api.install()
    first, second = (api.converse(path, name, "Hello") for name in ("c1", "c2"))
    for number in range(3):
        talk(api, first, 1)
        summarised(api, "c1", f"- Number {number}")
    page = api.ask("GET", f"{first}/summaries", params={"limit": 2})
    rest = api.ask("GET", f"{first}/summaries", params={"limit": 2, "cursor": page["cursor"]})
    shown = [one["content"] for one in (*page["summaries"], *rest["summaries"])]
    assert shown == ["- Number 2", "- Number 1", "- Number 0"] and rest["cursor"] is None
    assert (page["summarised"], page["turnsSinceSummary"]) == (7, 0)
    assert [one["embedded"] for one in page["summaries"]] == [False, False]
    assert api.ask("GET", f"{second}/summaries")["summaries"] == []
    api.refused(404, "GET", f"{path}/conversations/c3/summaries")
    api.refused(404, "POST", f"{path}/conversations/c3/summaries")


def test_summaries_travel_with_their_conversation(api: Api) -> None:
    path = api.install()
    api.converse(path, "c1", "Hello")
    summarised(api, "c1", "- Hello")
    archive = api.ask("GET", f"{path}/export")
    assert api.ask("POST", "/apps/copy/import", json=archive)["summaries"] == 1
    copied = api.ask("GET", "/apps/copy/conversations/c1/summaries")
    assert [one["content"] for one in copied["summaries"]] == ["- Hello"] and copied["summarised"] == 1
    assert api.ask("POST", "/apps/copy/import", json=archive)["summaries"] == 0
    with api.loop.database.read() as session:
        assert get_conversation(session, "copy", "c1").summarised == 1


def test_the_tuning_says_what_is_in_force_and_where_it_comes_from(api: Api) -> None:
    path = api.install()
    everywhere = api.ask("PATCH", "/api/memory/settings", json={"tokenBudget": 99, "metricsDays": 400})
    assert sorted(everywhere["clamped"]) == ["metricsDays", "tokenBudget"]
    assert everywhere["tokenBudget"] == {"value": 100, "source": "everywhere"}
    own = api.ask("PATCH", f"{path}/retrieval-settings", json={"hybrid": False, "alpha": 0.5, "beta": 0.4})
    shown = api.ask("GET", f"{path}/retrieval-settings")
    assert shown == {**own, "clamped": [], "note": None}
    assert [shown[name]["source"] for name in ("hybrid", "gamma", "tokenBudget", "chunking")] == [
        "app", "app", "everywhere", "setting",
    ]  # fmt: skip
    assert api.ask("GET", "/api/memory/settings")["hybrid"] == {"value": True, "source": "setting"}
    back = api.ask("PATCH", f"{path}/retrieval-settings", json={"hybrid": None, "alpha": None})
    assert (back["hybrid"], back["alpha"]) == ({"value": True, "source": "setting"}, shown["alpha"] | back["alpha"])
    assert back["alpha"]["source"] == "setting"


def retrieved(api: Api, days: list[float]) -> None:
    with api.loop.database.write() as session:
        for one in days:
            at = api.clock.now() - timedelta(days=one)
            session.add(Retrieval(app_id="chat", asker="search", at=at, results=0, sources={}, durations={}, flags={}))


def test_figures_are_kept_for_as_many_days_as_are_tuned_for_all_apps(api: Api) -> None:
    api.install()
    retrieved(api, [0, 6, 8, 29, 30, 31, 400])

    def left() -> int:
        ForgetOld(api.loop.database, api.clock, api.loop.settings, api.loop.metrics).run()
        with api.loop.database.read() as session:
            return session.query(Retrieval).count()

    assert left() == 5
    api.ask("PATCH", "/api/memory/settings", json={"metricsDays": 7})
    assert left() == 2
