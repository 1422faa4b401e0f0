"""The embedders: what they promise alike, and what the built-in model knows that letters do not."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from shared.base.errors import Configuration
from shared.base.setting_groups import ModelSettings
from shared.llm import minilm
from shared.llm.calls import EXTRACTIVE, CallOutcome, WorkKind
from shared.llm.embedding import Embedder, NgramEmbedder, book_local, from_bytes, to_bytes
from shared.llm.minilm import MiniLmEmbedder
from shared.llm.providers import make_embedder
from tests.support.meters import Calls

ROOT = Path(__file__).resolve().parents[2]
needs_model = pytest.mark.skipif(not minilm.is_installed(), reason="the built-in embedding model is not installed")


@pytest.fixture(
    params=[
        "ngrams",
        pytest.param("at once", marks=needs_model),
        pytest.param("in background", marks=needs_model),
    ]
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


def test_no_text_gives_no_vector(embedder: Embedder) -> None:
    assert len(embedder.embed([], Calls())) == 0


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
    assert calls[0].prompt_tokens == calls.prospects[0].most_prompt_tokens > 0


def test_what_is_spelt_alike_is_alike_to_letters() -> None:
    one, same, other = NgramEmbedder().embed(["Lives in Lyon.", "lives in LYON", "Plays the harp"], Calls())
    assert one @ same == pytest.approx(1, abs=1e-5)
    assert one @ other < 0.3


def test_a_word_counts_beside_its_letters() -> None:
    whole, longer = NgramEmbedder().embed(["report", "reporter"], Calls())
    assert whole @ longer == pytest.approx(4 / math.sqrt(6 * 8), abs=1e-5), "four runs of six and eight features"


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
    assert vector[:6] == pytest.approx([0.02958, -0.02787, -0.06186, -0.01644, 0.04255, 0.04681], abs=2e-5)


@needs_model
def test_in_the_background_texts_are_embedded_on_threads_that_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = MiniLmEmbedder(in_background=True)
    seen: list[tuple[int, int]] = []

    def encode(ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        seen.append((threading.get_native_id(), os.getpriority(os.PRIO_PROCESS, 0)))
        return np.ones((len(ids), minilm.DIMENSIONS), np.float32)

    monkeypatch.setitem(embedder.__dict__, "_encode", encode)
    mine = os.getpriority(os.PRIO_PROCESS, 0)
    embedder.embed(["word " * 300] * 8, Calls())
    assert threading.get_native_id() not in {thread for thread, _ in seen} and len(seen) == 4
    assert sys.platform != "linux" or {priority for _, priority in seen} == {min(19, mine + 10)}
    assert os.getpriority(os.PRIO_PROCESS, 0) == mine


@needs_model
def test_texts_of_like_length_are_embedded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = MiniLmEmbedder()
    shapes: list[tuple[int, int]] = []
    real = embedder._encode

    def encode(ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        shapes.append(ids.shape)
        return real(ids, mask)

    monkeypatch.setitem(embedder.__dict__, "_encode", encode)
    texts = ["tea", "word " * 300] * 20
    vectors = embedder.embed(texts, Calls())
    assert shapes == [(2, 256)] * 10 + [(20, 3)]
    assert vectors[::2] == pytest.approx(np.tile(vectors[0], (20, 1)), abs=1e-5)
    assert vectors[0] @ vectors[1] < 0.9


@needs_model
def test_the_first_256_tokens_of_a_text_are_read() -> None:
    same, in_time, too_late = MiniLmEmbedder().embed(
        ["word " * 400, "word " * 240 + "harp " * 160, "word " * 300 + "harp " * 100], Calls()
    )
    assert same @ in_time < 0.999
    assert same @ too_late == pytest.approx(1, abs=1e-5)


def test_a_stored_vector_comes_back_as_it_was() -> None:
    vector = NgramEmbedder().embed(["Lives in Lyon"], Calls())[0]
    assert (from_bytes(to_bytes(vector)) == vector).all()


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
