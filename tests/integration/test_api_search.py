"""Searching over HTTP, how retrievals went, one taken apart, and the state of the indexes."""

from __future__ import annotations

from typing import Any

import pytest

from shared.llm.embedding import NgramEmbedder
from shared.llm.providers import NGRAMS
from shared.search import word_index
from tests.support.api import Api
from tests.support.house import House

SETTINGS = {"embedding": NGRAMS}

METRICS, STATS, REBUILD = "/api/memory/metrics", "/api/memory/debug/stats", "/api/memory/rebuild"
DEBUG = "/api/memory/debug/retrieval"
LONG = "Here it is.\n\n```Python\ndef total_price(rows):\n    return sum(rows)\n```\n\n" + "It adds up prices. " * 120


def say(api: Api, path: str, conversation_id: str, *messages: dict[str, object], **more: object) -> None:
    """Open a conversation and say something in it, the messages named after it."""
    api.ask("POST", f"{path}/conversations", json={"conversationId": conversation_id, **more})
    named = [{"messageId": f"{conversation_id}-{n}", **one} for n, one in enumerate(messages)]
    api.ask("POST", f"{path}/conversations/{conversation_id}/messages", json={"messages": named})


def user(content: str, **more: object) -> dict[str, object]:
    return {"role": "user", "content": content, **more}


def fill(api: Api, path: str) -> None:
    say(api, path, "boats", user("The yacht needs paint.", name="Ann"), {"role": "assistant", "content": "Blue paint?"})
    say(api, path, "pets", user("The dog barks at paint."), metadata={"tags": ["home", "pets"]})
    say(api, path, "code", user("Please write it."), {"role": "assistant", "content": LONG})


def work_off(api: Api) -> None:
    """Make the vectors and carry out the back-fills that were asked for, as a worker would."""
    house = House(api.loop.settings.database_url, embedder=NgramEmbedder())
    house.work_off()
    house.embed()
    house.database.dispose()


def search(api: Api, path: str, query: str, **more: object) -> Any:
    return api.ask("POST", f"{path}/search", json={"query": query, **more})


def ids(api: Api, path: str, query: str, **more: object) -> list[str]:
    return [one["messageId"] for one in search(api, path, query, **more)["results"]]


def test_queries_of_an_app_that_has_spent_its_budget_are_searched_by_words_and_say_so(api: Api) -> None:
    path = api.install()
    fill(api, path)
    work_off(api)
    spent = api.ask("GET", f"{path}/energy")["total"]
    api.ask("PATCH", path, json={"hourlyBudget": spent + 0.0001})
    assert search(api, path, "Which yacht needs paint?")["degraded"] == []
    api.loop.searching.records.flush()
    for question in ("Who paints the yacht?", "Which dog barks?"):
        assert search(api, path, question)["degraded"] == ["embedding"]
    context = api.ask("POST", f"{path}/context", json={"message": "What was said of paint for the yacht?"})
    assert context["degraded"] == ["embedding"]
    api.loop.searching.records.flush()
    over = api.ask("GET", f"{path}/energy")["total"]
    api.ask("PATCH", path, json={"hourlyBudget": over + 100})
    assert search(api, path, "Which colour has the paint?")["degraded"] == []
    assert api.ask("GET", f"{path}/energy")["total"] > over


def test_a_result_says_what_was_said_by_whom_where_and_when(api: Api) -> None:
    path = api.install()
    fill(api, path)
    work_off(api)
    answer = search(api, path, "Which yacht needs paint?")
    assert (answer["widened"], answer["degraded"]) == (False, [])
    best = answer["results"][0]
    assert best | {"score": 0} == {
        "messageId": "boats-0", "conversationId": "boats", "userId": None, "role": "user", "name": "Ann",
        "kind": "message", "content": "The yacht needs paint.",
        "createdAt": api.clock.now().isoformat().replace("+00:00", "Z"), "times": 1, "lastAt": best["createdAt"],
        "part": 0, "language": None, "explanation": None, "score": 0,
    }  # fmt: skip
    scores = [one["score"] for one in answer["results"]]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.both_databases
def test_a_passage_of_a_long_message_is_a_result_of_its_own_kind(api: Api) -> None:
    path = api.install()
    fill(api, path)
    [best, *_] = search(api, path, "total_price", filters={"kinds": ["code"]})["results"]
    assert (best["messageId"], best["kind"], best["language"]) == ("code-1", "code", "python")
    assert best["part"] > 0 and best["content"].startswith("```Python") and best["content"].endswith("```")


