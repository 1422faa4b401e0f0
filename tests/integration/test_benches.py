"""The benches run, and what they show holds; their timings decide nothing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import pytest

from ops.bench import (
    composing_sessions,
    corpora,
    embedding,
    extracting,
    finding,
    finding_ways,
    governing,
    idling,
    ingesting,
    keeping,
    prefixing,
    remembering,
    retaining,
    scarcity,
    searching,
    service,
    starting,
    thinking,
    ticking,
    truncating,
    weighing,
)
from shared.llm.embedding import NgramEmbedder
from shared.llm.minilm import is_installed
from shared.llm.providers import make_tool_chat
from tests.support.openai_server import OpenAiServer
from tests.support.recorded_answers import RecordedAnswers
from tests.support.settings import served_at

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]
long = pytest.mark.long
needs_model = pytest.mark.skipif(not is_installed(), reason="the built-in embedding model is not installed")
no_corpora = pytest.mark.skipif(
    corpora.missing(corpora.DEFAULT_DATA) is not None, reason="the public corpora are not here"
)


no_sessions = pytest.mark.skipif(
    composing_sessions.missing(corpora.SESSIONS) is not None, reason="the recorded sessions are not here"
)


@no_sessions
@pytest.mark.parametrize(
    "budgets",
    [
        pytest.param((4_000,), id="4k", marks=long),
        pytest.param(composing_sessions.BUDGETS, id="4k, 16k, 64k", marks=long),
    ],
)
def test_ten_recorded_sessions_fit_a_budget_whole_pairs_and_order_kept(
    budgets: tuple[int, ...], tmp_path: Path
) -> None:
    figures = composing_sessions.compose(tmp_path, budgets=budgets)
    assert figures["sessions"] == 10
    for row in figures["compositions"]:
        assert row["within_budget"] and row["pairs_kept"] and row["in_order"] and row["one_chain"], row
        assert row["tokens"] > 0.6 * min(row["budget"], figures["original_tokens"]), row
        assert row["peak_mb"] < 20, row


@no_corpora
@pytest.mark.parametrize(
    ("database", "wanted"),
    [
        pytest.param("sqlite", {"users": 2, "refill": 25, "kills": 1}, id="two users", marks=long),
        pytest.param("sqlite", {}, id="all users", marks=long),
        pytest.param("postgres", {}, id="all users on PostgreSQL", marks=[long, pytest.mark.postgres]),
    ],
)
def test_users_at_once_with_scarce_energy_all_get_their_memories_in_order_and_in_turn(
    database: str, wanted: dict[str, Any], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue("postgres_url") if database == "postgres" else None
    figures = scarcity.measure(tmp_path, database_url=url, **wanted)
    assert set(figures["jobs"]) <= {"done", "nothing"} and figures["apps"] == wanted.get("users", 15)
    assert figures["apps_out_of_order"] == 0
    assert figures["longest_wait_of_an_app_over_the_mean"] <= 2
    assert figures["never_below_floor"]
    assert figures["ledger_equals_drawn"] and figures["ledger_units"] > 50
    assert figures["most_memories_of_an_app"] <= 10


@long
def test_a_simulated_day_is_smoother_with_the_regulator_than_without() -> None:
    figures = governing.measure(apps=40, conversations=120, flood=40)
    with_it, without = figures["with_regulator"], figures["without_regulator"]
    assert with_it["memories_written"] == without["memories_written"] == 120
    assert with_it["ledger_equals_drawn"] and without["ledger_equals_drawn"]
    assert with_it["level"]["never_below_floor"]
    assert with_it["deferrals"] > 0 == without["deferrals"]
    assert with_it["most_drawn_in_a_minute_units"] < without["most_drawn_in_a_minute_units"] / 2
    assert with_it["answers"] == without["answers"] == 240
    assert with_it["answer_wait_seconds"]["longest"] < without["answer_wait_seconds"]["longest"]
    waits = with_it["memory_wait_in_the_loop_of_apps_that_did_not_flood_seconds"]
    assert waits["mean"] < with_it["memory_wait_in_the_loop_seconds"]["longest"] / 5


@long
@no_corpora
def test_real_conversations_all_end_and_never_pass_the_cap(tmp_path: Path) -> None:
    figures = ingesting.measure(tmp_path)
    assert set(figures["jobs"]) <= {"done", "nothing"} and figures["jobs"]["done"] > 200
    assert figures["conversations"] == sum(figures["jobs"].values())
    assert figures["most_memories_an_app_ever_had"] == 10 and figures["samples"] > 100
    assert figures["removals"] > 0 and figures["removals_without_who_why_and_before"] == 0


@long
@no_corpora
def test_memories_keep_more_of_what_is_asked_than_first_sentences_do() -> None:
    # One dialogue of them says little: its questions about what is old are seventy.
    subjects = list(corpora.locomo(corpora.DEFAULT_DATA))
    ratios = keeping.compare(subjects, 200)["ratios"]
    assert min(ratios.values()) > 1.5
    assert all(value > 0 for value in keeping.durations(subjects, 200).values())


@long
@pytest.mark.skipif(remembering.missing(corpora.DEFAULT_DATA) is not None, reason="the labelled chats are not here")
def test_the_remembering_bench_holds_and_judges_at_a_service_of_its_own(tmp_path: Path) -> None:
    first = remembering.labelled(corpora.DEFAULT_DATA)[:3]
    answers = RecordedAnswers(first)
    for name, opened in (("rules", nullcontext(remembering.Way())), ("recorded", remembering.with_recorded(answers))):
        with opened as way:
            measured = remembering.at_a_service(tmp_path / name, first, way, "ngrams")
        found, cost = measured["in all"], measured["cost"]
        assert found["conversations"] == found["kept where something"]["of"] == len(cost["each"]) == 3
        assert found["must"]["kept"] > 0 and found["asks answered"]["kept"] > 0
        assert (cost["a conversation"]["calls"] > 0) == (name == "recorded")
        assert {job.partition(",")[0] for job in measured["jobs"]["create_memory"]} <= {
            "rules": {"without a call"}, "recorded": {"by the model", "by rules", "without a call"}
        }[name]  # fmt: skip
        assert sum(of["conversations"] for of in measured["notes by language"].values()) == 3
    assert {name for name, _ in answers.asked} == {one["id"] for one in first}


@long
def test_the_thinking_bench_tells_what_a_model_made_of_each_situation_with_tools_and_without(tmp_path: Path) -> None:
    with OpenAiServer(models=("large",)) as server:
        chat = make_tool_chat("openai:large", served_at(server.url))
        with closing(chat):
            found = thinking.think(tmp_path, chat)
    assert list(found) == list(thinking.WAYS)
    for way in found.values():
        assert way["in all"]["right"]["of"] == len(way["each"]) == len(thinking.SITUATIONS)
        assert way["in all"]["answered"] and way["in all"]["tokens_read"] and way["in all"]["energy_units"]
    assert found["by the bounded form"]["in all"]["refused"] == 0


@long
@no_corpora
def test_what_is_extracted_of_real_conversations_is_counted_merged_and_asked_for() -> None:
    figures = extracting.measure(embedding="ngrams")
    assert isinstance(figures, dict)
    for corpus in ("memorybank", "locomo"):
        found = figures[corpus]
        assert found["statements"] == sum(found["by_category"].values()) == sum(found["became"].values()) > 80
        assert found["facts_after_merging"] == found["became"]["new"]
        assert found["pairs_left_that_may_mean_the_same"] == len(found["such_pairs"])
    answered = figures["locomo"]["percent_of_questions_answered"]
    assert answered["chosen_facts"] > answered["last_words"] and answered["questions"] > 500
    assert answered["all_facts_unlimited"] >= answered["random_facts"]


def idling_fields(folder: Path) -> dict[str, Any]:
    found = idling.measure(folder, seconds=2.0, deferred=200)
    assert found["empty"]["model_calls"] == found["with_200_deferred_jobs"]["model_calls"] == 0
    return found


@pytest.mark.parametrize(
    ("measure", "fields"),
    [
        pytest.param(
            lambda folder: searching.measure(folder, 600, 3, queries=6, commits=5),
            {"searches", "sizes", "single_commits", "first_search_after_an_erasure"}, id="searching",
        ),
        pytest.param(
            lambda folder: ticking.measure(folder, ticks=5, scale=0.05)["large"]["energy_closed"]["steps"],
            {"relay_jobs", "settle_energy", "think", "publish_events"}, id="ticking", marks=long,
        ),
        pytest.param(
            lambda folder: service.measure(folder, conversations=60)["with_10_apps"],
            {"memories", "context", "write_at_the_cap"}, id="service", marks=long,
        ),
        pytest.param(idling_fields, {"empty", "with_200_deferred_jobs"}, id="idling", marks=long),
        pytest.param(
            lambda folder: starting.measure(folder, 1)["later"], {"live", "ready", "worker"}, id="starting", marks=long,
        ),
        pytest.param(
            lambda folder: prefixing.measure(folder, exchanges=4)["two"],
            {"promised_tokens", "shared_prefix_tokens", "prompt_tokens"}, id="prefixing", marks=long,
        ),
        pytest.param(
            lambda folder: truncating.measure(folder, messages=6, sentences=60)["truncated"],
            {"without_chunking"}, id="truncating", marks=long,
        ),
        pytest.param(
            lambda folder: weighing.weigh([weighing.made_up()], NgramEmbedder(), folder, steps=2),
            {"ndcg@5", "shipped", "best"}, id="weighing", marks=long,
        ),
        pytest.param(
            lambda folder: embedding.measure(folder, messages=400)["service"],
            {"messages", "embedded_a_second"}, id="embedding", marks=[long, no_corpora, needs_model],
        ),
    ],
)  # fmt: skip
def test_a_bench_measures_what_it_says(
    measure: Callable[[Path], dict[str, Any]], fields: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "SIZES", (10, 300))
    found = measure(tmp_path)
    assert all(found[name] for name in fields), found


@long
@no_corpora
def test_what_is_asked_of_a_dialogue_is_found_more_often_than_by_its_words_alone(tmp_path: Path) -> None:
    corpus = next(corpora.labelled_locomo(corpora.DEFAULT_DATA))
    index = finding_ways.indexed(corpus, NgramEmbedder(), None, tmp_path)
    numbers = {one.doc_id: nth for nth, one in enumerate(corpus.messages)}

    def recall(find: finding_ways.Way) -> float:
        return sum(finding.measures(find(one), one.relevant, numbers)["recall@10"] for one in corpus.questions[:40])

    assert recall(finding_ways.by_recipe(index, likeness=False)) > recall(finding_ways.by_fts(index)) > 0


@pytest.mark.parametrize(
    ("ratio", "least"),
    [
        pytest.param(5, 0.95, id="5:1", marks=long),
        pytest.param(10, 0.8, id="10:1"),
        pytest.param(30, 0.5, id="30:1", marks=long),
    ],
)
def test_compression_keeps_more_of_what_was_said_than_a_cut_and_puts_nothing_in_anothers_mouth(
    ratio: int, least: float, tmp_path: Path
) -> None:
    figures = retaining.compare_all(tmp_path, corpora.SESSIONS, (ratio,))
    for kind in figures["transcripts"]:
        found = figures[kind][f"{ratio}:1"]
        ours, cut, last = (found[way] for way in ("compressed", "head_and_tail", "last_tokens"))
        assert all(ours[name] > max(cut[name], last[name]) for name in ("requests", "by_text", "paths")), found
        assert (ours["spliced_sentences"], ours["wrong_speakers"]) == (0, 0), found
        assert ours["names_share"] <= 0.05, found
        assert found["tokens"]["after"] <= 1.2 * found["tokens"]["before"] / ratio
    ours = figures["made_up"][f"{ratio}:1"]["compressed"]
    assert min(ours["rejections"], ours["answers"]) >= least, ours
