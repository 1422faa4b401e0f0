"""``afterthought jobs``, ``energy``, ``events``, ``webhooks``, and the processes of an installation on this machine."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType

from loop.cli.output import Columns, card, columns, moment, plain, progress, remark, table
from loop.cli.table import (
    APP,
    CONNECT_SECONDS,
    TIMEOUT_SECONDS,
    Answer,
    Command,
    Invocation,
    JsonOption,
    TokenOption,
    UrlOption,
    YesOption,
    confirm,
    given,
)
from loop.cli.table import argument as arg
from loop.cli.table import option as opt
from loop.mcp import is_installed, missing
from shared.base.errors import Configuration, Conflict, Invalid, Transient

POLL_SECONDS = 0.3
SUCCEEDED = {"done", "nothing"}
FINISHED = {*SUCCEEDED, "dead", "cancelled"}
JOB_COLUMNS = columns(
    "job jobId | kind | app appId | conversation conversationId | state | tries attempts | asked (UTC) @createdAt"
    " | finished @finishedAt | why reason"
)
_JOB_CARD = columns(
    "job jobId | kind | app appId | conversation conversationId | state | why reason | tries attempts | most tries"
    " maxAttempts | asked (UTC) @createdAt | due @dueAt | deferred since @deferredSince | expected to start @expectedAt"
    " | started @startedAt | finished @finishedAt"
)
_SPENDING_CARD = columns(
    "total | last 24 hours last24h | last hour last1h | last minute last1min | by kind byKind | hourly budget"
    " hourlyBudget | daily budget dailyBudget | held until (UTC) @heldUntil"
)
_JOB = arg("job_id", "JOB", "The job's id.")
_WEBHOOK = arg("webhook_id", "WEBHOOK", "The webhook's id.")
_KINDS = opt("kinds", "Only these kinds, by commas.", "--kinds")
_OF_CONVERSATION = opt("conversation_id", "Only those of this conversation.", "--conversation")
_FINDINGS: Columns = {
    "": lambda row: "ok" if row["health"] == "ok" else row["health"].upper(),
    **columns("what | found | how to mend it mend"),
}


def replay_jobs(
    call: Invocation,
    job_id: Annotated[str | None, typer.Argument(metavar="[JOB]", help="One dead or cancelled job's id.")] = None,
    app_id: Annotated[str | None, typer.Option("--app", help="The dead ones of this app.")] = None,
    kind: Annotated[str | None, typer.Option(help="The dead ones of this kind.")] = None,
    reason: Annotated[str | None, typer.Option(help="The dead ones whose reason holds this text.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All dead ones.")] = False,
    yes: YesOption = False,
) -> None:
    """Have a dead or cancelled job done again; or dead ones by app, kind and reason, counted first."""
    job_filter = given(app_id=app_id, kind=kind, reason=reason)
    if (job_id is not None) + bool(job_filter) + everything != 1:
        raise Invalid("Name one JOB; or narrow down with --app, --kind, --reason; or say --all.")
    if job_id is not None:
        answer = call.invoke(call.client.replay_job, job_id)
        call.done(answer, f"Job {job_id} is {answer.get('state', 'pending')} again.")
        return
    found = call.invoke(call.client.replay_jobs, **job_filter, dry_run=True)
    if found["left"]:
        kinds = ", ".join(f"{count} {kind}" for kind, count in found["matching"].items())
        confirm(f"Replay {found['left']} dead jobs ({kinds})?", yes)
        found = _replay_all(call, job_filter)
    summary = f"{found['replayed']} dead jobs will be done again"
    call.done(
        found, f"{summary}; {found['refused']} stay dead, see their reasons." if found["refused"] else f"{summary}."
    )


def _replay_all(call: Invocation, job_filter: dict[str, Any]) -> Answer:
    """Replay round after round; return what all of them came to."""
    total = answer = call.invoke(call.patient_client.replay_jobs, **job_filter)
    while answer["cursor"] is not None:
        answer = call.invoke(call.patient_client.replay_jobs, **job_filter, cursor=answer["cursor"])
        counts = {name: total[name] + answer[name] for name in ("replayed", "refused")}
        total = {**total, **counts, "left": answer["left"], "cursor": None}
    return dict(total)


def energy(
    call: Invocation, app_id: Annotated[str | None, typer.Option("--app", help="One app's spending.")] = None
) -> None:
    """Show the energy level, what waits for it and which apps spent most; or with --app what an app has spent."""
    if app_id is None:
        spent: Counter[str] = Counter()
        for hour in call.invoke(call.client.show_energy_history)["hours"]:
            spent.update(hour["byApp"])
        # The latest that was asked for starts last.
        waiting = call.invoke(call.client.list_jobs, state="deferred", limit=1)["jobs"]
        found = call.invoke(call.client.show_energy)
        expected = waiting[0]["expectedAt"] if waiting else None
        call.show(found | {"spentByApp": dict(spent.most_common()), "lastDeferredExpectedAt": expected}, _level)
    else:
        call.show_card(call.invoke(call.client.show_app_energy, app_id=app_id), _SPENDING_CARD)


def follow(call: Invocation, app_id: str, job_id: str, what: str) -> None:
    """Wait until a job about sessions has its result. Raises: Conflict where it ended without one."""
    with progress(what) as update:
        while (job := call.invoke(call.patient_client.show_session_job, job_id, app_id=app_id))[
            "state"
        ] not in FINISHED:
            waits = f" ({job['reason']})" if job.get("reason") else ""
            steps = job["progress"]
            update(completed=steps["done"], total=steps["total"] or None, description=what + waits)
            time.sleep(POLL_SECONDS)
    if job["state"] not in SUCCEEDED:
        raise Conflict(f"{what}: job {job_id} is {job['state']}: {job.get('reason') or 'no reason was given'}")


def _level(found: Answer) -> RenderableType:
    share, wait = found.get("memoryShare"), found.get("secondsUntilOpen")
    return card({
        "level": f"{found['level']:.1f} ({found['status']})",
        "reserved": f"{found.get('reserved', 0):g}",
        "refill": f"{found['replenishPerSecond']:g} units per second",
        "memory work starts above": f"{found.get('gatePercent', 20):g} %",
        "deferred jobs": found["deferredJobs"],
        "the last may start (UTC)": moment(found["lastDeferredExpectedAt"]),
        "spent by app, 24 h": ", ".join(f"{app_id} {units:,.0f}" for app_id, units in found["spentByApp"].items()),
        "memory work's share, 24 h": None if share is None else f"{share:.1%}",
        "memory work may start": "now" if wait == 0 else "never" if wait is None else f"in {wait:.0f} s",
    })  # fmt: skip


def follow_events(
    call: Invocation,
    app_id: Annotated[str, APP.info],
    after: Annotated[int | None, typer.Option("--after", min=0, help="Only events after this position.")] = None,
    kinds: Annotated[str | None, _KINDS.info] = None,
    conversation_id: Annotated[str | None, _OF_CONVERSATION.info] = None,
    count: Annotated[int | None, typer.Option("--count", min=1, help="Leave after so many events.")] = None,
) -> None:
    """Show the events of an app as they happen, until interrupted; with --json, one object a line."""
    from afterthought_client import ConnectionFailed  # heavy, and not needed for --help

    stream = call.client.follow_app(after=after, kinds=kinds, conversation_id=conversation_id, app_id=app_id)
    last = after
    try:
        for number, received in enumerate(stream, 1):
            event = {"kind": received.kind, **received.data}
            if call.as_json:
                typer.echo(json.dumps(event, ensure_ascii=False))
            else:
                parts = (moment(event.get("at")), event["kind"])
                more = (event.get(name) for name in ("conversationId", "subject", "content"))
                shown = "  ".join(
                    str(part) for part in (event.get("position"), *parts, *more) if part not in (None, "")
                )
                call.done(event, shown)
            if number == count:
                return
            last = event.get("position", last)
    except ConnectionFailed as error:
        # Nothing ever came: that nobody answers is for the client to say.
        if error.cause and last == after:
            raise
        again = "" if last is None else f" with --after {last}"
        why = f"broke off ({error.cause})" if error.cause else "ended"
        ended = f"The stream {why}, because the service stops or the app or token is gone"
        raise Transient(f"{ended}; follow it again{again}.") from None


def up() -> None:
    """Start everything on this machine (Redis, loop, worker) and keep it running until Ctrl-C."""
    from loop.up import run_up  # brings the client of Redis
    from shared.base.settings import names_given, unread_names  # as above

    settings = Invocation().settings
    for name, advice in unread_names(names_given()):
        remark(f"{name} is no setting. {advice}")
    raise typer.Exit(run_up(settings))


def run_loop() -> None:
    """Run the loop alone: the HTTP interface and the tick. Needs REDIS_URL."""
    _become("loop")


def run_worker(context: typer.Context) -> None:
    """Run one worker alone. Needs REDIS_URL; further arguments go to Celery's worker."""
    _become("worker", *context.args)


