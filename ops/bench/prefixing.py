"""Print as JSON how much of a prompt is as in the one before: ``python -m ops.bench.prefixing``.

One made-up conversation of a user with ten memories, sixty facts and earlier conversations, asked something else each
time, its system prompt first; composed in both placements: one block before all others, as it was, and head and tail.
Of consecutive prompts the tokens they begin with alike and what the contexts promised of them; and, where the extra
``engine`` is installed (``source ops/bootstrap.sh; prepare_engine``), how many tokens llama.cpp's own server, which
keeps the last prompt, had to read anew. Its model has random weights and takes each character for a token.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise, takewhile
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import httpx
from sqlalchemy import insert

from ops.bench.harness import run, say
from ops.bench.made_up import Chatter
from ops.bench.population import FULL_APP, app_id, populate
from shared.base.choices import Category, FactState
from shared.base.settings import Tuning
from shared.context.context import ContextRequest, Placement, open_context
from shared.context.sources import RecallSources
from shared.context.window import Utterance
from shared.conversations.chat_message import Sent
from shared.db.schema import migrate
from shared.facts.models import Fact
from shared.llm.calls import LAST_RESORT
from shared.llm.embedding import NgramEmbedder
from tests.support.house import House
from tests.support.searching import Library

EXCHANGES = 12
_APP = app_id(0)
_FACTS, _EARLIER, _MESSAGES = 60, 40, 10
_PERSONA = Utterance("system", "You help a boatbuilder, in few words. " * 10)
_BUDGET = 2000


class Prompt(NamedTuple):
    """What a model is sent for one question."""

    messages: list[Sent]
    promised: int
    """Tokens that the context says are the same for the next question."""

    @property
    def text(self) -> str:
        """The messages as a template writes them, one after the other."""
        return "".join(f"<|{one['role']}|>{one['content']}\n" for one in self.messages)


def measure(folder: Path, exchanges: int = EXCHANGES) -> dict[str, Any]:
    """Return the figures of both placements, and of an engine where there is one."""
    prompts = composed(folder, exchanges)
    figures: dict[str, Any] = {"exchanges": exchanges, "memories": FULL_APP, "facts": _FACTS}
    for placement, given in prompts.items():
        shared = [_shared(one.text, other.text) for one, other in pairwise(given)]
        figures[placement] = {
            "prompt_tokens": _mean(LAST_RESORT.tokens_in(len(one.text)) for one in given[1:]),
            "shared_prefix_tokens": _mean(shared),
            "promised_tokens": _mean(one.promised for one in given[:-1]),
            "least_shared_prefix_tokens": min(shared),
        }
    read = {placement: _read_by_engine(folder, given) for placement, given in prompts.items()}
    return figures | {"engine": read if all(read.values()) else "the extra engine is not installed"}


def composed(folder: Path, exchanges: int) -> dict[Placement, list[Prompt]]:
    """Return the prompts of a conversation's questions, by placement."""
    url = f"sqlite:///{folder / 'bench.db'}"
    migrate(url)
    house, chatter = House(url), Chatter(seed=3)
    library = Library(house)
    populate(house.database, 1)
    say(f"indexing {_EARLIER * _MESSAGES} messages")
    for talk in range(_EARLIER):
        said = [chatter.message(talk * _MESSAGES + nth) for nth in range(_MESSAGES)]
        library.tell(f"c{talk}", *said, app_id=_APP)
    _learn(house, chatter)
    house.embedder = library.embedder = NgramEmbedder()  # type: ignore[assignment]
    house.embed()
    reach = RecallSources(house.database, library.make_finder(Tuning()), house.clock, house.metrics)
    prompts: dict[Placement, list[Prompt]] = {placement: [] for placement in (Placement.ONE, Placement.TWO)}
    history = [_PERSONA]
    for nth in range(exchanges):
        history.append(Utterance("user", chatter.question(chatter.message(37 * nth))))
        for placement, given in prompts.items():
            asked = ContextRequest(_BUDGET, messages=history, placement=placement)
            context = open_context(reach, _APP, asked, "bench")
            given.append(Prompt([one.sent for one in context.messages], context.stable_prefix_tokens))
        history.append(Utterance("assistant", " ".join(chatter.message(5000 + 3 * nth + more) for more in range(3))))
    house.database.dispose()
    return prompts


def _learn(house: House, chatter: Chatter) -> None:
    """Insert facts, of which every second is about what will be asked."""
    now, categories = house.clock.now(), list(Category)
    facts = [
        {
            "app_id": _APP, "state": FactState.STANDING, "slot": nth + 1, "said_key": f"{nth}",
            "statement": chatter.message(37 * (nth % EXCHANGES) if nth % 2 else 2000 + nth)[:70],
            "category": categories[nth % 3], "confidence": 0.75, "agent": "extractive", "mention_count": 1,
            "by_hand": False, "version": 1, "first_seen": now, "last_seen": now, "said_at": now, "updated_at": now,
        }
        for nth in range(_FACTS)
    ]  # fmt: skip
    with house.database.write() as session:
        session.execute(insert(Fact), facts)


def _read_by_engine(folder: Path, prompts: Sequence[Prompt]) -> dict[str, int] | None:
    """Have an engine of its own answer the prompts in turn; return what it read of those after the first."""
    try:
        from tests.support.tiny_model import serve_model, write_model
    except ImportError:
        return None
    path = folder / "tiny.gguf"
    if not path.exists():
        write_model(path)
    timings = []
    with serve_model(path, n_parallel=1, embedding=False) as url, httpx.Client(timeout=300, trust_env=False) as http:
        for one in prompts:
            body = {"model": "tiny", "messages": one.messages, "max_tokens": 1, "temperature": 0}
            timings.append(http.post(f"{url}/chat/completions", json=body).raise_for_status().json()["timings"])
    return {
        "read_anew": _mean(one["prompt_n"] for one in timings[1:]),
        "kept": _mean(one["cache_n"] for one in timings[1:]),
        "first_prompt": timings[0]["prompt_n"],
    }


def _shared(first: str, second: str) -> int:
    """Return the tokens that two texts begin with alike."""
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
    return LAST_RESORT.tokens_in(sum(1 for _ in alike))


def _mean(values: Iterable[float]) -> int:
    return round(mean(values))


if __name__ == "__main__":
    run(measure)