def test_the_one_passage_that_says_it_is_found_in_each_of_many_very_long_messages(sqlite_api: Api) -> None:
    path = sqlite_api.install()
    filler = "The harbour was calm and the boats lay still. " * 2_000
    said = [f"{filler}\n\nThe walrus of house {n} sang. {filler}" for n in range(8)]
    say(sqlite_api, path, "long", *map(user, said))
    results = search(sqlite_api, path, "Which walrus sang?", limit=8)["results"]
    assert {one["messageId"] for one in results} == {f"long-{n}" for n in range(8)}
    assert all("walrus" in one["content"] and len(one["content"]) < 4_000 for one in results)


@pytest.mark.parametrize("formula", ["signals", "weighted"])
def test_each_part_of_a_score_is_explained_and_together_they_are_the_score(sqlite_api: Api, formula: str) -> None:
    path = sqlite_api.install()
    fill(sqlite_api, path)
    work_off(sqlite_api)
    sqlite_api.ask("PATCH", f"{path}/retrieval-settings", json={"formula": formula})
    results = search(sqlite_api, path, "When did Ann say the yacht needs paint?", explain=True)["results"]
    assert len(results) > 2 and len({one["score"] for one in results}) > 1
    for one in results:
        assert sum(one["explanation"].values()) == pytest.approx(one["score"], abs=1e-4)
    assert ("author" in results[0]["explanation"]) is (formula == "signals")


def test_weights_that_are_changed_have_effect_and_the_answer_says_so(sqlite_api: Api) -> None:
    path = sqlite_api.install()
    said = ("Need help with errors, errors everywhere, please help.", "Call `parse_json(payload)` there.")
    say(sqlite_api, path, "one", *map(user, said))
    work_off(sqlite_api)
    tune = f"{path}/retrieval-settings"
    changed = sqlite_api.ask("PATCH", tune, json={"alpha": 0, "beta": 0, "gamma": 1})
    assert changed["formula"] == {"value": "weighted", "source": "app"} and "weighted" in changed["note"]
    best, *others = search(sqlite_api, path, "Need help with parse_json errors")["results"]
    assert (best["messageId"], best["score"]) == ("one-1", 1)
    assert {one["score"] for one in others} == {0}
    back = sqlite_api.ask("PATCH", tune, json={"formula": "signals"})
    assert (back["formula"]["value"], back["note"]) == ("signals", None)
    assert search(sqlite_api, path, "Need help with parse_json errors")["results"][0]["score"] != 1


NARROWED: list[tuple[dict[str, object], set[str]]] = [
    ({"roles": ["assistant"]}, {"boats-1"}),
    ({"names": ["ann"]}, {"boats-0"}),  # whatever the case
    ({"conversationIds": ["pets", "unknown"]}, {"pets-0"}),
    ({"conversationIds": ["unknown"]}, set()),  # nothing, not everything
    ({"tags": ["pets", "home"]}, {"pets-0"}),
    ({"tags": ["pets", "work"]}, set()),
    ({"since": "2999-01-01T00:00:00Z"}, set()),
    ({"until": "2000-01-01T00:00:00Z"}, set()),
    ({"kinds": ["prose"]}, set()),
    ({}, {"boats-0", "boats-1", "pets-0"}),
]


@pytest.mark.both_databases
def test_a_search_is_narrowed_by_its_filters(api: Api) -> None:
    path = api.install()
    fill(api, path)
    for filters, found in NARROWED:
        assert {one for one in ids(api, path, "paint", filters=filters) if not one.startswith("code")} == found, filters


def test_a_conversation_is_looked_in_first_and_the_answer_says_when_others_were_too(sqlite_api: Api) -> None:
    path = sqlite_api.install()
    fill(sqlite_api, path)
    answer = search(sqlite_api, path, "paint", conversationId="pets")
    assert answer["widened"] and answer["results"][0]["messageId"] == "pets-0" and len(answer["results"]) > 1
    alone = search(sqlite_api, path, "paint", conversationId="pets", limit=1)
    assert ([one["messageId"] for one in alone["results"]], alone["widened"]) == (["pets-0"], False)
    sqlite_api.refused(404, "POST", f"{path}/search", json={"query": "paint", "conversationId": "nowhere"})