def migrate(as_json: JsonOption = False) -> None:
    """Bring the database's schema to this release's."""
    # All of it brings the database's tools, which --help does without.
    from sqlalchemy.exc import SQLAlchemyError

    from shared.db.engine import Database  # as above
    from shared.db.schema import current_revision, migrate

    call = Invocation(as_json)
    database = Database(call.settings.database, pool_size=1)
    try:
        before = current_revision(database)
        migrate(call.settings.database)
        after = current_revision(database)
    except SQLAlchemyError as error:
        raise Transient(f"DATABASE_URL: the database did not answer ({str(error).splitlines()[0][:300]}).") from None
    finally:
        database.dispose()
    sentence = f"The schema is current ({after})." if before == after else f"From {before or 'nothing'} to {after}."
    call.done({"before": before, "after": after}, sentence)


def mcp(
    app_id: Annotated[str, typer.Option("--app", help="The app whose memory it is.", show_default=False)],
    user_id: Annotated[
        str | None, typer.Option("--user", help="Whose memory it is; left out: what names nobody.", show_default=False)
    ] = None,
    url: UrlOption = None,
    token: TokenOption = None,
) -> None:
    """Serve the memory of one user as tools over standard input and output, for agents that speak MCP."""
    if not is_installed():
        raise Configuration(missing())
    import asyncio  # none of these is needed for --help

    import httpx  # as above

    from loop.mcp.server import serve_stdio  # as above, and brings the library
    from loop.mcp.service import MemoryService  # as above

    call = Invocation(given_url=url, given_token=token)
    timeout = httpx.Timeout(TIMEOUT_SECONDS, connect=CONNECT_SECONDS)

    async def serve() -> None:
        headers = {"Authorization": f"Bearer {call.token}"}
        async with httpx.AsyncClient(base_url=call.url, headers=headers, timeout=timeout, trust_env=False) as http:
            await serve_stdio(MemoryService(http, app_id, user_id or None))

    asyncio.run(serve())


