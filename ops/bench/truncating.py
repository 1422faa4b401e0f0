"""Print as JSON how often an answer is cut away from what a context recalls, with and without chunking.

Made-up long messages, each with one function or one sentence that a question is about, recalled within the usual budget
through a database, its indexes and the finder, as they serve. Source: seed 002, "Context truncation reduced by >50%
with chunking". Run: python -m ops.bench.truncating
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NamedTuple

from ops.bench.harness import run, say
from ops.bench.made_up import Chatter
from shared.base.settings import Tuning
from shared.context.context import ContextRequest, open_context
from shared.context.sources import RecallSources
from shared.conversations.lifecycle import NewMessage, Role
from shared.db.schema import migrate
from shared.llm.embedding import NgramEmbedder
from tests.support.house import House
from tests.support.searching import Library

SENTENCES = 90
"""Of about twenty words in each message: far more than a budget of 1,000 tokens holds."""
_APP = "notes"


class Planted(NamedTuple):
    """A long message, what is asked about it, and the words that answer."""

    content: str
    question: str
    answer: str


def measure(
    folder: Path, messages: int = 30, sentences: Annotated[int, "of each message"] = SENTENCES
) -> dict[str, Any]:
    """Return shares of questions, 0..1, whose answer did not reach the context though its message was said."""
    url = f"sqlite:///{folder / 'bench.db'}"
    migrate(url)
    house = House(url)
    library = Library(house)
    house.install(_APP)
    all_planted = [planted(number, sentences) for number in range(messages)]
    say(f"indexing {messages} messages")
    for number, one in enumerate(all_planted):
        library.tell(f"c{number}", NewMessage(Role.ASSISTANT, one.content))
    house.embedder = library.embedder = NgramEmbedder()  # type: ignore[assignment]
    house.embed()
    truncated = {}
    for chunking in (False, True):
        say(f"asking with chunking {'on' if chunking else 'off'}")
        finder = library.make_finder(Tuning(chunking=chunking))
        reach = RecallSources(house.database, finder, house.clock, house.metrics)
        cut = []
        for one in all_planted:
            wanted = ContextRequest(Tuning().token_budget, messages=(), pending_message=one.question)
            context = open_context(reach, _APP, wanted, "bench")
            cut.append(one.answer not in context.system_prompt)
        truncated["with_chunking" if chunking else "without_chunking"] = round(sum(cut) / len(cut), 3)
    house.database.dispose()
    without = truncated["without_chunking"]
    return {
        "messages": messages,
        "characters": round(sum(len(one.content) for one in all_planted) / messages),
        "token_budget": Tuning().token_budget,
        "truncated": truncated,
        "reduced_by": None if not without else round(1 - truncated["with_chunking"] / without, 3),
    }


def planted(number: int, sentences: int) -> Planted:
    """Return a long message with an answer somewhere in it: every second one code, the others prose."""
    chatter = Chatter(number)
    talk = [chatter.message(nth) for nth in range(sentences)]
    at = 1 + (7 * number) % (sentences - 1)
    if number % 2:
        name = f"settle_{chatter.message(sentences).split()[-1].rstrip('.')}_{number}"
        answer = f"def {name}(rows):"
        code = f"```python\n{answer}\n    return sum(rows)\n```"
        return Planted("\n\n".join([*talk[:at], code, *talk[at:]]), f"Where is `{name}` defined?", answer)
    answer = f"Box {number} stands behind the lighthouse of Quokkaville{number}."
    return Planted("\n\n".join([*talk[:at], answer, *talk[at:]]), f"What stands in Quokkaville{number}?", answer)


if __name__ == "__main__":
    run(measure)