@pytest.mark.both_databases
def test_a_user_finds_what_is_theirs(api: Api) -> None:
    path = api.install()
    say(api, path, "of-ann", user("Green paint."), userId="ann")
    say(api, path, "of-ben", user("Black paint."), userId="ben")
    say(api, path, "of-all", user("White paint."))
    assert ids(api, path, "paint", userId="ann") == ["of-ann-0"]
    assert ids(api, path, "paint", userId="ann", filters={"conversationIds": ["of-ben", "of-all"]}) == []
    named = ids(api, path, "paint", filters={"conversationIds": ["of-ben", "of-all"]})
    assert set(named) == {"of-ben-0", "of-all-0"}


def test_the_figures_show_searches_and_contexts_of_the_last_hours(api: Api) -> None:
    path, other = api.install(), api.install("email")
    fill(api, path)
    search(api, path, "paint")
    search(api, path, "umbrella")
    search(api, other, "paint")
    work_off(api)
    api.ask("POST", f"{path}/context", json={"message": "Which paint for the yacht?"})
    shown = api.ask("GET", METRICS, params={"appId": "chat"})
    assert (shown["appId"], shown["retrievals"], shown["hitRate"]) == ("chat", 3, pytest.approx(2 / 3))
    assert set(shown["durations"]) == {"totalMs", "ftsMs", "embedMs", "denseMs", "rerankMs"}
    assert shown["durations"]["totalMs"]["count"] == 3 and shown["durations"]["totalMs"]["p99"] > 0
    assert set(shown["sources"]) == {"conversationDense", "globalDense", "ftsLexical", "summaries", "profile"}
    assert 1 >= shown["meanTopSimilarities"][0] >= shown["meanTopSimilarities"][1] > 0
    assert shown["degraded"] == {"vectors": 2}
    assert shown["flags"] == {"hybrid": 1.0, "chunking": 1.0, "widened": 0.0}
    assert 0 < shown["tokenBudgetUsed"] <= 1
    assert (shown["gate"]["passes"], shown["gate"]["state"]) == (False, "not_enough_queries")
    assert "at least 20" in shown["gate"]["ways"]["chunked"]["why"]
    everything = api.ask("GET", METRICS)
    assert (everything["appId"], everything["retrievals"]) == (None, 4)
    api.clock.advance(3601)
    assert api.ask("GET", METRICS, params={"hours": 1})["retrievals"] == 0
    assert api.ask("GET", METRICS, params={"hours": 2})["retrievals"] == 4
    # The app's search of "umbrella", and that of an app in which nothing was said.
    assert api.loop.metrics.searches.labels("search", "false")._value.get() == 2


def test_a_retrieval_is_taken_apart(api: Api) -> None:
    path = api.install()
    fill(api, path)
    work_off(api)
    shown = api.ask("GET", DEBUG, params={"q": "The yacht needs paint.", "appId": "chat", "limit": 20})
    best = shown["results"][0]
    assert (best["messageId"], best["source"], best["type"]) == ("boats-0", "both", "message")
    assert sum(best["explanation"].values()) == pytest.approx(best["score"], abs=1e-4)
    assert {"totalMs", "ftsMs", "embedMs", "denseMs", "rerankMs"} == set(shown["metrics"])
    assert shown["flags"] == {"hybrid": True, "chunking": True, "tokenBudget": 1000, "formula": "signals"}
    assert (shown["query"], shown["degraded"], shown["sources"]["profile"]) == ("The yacht needs paint.", [], 0)
    assert set(shown["sources"]) == {"conversationDense", "globalDense", "ftsLexical", "summaries", "profile"}
    alike = shown["topSimilarities"]
    assert len(alike) == 3 and alike == sorted(alike, reverse=True) and alike[0] == pytest.approx(1, abs=0.01)
    assert {one["source"] for one in shown["results"]} <= {"both", "dense", "fts", "neighbour"}
    chunked = api.ask("GET", DEBUG, params={"q": "total_price", "appId": "chat"})["results"]
    assert "chunk" in {one["type"] for one in chunked}


def test_what_only_stands_beside_a_result_is_called_a_neighbour(sqlite_api: Api) -> None:
    path = sqlite_api.install()
    say(sqlite_api, path, "one", user("My umbrella is in Aarhus."), {"role": "assistant", "content": "Qq zz."})
    shown = sqlite_api.ask("GET", DEBUG, params={"q": "Where is my umbrella?", "appId": "chat"})
    assert {one["messageId"]: one["source"] for one in shown["results"]} == {"one-0": "fts", "one-1": "neighbour"}
    assert shown["topSimilarities"] == []