def doctor(call: Invocation) -> None:
    """Check every dependency and say how to mend what is not well; status 1 if anything fails."""
    from loop.cli.checks import examine  # brings the clients of everything there is, which --help does without

    findings = [asdict(finding) for finding in examine(call)]
    counts = Counter(str(finding["health"]) for finding in findings)
    verdict = "All is well."
    if counts["fail"]:
        verdict = f"{counts['fail']} to mend, {counts['warn']} to look at."
    elif counts["warn"]:
        verdict = f"All works; {counts['warn']} to look at."
    answer = {"findings": findings, "counts": counts}
    call.show(answer, lambda _: Group(table(findings, _FINDINGS), plain(""), plain(verdict)))
    if counts["fail"]:
        raise typer.Exit(1)


def _become(module: str, *arguments: str) -> None:
    """Turn this process into ``python -m module``; a wrong setting is told here, before."""
    from loop.up import own_code_only  # brings the database's tools

    Invocation().settings  # noqa: B018
    # What is not written yet would be gone with this program.
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, "-m", module, *arguments], {**os.environ, **own_code_only()})


COMMANDS = (
    Command(
        name="jobs list", operation="list_jobs", help="List jobs, newest first.", limit=50, nothing="No such jobs.",
        arguments=(opt("state", "Only those in this state, for example dead."),
                   opt("app_id", "Only those of this app.", "--app"), opt("kind", "Only those of this kind."),
                   opt("reason", "Only those whose reason holds this text, in any case of letters.")),
        columns=JOB_COLUMNS,
    ),
    Command(name="jobs show", operation="show_job", help="Show a job.", arguments=(_JOB,), card=_JOB_CARD),
    Command(name="jobs replay", operation="replay_jobs", also={"replay_job": ""}, run=replay_jobs),
    Command(name="jobs cancel", operation="cancel_job", help="Cancel a job that is not finished.", arguments=(_JOB,),
            done="Job {job_id} is {answer[state]}."),
    Command(name="doctor", operation="show_findings", run=doctor),
    Command(name="energy", operation="show_energy", run=energy,
            also={"show_app_energy": "", "show_energy_history": ""}),
    Command(
        name="events list", operation="poll_events", help="List the events of an app that are kept, oldest first.",
        arguments=(APP, opt("after", "Only events after this position.", "--after", kind=int, default=0, min=0), _KINDS,
                   _OF_CONVERSATION, opt("limit", "Most events to show.", "--limit", kind=int, default=50, min=1,
                                         max=200)),
        field="events", nothing="No such events.",
        columns=columns("position | at (UTC) @at | kind | conversation conversationId | about subject | details"
                        " | content"),
    ),
    Command(name="events follow", operation="follow_app", run=follow_events),
    Command(
        name="webhooks add", operation="add_webhook", help="Add a webhook. Its secret is shown this once.",
        arguments=(APP, arg("address", "URL", "The address to tell."),
                   opt("kinds", "Only events of this kind; may be repeated.", "--kind", kind=list[str])),
        prepare=lambda given: {"url" if name == "address" else name: value for name, value in given.items()},
        card=columns("webhook webhookId | address url | secret (shown once) secret"),
    ),
    Command(
        name="webhooks list", operation="list_webhooks", arguments=(APP,), nothing="No webhooks.",
        help="List an app's webhooks, and how the last delivery to each of them went.",
        columns=columns("webhook webhookId | address url | kinds * | enabled | last told (UTC) @triedAt | outcome"
                        " | status | failing since (UTC) @failingSince | why disabled disabledWhy",
                        **{"*": lambda row: row["kinds"] or "all"}),
    ),
    Command(name="webhooks remove", operation="remove_webhook", help="Remove a webhook.", arguments=(APP, _WEBHOOK),
            done="Webhook {webhook_id} is told nothing more."),
    Command(
        name="webhooks test", operation="try_webhook", help="Send a webhook an event of kind webhook.test now.",
        arguments=(APP, _WEBHOOK), done="On its way; see how it went: afterthought jobs show {answer[jobId]}",
    ),
)  # fmt: skip
