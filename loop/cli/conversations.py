"""``afterthought conversations``, ``summaries``, ``answers``, ``search``, ``index`` and ``tuning``: what was said."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from inspect import Parameter, Signature
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from typer.core import TyperCommand
from typer.main import get_command

from loop.cli.operations import JOB_COLUMNS
from loop.cli.output import Row, card, columns, plain, table
from loop.cli.table import APP, CONVERSATION, Answer, Command, Invocation, given, require_finite
from loop.cli.table import argument as arg
from loop.cli.table import option as opt
from shared.base.errors import Invalid

_ANSWER = arg("answer_id", "ANSWER", "The answer's id.")
_TunedApp = Annotated[str | None, typer.Option("--app", help="One app; else all of them.")]
_DAYS = {"kind": datetime, "formats": ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]}
_CARD = columns(
    "conversation conversationId | app appId | user userId | state | messages messageCount | begun (UTC) @createdAt"
    " | waits for an answer since @unansweredSince | answer to approve pendingAnswerId | snoozed until @snoozedUntil"
    " | came back @wokenAt | ended @endedAt | why endReason | energy spent energySpent | energy budget energyBudget"
    " | budget budgetStatus | metadata"
)
_MESSAGES = columns("at (UTC) @createdAt | role | name | said *", **{"*": lambda row: _whole_text(row)})
_FOUND = (
    "score score:.2f | said (UTC) @createdAt | by * | conversation conversationId | message messageId | kind | content"
)
_VECTORS = columns(
    "vectors by model | state | vectors | filled *",
    **{"*": lambda row: "" if row["progress"] is None else "{done} of {total}".format(**row["progress"])},
)
_STAGES = columns("stage | count | mean (ms) mean:.1f | p50 (ms) p50:.1f | p95 (ms) p95:.1f | p99 (ms) p99:.1f")


def show_conversation(
    call: Invocation,
    app_id: Annotated[str, APP.info],
    conversation_id: Annotated[str, CONVERSATION.info],
    messages: Annotated[bool, typer.Option("--messages", help="Show what was said as well.")] = False,
) -> None:
    """Show a conversation, what it has cost and the jobs it gave rise to."""
    found = call.invoke(call.client.show_conversation, conversation_id, app_id=app_id)
    if messages:
        found["messages"] = call.entries(call.client.iter_messages, conversation_id, app_id=app_id)
    call.show(found, _conversation)


def _conversation(found: Answer) -> RenderableType:
    parts: list[RenderableType] = [card(found, _CARD)]
    if found.get("jobs"):
        parts += [plain(""), table(found["jobs"], JOB_COLUMNS)]
    if "messages" in found:
        parts += [plain(""), table(found["messages"], _MESSAGES, "Nothing was said.")]
    return Group(*parts)


def _whole_text(message: Row) -> str:
    from shared.conversations.chat_message import text_of, unspoken  # what checks messages is not needed for --help

    sent = dict(message)
    return "\n".join(filter(None, [text_of(sent), *unspoken(sent)]))


def _search(arguments: dict[str, Any]) -> dict[str, Any]:
    days = {
        name: arguments.pop(name).replace(tzinfo=UTC).isoformat() for name in ("since", "until") if name in arguments
    }
    return arguments | {
        "filters": days | {name: arguments.pop(name) for name in ("roles", "tags") if name in arguments}
    }


def _results(found: Answer, given: dict[str, Any]) -> RenderableType:
    shown = f"{_FOUND} | why" if given["explain"] else _FOUND
    rows = columns(shown, **{"*": lambda row: row["name"] or row["role"], "why": _why})
    parts = [table(found["results"], rows, "Nothing was found.")]
    if found["degraded"]:
        parts.append(plain(f"Done without: {', '.join(found['degraded'])}."))
        status = f"afterthought index status {given['app_id']}"
        parts.append(plain(f"What there is: {status}; what is wrong: afterthought doctor."))
    return Group(*parts)


def _why(row: Row) -> str:
    parts = sorted((row["explanation"] or {}).items(), key=lambda part: -abs(part[1]))
    return ", ".join(f"{name} {value:.2f}" for name, value in parts if value)


def _status(status: Answer) -> RenderableType:
    words = status["words"] if status["wordIndexPresent"] else "the word index is missing: afterthought index rebuild"
    fields = {"messages": status["messages"], "words of": words, "vectors still to make": status["unembedded"]}
    if status["backfill"]:
        fields["back-fill"] = "{done} of {total}".format(**status["backfill"])
    return Group(card(fields), table(status["vectors"], _VECTORS, "No vectors yet."))


def _figures(figures: Answer) -> RenderableType:
    gate = figures["gate"]
    wanting = [f"{name}: {way['why']}" for name, way in gate["ways"].items() if way["state"] != "passes"]
    if gate["summariesState"] != "passes":
        wanting.append("summaries: {summariesMade} made of {summariesAsked} asked for".format(**gate))
    fields = {
        "retrievals": figures["retrievals"],
        "found something": _share(figures["hitRate"]),
        "most alike": ", ".join(f"{one:.2f}" for one in figures["meanTopSimilarities"]) or "-",
        "token budget used": _share(figures["tokenBudgetUsed"]),
        "release gate": "\n".join([gate["state"].replace("_", " "), *wanting]),
    }
    stages = [{"stage": name, **took} for name, took in figures["durations"].items()]
    return Group(card(fields), table(stages, _STAGES, "No retrievals yet."))


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.0f} %"


class TuningCommand(TyperCommand):
    """Takes an option for each value that can be tuned, and hands them on as the context's object.

    Which there are is found out when this command is called: every other one would start a tenth of a second later.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options, after that of the app."""
        app, *shared = super().get_params(ctx)
        return [app, *_tuning_options(), *shared]

    def invoke(self, ctx: Any) -> Any:
        # It was registered without these options, and would refuse them.
        ctx.obj = {option.name: ctx.params.pop(option.name) for option in _tuning_options()}
        return super().invoke(ctx)


@cache
def _tuning_options() -> list[Any]:
    from shared.base.settings import Tuning, meaning_of  # heavy, as said above

    def take(**_: Any) -> None: ...

    options = []
    for name, field in Tuning.model_fields.items():
        shown: Any = Annotated[field.annotation, typer.Option(help=f"{meaning_of(name)}.")]
        options.append(Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=shown))
    take.__signature__ = Signature(options)  # type: ignore[attr-defined]
    parsed = typer.Typer(add_completion=False)
    parsed.command()(take)
    return get_command(parsed).params


def set_tuning(call: Invocation, ctx: typer.Context, app_id: _TunedApp = None) -> None:
    """Change what is given, at once and without a restart; numbers out of bounds are brought within them."""
    require_finite(ctx.obj)
    if not (changes := given(**ctx.obj)):
        raise Invalid("Give at least one value to change; --help lists them.")
    call.show(_tune(call, app_id, changes), _changed_values)


def reset_tuning(
    call: Invocation,
    app_id: _TunedApp = None,
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Which, as shown; else all.")] = None,
) -> None:
    """Take changes back, so that what lies beneath is in force again."""
    from pydantic.alias_generators import to_camel  # heavy, and not needed for --help

    from shared.base.settings import AppTuning, Tuning  # as above

    every = {to_camel(name): name for name in (Tuning if names or app_id is None else AppTuning).model_fields}
    if unknown := set(names or ()) - set(every):
        raise Invalid(f"{', '.join(sorted(unknown))}: no such value; there are {', '.join(every)}.")
    call.show(_tune(call, app_id, {every[name]: None for name in names or every}), _values)


def _tune(call: Invocation, app_id: str | None, changes: dict[str, Any]) -> Any:
    if app_id is None:
        return call.invoke(call.client.tune_all, **changes)
    return call.invoke(call.client.tune_app, app_id=app_id, **changes)


def _values(found: Answer) -> RenderableType:
    rows = [{"name": name, **value} for name, value in found.items() if isinstance(value, dict)]
    return table(rows, columns("what name | value | from source"))


def _changed_values(changed: Answer) -> RenderableType:
    notes = [plain(f"{name} was brought within its bounds.") for name in changed["clamped"]]
    notes += [plain(changed["note"])] if changed["note"] else []
    return Group(_values(changed), *notes)


COMMANDS = (
    Command(
        name="conversations list", operation="list_conversations", limit=50,
        help="List an app's conversations, newest first.", nothing="{app_id} has no such conversations.",
        arguments=(APP, opt("ended", "Only ended, or only open ones.", "--ended/--open", kind=bool),
                   opt("unanswered", "Only those that wait for an answer, or that do not.", "--unanswered/--answered",
                       kind=bool)),
        columns=columns("conversation conversationId | state | messages messageCount | user userId | begun (UTC)"
                        " @createdAt | waits since @unansweredSince | ended @endedAt"),
    ),
    Command(name="conversations show", operation="show_conversation", run=show_conversation),
    Command(
        name="conversations end", operation="end_conversation",
        help="End a conversation and ask for its memory; again, show the same jobs.",
        arguments=(APP, CONVERSATION, opt("reason", "Why, for the record.")),
        view=lambda answer: table(answer["jobs"], JOB_COLUMNS),
    ),
    Command(
        name="conversations extract", operation="extract_facts", arguments=(APP, CONVERSATION),
        help="Ask for the facts of what was said since they were last extracted; while that is under way, show its "
             "job.",
        view=lambda answer: table([answer["job"]], JOB_COLUMNS),
    ),
    Command(
        name="summaries list", operation="list_summaries", arguments=(APP, CONVERSATION), limit=20,
        help="List a conversation's summaries, newest first.", nothing="{conversation_id} has not been summarised yet.",
        columns=columns("made (UTC) @createdAt | messages * | tokens | by agent | vector embedded | content",
                        **{"*": lambda row: f"{row['fromPosition']}-{row['toPosition']}"}),
    ),
    Command(
        name="summaries make", operation="make_summary", arguments=(APP, CONVERSATION),
        help="Ask for a summary of what was said since the last; while one is under way, show its job.",
        view=lambda answer: table([answer["job"]], JOB_COLUMNS),
    ),
    Command(
        name="answers list", operation="list_answers", limit=50, help="List an app's answers, newest first.",
        arguments=(APP, opt("state", "Only those in this state, for example pending.")),
        columns=columns("answer answerId | conversation conversationId | state | thought out (UTC) @createdAt"
                        " | by model | decided @decidedAt | why reason | answer waits with content"),
        nothing="{app_id} has no such answers.",
    ),
    Command(
        name="answers approve", operation="approve_answer", help="Send an answer that waits for approval.",
        arguments=(APP, _ANSWER, opt("content", "Send this instead.")),
        done="Answer {answer_id} is sent to {answer[conversationId]}.",
    ),
    Command(
        name="answers reject", operation="reject_answer", help="Refuse an answer that waits for approval.",
        arguments=(APP, _ANSWER, opt("reason", "Why; the loop is told when it thinks again.")),
        done="Answer {answer_id} is rejected; the loop thinks about it again.",
    ),
    Command(
        name="search", operation="search_messages", help="Search what was said in an app, by words and meaning.",
        arguments=(
            APP, arg("query", "QUERY", "What to look for, in your own words."),
            opt("conversation_id", "Look in this conversation first.", "--conversation"),
            opt("user_id", "Only this user's conversations.", "--user"),
            opt("roles", "user or assistant; may be given more than once.", "--role", kind=list[str]),
            opt("since", "A day or a time, UTC.", **_DAYS), opt("until", "A day or a time, UTC.", **_DAYS),
            opt("tags", "A tag of the conversation.", "--tag", kind=list[str]),
            opt("limit", "Most results.", kind=int, default=10, min=1, max=200),
            opt("explain", "Say how each score came about.", "--explain", kind=bool, default=False),
        ),
        prepare=_search, done=_results,
    ),
    Command(name="index status", operation="show_indexes", help="Show how complete an app's indexes are.",
            arguments=(APP,), view=_status),
    Command(
        name="index backfill", operation="backfill_indexes", arguments=(APP,),
        help="Bring an app's messages into the indexes that are not there yet.",
        done="{answer[jobId]} does it; afterthought index status {app_id} shows how far it is.",
    ),
    Command(
        name="index rebuild", operation="rebuild_word_index",
        help="Make the word index of the whole installation anew.",
        question="Until it is filled again, old words are not found. Make the word index anew?",
        done="It is empty now; jobs that bring the messages in again: {answer[apps]}.",
    ),
    Command(
        name="index figures", operation="show_retrieval_metrics", help="Show how retrievals went.", view=_figures,
        arguments=(opt("app_id", "Only this app.", "--app"),
                   opt("hours", "Of so many hours.", kind=float, default=24, min=0.1)),
    ),
    Command(name="tuning show", operation="show_tuning", instead=("app_id", "show_app_tuning"), view=_values,
            help="Show what is in force, and where each value comes from.",
            arguments=(opt("app_id", "One app; else all of them.", "--app"),)),
    Command(name="tuning set", operation="tune_all", also={"tune_app": ""}, run=set_tuning, cls=TuningCommand),
    Command(name="tuning reset", operation="tune_all", run=reset_tuning),
)  # fmt: skip