def test_a_profile_is_in_no_result_until_its_user_agrees(sqlite_api: Api) -> None:
    path = sqlite_api.install()
    asked = {"q": "paint", "appId": "chat", "userId": "ann"}
    stats = {"appId": "chat", "userId": "ann"}

    def consent(given: bool) -> None:
        sqlite_api.ask("PUT", "/api/memory/consent", json={"appId": "chat", "userId": "ann", "consent": given})

    def profiles() -> list[str]:
        return [
            one["content"] for one in sqlite_api.ask("GET", DEBUG, params=asked)["results"] if one["type"] == "profile"
        ]

    assert profiles() == [] and sqlite_api.ask("GET", STATS, params=stats)["profileConsent"] is False
    consent(True)
    sqlite_api.ask("PUT", f"{path}/profile", params={"userId": "ann"}, json={"freeformNotes": "Likes blue."})
    assert profiles() == ["Notes: Likes blue."]
    assert sqlite_api.ask("GET", STATS, params=stats)["profileConsent"] is True
    consent(False)
    assert profiles() == [] and sqlite_api.ask("GET", STATS, params=stats)["profileConsent"] is False
    audit = {line["kind"]: line["count"] for line in sqlite_api.ask("GET", f"{path}/profile/audit")["audit"]}
    assert (audit["used"], audit["withheld"]) == (1, 2)


def test_the_stock_counts_what_there_is_of_one_app_and_of_all(api: Api) -> None:
    path, other = api.install(), api.install("email")
    fill(api, path)
    say(api, other, "one", user("Paint."))
    work_off(api)
    mine, everything = api.ask("GET", STATS, params={"appId": "chat"}), api.ask("GET", STATS)
    assert (mine["totalMessages"], mine["totalConversations"], mine["totalSummaries"]) == (5, 3, 0)
    assert mine["totalChunks"] > 1 and mine["totalVectors"] == 5 + mine["totalChunks"]
    sizes = mine["indexSizes"]
    assert sizes["messages"] > len(LONG) and sizes["embeddings"] > 0 and sizes["words"] is None
    assert (everything["totalMessages"], everything["totalConversations"], everything["profileConsent"]) == (6, 4, None)
    assert everything["totalVectors"] == mine["totalVectors"] + 1 and everything["indexSizes"]["words"] > 0


def test_the_indexes_say_how_complete_they_are_and_a_back_fill_how_far(api: Api) -> None:
    path = api.install()
    fill(api, path)
    fresh = api.ask("GET", f"{path}/indexes")
    assert (fresh["messages"], fresh["words"], fresh["unembedded"], fresh["vectors"]) == (5, 5, 5, [])
    assert fresh["wordIndexPresent"] and fresh["backfill"] is None and fresh["backfillAskedAt"] is None
    job = api.ask("POST", f"{path}/indexes/backfill", 202)
    assert (job["kind"], job["state"], job["appId"]) == ("index_messages", "pending", "chat")
    assert api.ask("POST", f"{path}/indexes/backfill", 202)["jobId"] == job["jobId"]
    assert api.ask("GET", f"{path}/indexes")["backfill"] == {"done": 0, "total": 5}
    work_off(api)
    done = api.ask("GET", f"{path}/indexes")
    assert (done["words"], done["unembedded"], done["backfill"]) == (5, 0, None) and done["backfillEndedAt"]
    [serving] = done["vectors"]
    assert (serving["model"], serving["state"], serving["progress"]) == (NgramEmbedder().name, "serving", None)
    assert serving["vectors"] > 5
    assert api.ask("GET", f"/jobs/{job['jobId']}")["state"] == "done"


@pytest.mark.both_databases
def test_without_its_word_index_the_service_says_so_and_finds_again_once_it_is_made_anew(api: Api) -> None:
    path = api.install()
    fill(api, path)
    with api.loop.database.engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE message_words")
    assert not api.ask("GET", f"{path}/indexes")["wordIndexPresent"]
    assert search(api, path, "yacht") == {"results": [], "widened": False, "degraded": ["words", "vectors"]}
    assert api.ask("POST", REBUILD, 202) == {"apps": 1}
    with api.loop.database.read() as session:
        assert word_index.is_present(session)
    work_off(api)
    assert ids(api, path, "yacht")[0] == "boats-0"
