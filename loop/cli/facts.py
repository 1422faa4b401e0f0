"""``afterthought facts``: reading, writing, changing and taking back what an app knows about its users."""

from __future__ import annotations

import shlex
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType

from loop.cli.invocation import AllOption, AppArgument, Invocation, LimitOption, YesOption, command, confirm, route
from loop.cli.output import Columns, at, card, moment, plain, table

group = typer.Typer(help="Read, write, change and take back an app's facts.", no_args_is_help=True)
FactArgument = Annotated[int, typer.Argument(metavar="FACT", min=1, help="The fact's number.")]
FactsArgument = Annotated[list[int], typer.Argument(metavar="FACT...", min=1, help="The facts' numbers.")]
_CHANGE_COLUMNS: Columns = {
    "change": "changeId",
    "at (UTC)": at("at"),
    "fact": "factId",
    "kind": "kind",
    "by": "actor",
    "why": "reason",
    "before": "before",
    "after": "after",
}
_COLUMNS: Columns = {
    "fact": "id",
    "category": "category",
    "sure": "confidence",
    "times": "mentionCount",
    "last said (UTC)": at("saidAt"),
    "pinned": "pinned",
    "user": "userId",
    "statement": "fact",
}
_SCORE_COLUMNS: Columns = {
    "fact": "id",
    "score": lambda row: f"{row['score']:.2f}",
    "goes": "goes",
    "expires (UTC)": at("expiresAt"),
    "user": "userId",
    "category": "category",
    "sure": "confidence",
    "statement": "fact",
}


class Kind(StrEnum):
    """The categories, as options take them."""

    PROJECT = "project"
    PREFERENCE = "preference"
    IDENTITY = "identity"


class State(StrEnum):
    """Where facts stand, as options take it."""

    STANDING = "standing"
    REPLACED = "replaced"
    DELETED = "deleted"


_Category = Annotated[Kind | None, typer.Option(help="What it is about.")]
_User = Annotated[str | None, typer.Option("--user", help="The user it is about.")]
_OnlyUser = Annotated[str | None, typer.Option("--user", help="Only of this user.")]


@command(group, "list")
def list_facts(
    call: Invocation,
    app: AppArgument,
    category: _Category = None,
    user: _OnlyUser = None,
    pinned: Annotated[
        bool | None, typer.Option("--pinned/--not-pinned", help="Only pinned ones, or only others.")
    ] = None,
    state: Annotated[State, typer.Option(help="Which facts to list.")] = State.STANDING,
    limit: LimitOption = 150,
    all_: AllOption = False,
) -> None:
    """List what an app knows: pinned facts first, then by category, confidence and how lately they were said."""
    wanted = _given({"category": category, "userId": user, "state": state, "pinned": _flag(pinned)})
    path = route("apps", app, "facts")
    facts = list(call.service.listing(path, "facts", None if all_ else limit, **wanted))
    call.output.show(facts, lambda: table(facts, _COLUMNS, f"{app} knows no such fact."))


@command(group, "show")
def show_fact(call: Invocation, app: AppArgument, fact: FactArgument) -> None:
    """Show a fact and where it was said."""
    found = call.service.get(route("apps", app, "facts", fact))
    call.output.show(found, lambda: _card(found))


@command(group, "add")
def add_fact(
    call: Invocation,
    app: AppArgument,
    statement: Annotated[str, typer.Argument(help="What is so.")],
    category: _Category = None,
    user: _User = None,
    pin: Annotated[bool, typer.Option("--pin", help="It is never evicted and never expires.")] = False,
) -> None:
    """Write a fact by hand; without --category that is found by its words."""
    body = {"fact": statement, "category": category, "userId": user, "pinned": pin or None}
    made = call.service.post(route("apps", app, "facts"), _given(body))
    call.output.show(made, lambda: _with_outcome(made))


@command(group, "edit")
def edit_fact(
    call: Invocation,
    app: AppArgument,
    fact: FactArgument,
    statement: Annotated[str, typer.Argument(help="Its new words.")],
) -> None:
    """Give a fact other words."""
    answer = call.service.patch(route("apps", app, "facts", fact), {"fact": statement})
    call.output.show(answer, lambda: _card(answer["fact"]))


@command(group, "move")
def move_facts(
    call: Invocation,
    app: AppArgument,
    category: Annotated[Kind, typer.Argument(help="Where to.")],
    facts: FactsArgument,
) -> None:
    """Put facts into another category, all or none."""
    body = {"action": "move", "ids": facts, "category": category}
    answer = call.service.post(route("apps", app, "facts", "bulk"), body)
    call.output.done(answer, f"{_named(facts)} moved to {category.value}.")


@command(group, "pin")
def pin_facts(call: Invocation, app: AppArgument, facts: FactsArgument) -> None:
    """Exempt facts from eviction and expiry, all or none; ten of a user at most."""
    answer = call.service.post(route("apps", app, "facts", "bulk"), {"action": "pin", "ids": facts})
    call.output.done(answer, f"{_named(facts)} pinned.")


