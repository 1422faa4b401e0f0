"""``afterthought ingest``: puts a file of chats into an app and says what became of every line."""

from __future__ import annotations

import time
from collections import Counter, deque
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group, RenderableType

from loop.cli.invocation import Invocation
from loop.cli.jobs import FINISHED, POLL_SECONDS, SUCCEEDED
from loop.cli.output import complain, plain, progress, remark, table
from loop.cli.routes import route
from shared.choices import ChatGrouping

if TYPE_CHECKING:
    from loop.cli.chats import BadChatLine
    from loop.cli.filling import Tally
    from loop.cli.service import Service

_SHOWN_BAD_LINES = 20


def ingest(
    call: Invocation,
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="JSON Lines, or a JSON array.")],
    app: Annotated[str, typer.Option("--app", help="The app to fill; installed if it is not.")],
    conversation_per: Annotated[
        ChatGrouping, typer.Option(help="What becomes one conversation: auto, day or file.")
    ] = ChatGrouping.AUTO,
    user_id: Annotated[str | None, typer.Option(help="The user of every conversation; else the file's.")] = None,
    end: Annotated[bool, typer.Option("--end/--no-end", help="End each conversation: it is thought over.")] = True,
    strict: Annotated[bool, typer.Option("--strict", help="Send nothing if any line is bad.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until every conversation was thought over.")] = False,
    timeout: Annotated[float, typer.Option(min=0, help="Longest to wait, seconds.")] = 3600.0,
) -> None:
    """Put a file of chats into an app: each conversation is opened, filled and ended.

    Takes role/content and ShareGPT conversations, one per line or in a JSON array, and single messages with a
    conversation id. Running it twice adds nothing; a run that was cut off is taken up where it ended.
    """
    from loop.cli.chats import BadChatLine, Grouping, read_portions  # what reads files is not needed for --help
    from loop.cli.filling import Filling, install_if_missing  # as above

    service = call.patient_service
    grouping = Grouping(conversation_per, file)
    bad = [found for _, found in read_portions(file, grouping) if isinstance(found, BadChatLine)] if strict else []
    if bad:
        _show_bad_lines(bad)
        complain(f"{len(bad)} bad lines; nothing was sent.")
        raise typer.Exit(1)
    install_if_missing(service, app)
    filling = Filling(service, app, user_id, end)
    shape = filling.take_file(file, grouping)
    tally = filling.tally
    states = _wait(service, tally, timeout) if wait else None
    answer = {"appId": app, "format": shape, **tally.as_json()} | ({} if states is None else {"jobs": dict(states)})
    call.show(answer, lambda _: _summary(tally, states))
    _show_bad_lines(tally.bad)
    if tally.undated and tally.messages:
        remark(f'{tally.undated} messages have no time in the file, so they count as said now: their "last year" too.')
    if shape is None and not tally.bad:
        complain(f"{file} holds no conversations.")
        raise typer.Exit(1)
    if tally.bad or (states is not None and set(states) - SUCCEEDED):
        raise typer.Exit(1)


def _wait(service: Service, tally: Tally, timeout_seconds: float) -> Counter[str]:
    """Wait until every job is finished; return how many ended how, ``unfinished`` being those that did not."""
    waiting = deque(dict.fromkeys(tally.job_ids))
    states: Counter[str] = Counter()
    deadline = time.monotonic() + timeout_seconds
    with progress("thinking", len(waiting)) as update:
        while waiting:
            job = service.get(route("jobs", waiting[0]))
            if job["state"] in FINISHED:
                states[job["state"]] += 1
                waiting.popleft()
                update(advance=1, description="thinking")
            elif time.monotonic() > deadline:
                states["unfinished"] = len(waiting)
                break
            else:
                update(description=f"{job['state']} {job.get('reason') or ''}".strip())
                time.sleep(POLL_SECONDS)
    return states


def _summary(tally: Tally, states: Counter[str] | None) -> RenderableType:
    rows = [
        {"": "conversations", "ingested": tally.conversations, "skipped": tally.conversations_skipped},
        {"": "messages", "ingested": tally.messages, "skipped": tally.messages_skipped},
        {"": "bad lines", "ingested": "", "skipped": len(tally.bad)},
    ]
    parts = [table(rows, {name: name for name in rows[0]})]
    if states is not None:
        parts += [plain(""), plain("jobs: " + (", ".join(f"{n} {state}" for state, n in states.items()) or "none"))]
    return Group(*parts)


def _show_bad_lines(bad: list[BadChatLine]) -> None:
    for one in bad[:_SHOWN_BAD_LINES]:
        remark(f"{one.where}: {one.reason}")
    if len(bad) > _SHOWN_BAD_LINES:
        remark(f"... and {len(bad) - _SHOWN_BAD_LINES} more; --json lists them all")
