"""The embedders, how alike words are to the built-in one, and vectors as they are stored and served."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.base.errors import Configuration
from shared.base.setting_groups import ModelSettings
from shared.contracts.jobs import JobKind
from shared.jobs.models import Job, JobState
from shared.llm import minilm
from shared.llm.calls import EXTRACTIVE, CallOutcome, WorkKind
from shared.llm.embedding import Embedder, NgramEmbedder, book_local
from shared.llm.minilm import MiniLmEmbedder, WordVectors
from shared.llm.providers import make_embedder
from shared.search.index import may_enqueue
from shared.search.models import LAST_CONVERSATION, LAST_POSITION, SetState, doc_id_of
from shared.search.vectors import (
    VectorSetChange,
    pack,
    set_change_for,
    unpack,
)
from shared.search.view import SearchScope
from tests.support.chance import examples
from tests.support.meters import Calls

ROOT = Path(__file__).resolve().parents[2]
needs_model = pytest.mark.skipif(not minilm.is_installed(), reason="the built-in embedding model is not installed")


@pytest.fixture(
    params=["ngrams", pytest.param("at once", marks=needs_model), pytest.param("in background", marks=needs_model)]
)
def embedder(request: pytest.FixtureRequest) -> Embedder:
    if request.param == "ngrams":
        return NgramEmbedder()
    return MiniLmEmbedder(in_background=request.param == "in background")


def test_each_text_has_a_vector_of_unit_length(embedder: Embedder) -> None:
    vectors = embedder.embed(["Lives in Lyon", "Plays chess on Sundays", "a" * 5000], Calls())
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1], abs=1e-5)


def test_a_vector_does_not_depend_on_its_company(embedder: Embedder) -> None:
    texts = [f"{'very ' * (place % 7)}old house number {place}" for place in range(37)]
    together = embedder.embed(texts, Calls())
    for place in (20, 21):  # The longest of its batch, and the shortest.
        assert together[place] == pytest.approx(embedder.embed([texts[place]], Calls())[0], abs=1e-4)


@pytest.mark.parametrize(
    "text", ["", " \n", "🎉", "日本語", "\ud800"], ids=["empty", "blank", "emoji", "cjk", "surrogate"]
)
def test_odd_texts_give_numbers(embedder: Embedder, text: str) -> None:
    assert np.isfinite(embedder.embed([text], Calls())).all()


def test_the_work_is_booked_once_at_the_built_in_agents_price(embedder: Embedder) -> None:
    calls = Calls()
    embedder.embed(["Lives in Lyon"], calls)
    assert [(call.kind, call.model, call.outcome) for call in calls] == [
        (WorkKind.EMBED, EXTRACTIVE, CallOutcome.ANSWERED)
    ]
    assert calls[0].prompt_tokens == calls.estimates[0].most_prompt_tokens > 0


def test_work_that_failed_is_booked_as_not_answered() -> None:
    calls = Calls()
    with pytest.raises(LookupError), book_local(["Lives in Lyon"], calls, iter((1.0, 3.5)).__next__):
        raise LookupError
    assert [(call.outcome, call.seconds) for call in calls] == [(CallOutcome.REFUSED, 2.5)]


def test_a_word_said_often_does_not_drown_the_others() -> None:
    often, once, other = NgramEmbedder().embed(["tea tea tea tea tea tea oboe", "tea oboe", "tea"], Calls())
    assert often @ once > often @ other


@needs_model
def test_what_means_the_same_is_alike_to_the_model() -> None:
    vectors = MiniLmEmbedder().embed(
        ["Building a parser in Rust", "Working on a Rust parser", "Lives in Lyon", "Is based in Lyon"], Calls()
    )
    cosines = vectors @ vectors.T
    assert cosines[0, 1] > 0.9
    assert cosines[2, 3] > 0.8
    assert cosines[0, 2] < 0.2


@needs_model
def test_what_is_stored_can_be_compared_with_what_a_later_release_makes() -> None:
    [vector] = MiniLmEmbedder().embed(["Lives in Lyon"], Calls())
    assert vector[:6] == pytest.approx([0.02958, -0.02787, -0.06186, -0.01644, 0.04255, 0.04681], abs=5e-3)


@needs_model
def test_in_the_background_texts_are_embedded_on_threads_that_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = MiniLmEmbedder(in_background=True)
    policy_of = getattr(os, "sched_getscheduler", lambda _: None)
    seen: list[tuple[int, int | None]] = []

    def encode(ids: Sequence[int]) -> np.ndarray:
        seen.append((threading.get_native_id(), policy_of(0)))
        return np.ones(minilm.DIMENSIONS, np.float32)

    monkeypatch.setitem(embedder.__dict__, "_encode", encode)
    mine = policy_of(0)
    embedder.embed(["word " * 300] * 8, Calls())
    assert threading.get_native_id() not in {thread for thread, _ in seen} and len(seen) == 8
    assert sys.platform != "linux" or {policy for _, policy in seen} == {os.SCHED_IDLE}
    assert policy_of(0) == mine


@needs_model
def test_the_first_256_tokens_of_a_text_are_read() -> None:
    same, in_time, too_late = MiniLmEmbedder().embed(
        ["word " * 400, "word " * 240 + "harp " * 160, "word " * 300 + "harp " * 100], Calls()
    )
    assert same @ in_time < 0.999
    assert same @ too_late == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    ("setting", "name"),
    [
        pytest.param(None, MiniLmEmbedder.name if minilm.is_installed() else NgramEmbedder.name, id="built in"),
        pytest.param("ngrams", "builtin:ngrams", id="letters"),
        pytest.param("ollama:embedder", "ollama:embedder", id="ollama"),
    ],
)
def test_a_setting_names_its_embedder(setting: str | None, name: str) -> None:
    assert make_embedder(setting, ModelSettings(), 1.0).name == name


@pytest.mark.parametrize("missing", [minilm.PACKAGE, "onnxruntime"], ids=["weights", "runtime"])
def test_without_the_model_or_what_it_runs_in_letters_are_compared(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(minilm, "find_spec", lambda name: None if name == missing else find_spec(name))
    assert make_embedder(None, ModelSettings(), 1.0).name == NgramEmbedder.name


@needs_model
def test_a_runtime_that_does_not_run_here_is_told_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    # Python takes an entry of None for a module that cannot be imported.
    monkeypatch.setitem(sys.modules, "shared.llm.minilm_graph", None)
    with pytest.raises(Configuration, match="AFTERTHOUGHT_EMBEDDING=ngrams"):
        MiniLmEmbedder().embed(["Lives in Lyon"], Calls())


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted in /proc, which is Linux's")
@pytest.mark.parametrize(
    "process",
    ["worker.wiring", *(pytest.param(one, marks=pytest.mark.long) for one in ("loop.__main__", "ops.bench.searching"))],
)
def test_no_process_multiplies_with_more_than_one_thread(process: str) -> None:
    # Who imports numpy first differs by process, and numpy reads the variable then and never again.
    told = (
        f"import os, {process}, numpy as np; np.ones((99, 99)) @ np.ones((99, 99));"
        " print(len(os.listdir('/proc/self/task')))"
    )
    env = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    command = [sys.executable, "-c", told]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, env=env)
    assert answer.stdout.split() == ["1"]


@pytest.fixture(scope="module")
def vectors() -> WordVectors:
    return WordVectors()


@needs_model
@pytest.mark.parametrize(
    ("word", "alike", "unlike"),
    [("photo", "picture", "tree"), ("buy", "purchase", "sing"), ("sad", "unhappy", "seven")],
)
def test_words_of_like_meaning_are_more_alike(vectors: WordVectors, word: str, alike: str, unlike: str) -> None:
    near, far = vectors.likeness([word], [alike, unlike])[0]
    assert near > 0.25 > far


@needs_model
def test_a_word_is_like_itself_and_any_word_has_a_place(vectors: WordVectors) -> None:
    words = ["lighthouse", "zzqxv", "", "\ud800", "東京", "x" * 500]
    likeness = vectors.likeness(words, words)
    assert likeness.shape == (6, 6) and np.isfinite(likeness).all()
    assert likeness[0, 0] == pytest.approx(1, abs=1e-5)


@needs_model
def test_several_threads_see_the_same(vectors: WordVectors) -> None:
    asked = [[f"{stem}{nth}" for stem in ("sea", "hill", "tree")] for nth in range(60)]
    alone = [WordVectors().likeness(asked[0], asked[0])]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda words: vectors.likeness(words, words), asked))
    assert found[0] == pytest.approx(alone[0])


@needs_model
def test_more_words_than_are_kept_are_compared_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["sea", "ocean", "hill", "tree", "song"]
    expected = WordVectors().likeness(["sea"], words)
    monkeypatch.setattr(minilm, "MOST_WORDS", 3)
    assert WordVectors().likeness(["sea"], words) == pytest.approx(expected)


DIMENSIONS = [3, 8, 63, 64, 65, 384, 512]
AT = datetime(2026, 3, 1, tzinfo=UTC)


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=20))
@settings(max_examples=examples(100))
def test_whatever_a_vector_holds_no_dimension_is_off_by_more_than_a_step(values: list[float]) -> None:
    row = np.array(values, np.float32)
    step = float(np.abs(row).max()) / 127
    assert np.abs(unpack(pack(row)) - row).max() <= 0.51 * step + 1e-30


CONVERSATIONS = st.lists(st.integers(1, 6) | st.just(LAST_CONVERSATION), unique=True, max_size=5).map(sorted)


@given(
    st.lists(st.tuples(st.integers(1, 6) | st.just(LAST_CONVERSATION), st.integers(0, 3) | st.just(LAST_POSITION))),
    st.none() | st.integers(1, 6) | st.just(LAST_CONVERSATION),
    st.none() | st.integers(1, 6),
    st.none() | CONVERSATIONS,
)
@settings(max_examples=examples(200))
def test_the_rows_of_a_scope_are_those_it_holds(
    said: list[tuple[int, int]], within: int | None, beyond: int | None, conversations: list[int] | None
) -> None:
    doc_ids = np.array(sorted(doc_id_of(*one) or 0 for one in said), np.int64)
    scope = SearchScope(within, beyond, None if conversations is None else np.array(conversations, np.int64))
    rows = scope.rows_of(doc_ids)
    assert (np.arange(len(doc_ids)) if rows is None else rows).tolist() == np.flatnonzero(scope.holds(doc_ids)).tolist()


SERVING, FILLING, RETIRED = SetState.SERVING, SetState.FILLING, SetState.RETIRED
CASES = [
    ("the first model serves at once", "a", {}, VectorSetChange(serve=True)),
    ("the model in force serves", "a", {"a": SERVING}, VectorSetChange()),
    ("another is filled beside it", "b", {"a": SERVING}, VectorSetChange(fill=True)),
    ("the fill goes on", "b", {"a": SERVING, "b": FILLING}, VectorSetChange()),
    (
        "a third gives the second up",
        "c",
        {"a": SERVING, "b": FILLING},
        VectorSetChange(fill=True, retire=frozenset("b")),
    ),
    ("going back gives the fill up", "a", {"a": SERVING, "b": FILLING}, VectorSetChange(retire=frozenset("b"))),
    ("what was retired is filled again", "b", {"a": SERVING, "b": RETIRED}, VectorSetChange(fill=True)),
    ("what is retired is left to go", "a", {"a": SERVING, "b": RETIRED}, VectorSetChange()),
]


@pytest.mark.parametrize(("model", "states", "change"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_which_set_is_made_or_given_up(model: str, states: dict[str, SetState], change: VectorSetChange) -> None:
    assert set_change_for(model, states) == change


def ended(state: JobState, attempts: int = 5, ago: float = 0) -> Job:
    at = AT - timedelta(seconds=ago)
    finished = None if state is JobState.RUNNING else at
    return Job(kind=JobKind.EMBED_MESSAGES, state=state, attempts=attempts, finished_at=finished)


ASKING = [
    ("nothing was asked for yet", None, True),
    ("one is under way", ended(JobState.RUNNING), False),
    ("one is done", ended(JobState.DONE), True),
    ("one was cancelled", ended(JobState.CANCELLED), True),
    ("one has just failed for good", ended(JobState.DEAD, ago=1), False),
    ("one failed for good and rests", ended(JobState.DEAD, ago=299), False),
    ("one failed for good and has rested", ended(JobState.DEAD, ago=300), True),
    ("one failed for good after one attempt", ended(JobState.DEAD, 1, ago=60), True),
    ("one found nothing", ended(JobState.NOTHING, ago=59), False),
    ("one found nothing a while ago", ended(JobState.NOTHING, ago=60), True),
    ("one failed before the clock was set back", ended(JobState.DEAD, ago=-3600), True),
]


@pytest.mark.parametrize(("last", "may"), [case[1:] for case in ASKING], ids=[case[0] for case in ASKING])
def test_when_another_job_may_be_asked_for(last: Job | None, may: bool) -> None:
    assert may_enqueue(last, AT) is may