@command(group, "unpin")
def unpin_facts(call: Invocation, app: AppArgument, facts: FactsArgument) -> None:
    """Let facts be evicted and expire again."""
    answer = call.service.post(route("apps", app, "facts", "bulk"), {"action": "unpin", "ids": facts})
    call.output.done(answer, f"{_named(facts)} unpinned.")


@command(group, "delete")
def delete_facts(call: Invocation, app: AppArgument, facts: FactsArgument) -> None:
    """Delete facts, all or none; for a while that can be taken back, then they are gone for good."""
    answer = call.service.post(route("apps", app, "facts", "bulk"), {"action": "delete", "ids": facts})
    until = moment(answer["results"][0]["undoUntil"])
    which = facts[0] if len(facts) == 1 else "FACT"
    again = f"Until {until} UTC this can be taken back: afterthought facts undo {app} {which}"
    call.output.done(answer, f"{_named(facts)} deleted. {again}")


@command(group, "undo")
def undo_delete(call: Invocation, app: AppArgument, fact: FactArgument) -> None:
    """Bring back a fact that was deleted a moment ago."""
    answer = call.service.post(route("apps", app, "facts", fact, "undo"))
    call.output.show(answer, lambda: _card(answer["fact"]))


@command(group, "clear")
def clear_facts(call: Invocation, app: AppArgument, user: _OnlyUser = None, yes: YesOption = False) -> None:
    """Delete all facts, or one user's; for some seconds that can be taken back, then they are erased for good."""
    whose = app if user is None else f"{app} that name {user}"
    confirm(f"Delete all facts of {whose}? This can be taken back for a few seconds only.", yes)
    answer = call.service.delete(route("apps", app, "facts"), userId=user)
    until = moment(answer["undoUntil"])
    same = "" if user is None else f" --user {shlex.quote(user)}"
    again = f"Until {until} UTC this can be taken back: afterthought facts undo-clear {app}{same}"
    call.output.done(answer, f"{_counted(answer['deletedCount'])} deleted. {again}")


@command(group, "undo-clear")
def undo_clear(call: Invocation, app: AppArgument, user: _OnlyUser = None) -> None:
    """Bring back everything the last clear of the app's facts, or of that user's, deleted."""
    answer = call.service.post(route("apps", app, "facts", "undo"), userId=user)
    call.output.done(answer, f"{_counted(answer['restoredCount'])} back.")


@command(group, "history")
def show_history(
    call: Invocation,
    app: AppArgument,
    fact: Annotated[int | None, typer.Argument(metavar="[FACT]", min=1, help="Else the app's.")] = None,
    user: _OnlyUser = None,
    limit: LimitOption = 50,
    all_: AllOption = False,
) -> None:
    """Show what became of a fact, or of all facts of an app, or of a user."""
    path = route("apps", app, "facts", "changes" if fact is None else fact)
    path = path if fact is None else f"{path}/history"
    wanted = _given({"userId": user}) if fact is None else {}
    changes = list(call.service.listing(path, "changes", None if all_ else limit, **wanted))
    call.output.show(changes, lambda: table(changes, _CHANGE_COLUMNS, "Nothing has happened yet."))


@command(group, "eviction")
def show_eviction(
    call: Invocation,
    app: AppArgument,
    user: _OnlyUser = None,
    more: Annotated[int, typer.Option(min=0, max=150, help="As if so many new facts of each user came.")] = 0,
) -> None:
    """Show which facts would go next, with their scores; nothing is changed."""
    run = call.service.get(route("apps", app, "facts", "eviction"), **_given({"more": more, "userId": user}))
    call.output.show(run, lambda: _scores(run))


def _given(body: dict[str, Any]) -> dict[str, Any]:
    return {field: value for field, value in body.items() if value is not None}


def _flag(wanted: bool | None) -> str | None:
    return None if wanted is None else str(wanted).lower()


def _named(facts: list[int]) -> str:
    return f"Fact {facts[0]} is" if len(facts) == 1 else _counted(len(facts))


def _counted(number: int) -> str:
    return "1 fact is" if number == 1 else f"{number} facts are"


def _card(fact: dict[str, Any]) -> RenderableType:
    return card(
        {
            "fact": fact["id"],
            "statement": fact["fact"],
            "category": fact["category"],
            "state": fact["state"],
            "sure": fact["confidence"],
            "times": fact["mentionCount"],
            "pinned": fact["pinned"],
            "user": fact["userId"],
            "by": fact["agent"],
            "replaced": fact["updatesFactId"],
            "from": [one["conversationId"] or "by hand" for one in fact["sources"]] or None,
            "last said": moment(fact["saidAt"]),
            "first heard": moment(fact["firstSeen"]),
            "last heard": moment(fact["lastSeen"]),
        }
    )


def _with_outcome(made: dict[str, Any]) -> RenderableType:
    told = [plain("It was known already, and is more certain now.")] if made["merged"] else []
    told += [plain(f"Fact {one} went for it.") for one in made["evicted"]]
    return Group(_card(made), *told)


def _scores(run: dict[str, Any]) -> RenderableType:
    head = f"{run['standing']} facts stand; of a user with more than {run['remain']} those with the highest scores go."
    return Group(plain(head), table(run["facts"], _SCORE_COLUMNS, "Nothing could go."))
