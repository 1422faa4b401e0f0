"""``afterthought facts``: reading, writing, changing and taking back what an app knows about its users."""

from __future__ import annotations

import shlex
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType

from loop.cli.invocation import AppArgument, Invocation, YesOption, command, confirm
from loop.cli.memories import show_changes
from loop.cli.output import Columns, at, card, moment, plain, rounded, table
from loop.cli.routes import given, route
from shared.base.choices import FactState
from shared.facts.categories import Category

group = typer.Typer(help="Read, write, change and take back an app's facts.", no_args_is_help=True)
FactArgument = Annotated[int, typer.Argument(metavar="FACT", min=1, help="The fact's number.")]
FactsArgument = Annotated[list[int], typer.Argument(metavar="FACT...", min=1, help="The facts' numbers.")]
CategoryOption = Annotated[Category | None, typer.Option(help="What it is about.")]
AboutOption = Annotated[str | None, typer.Option("--user", help="The user it is about.")]
OnlyUserOption = Annotated[str | None, typer.Option("--user", help="Only of this user.")]
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
    "score": rounded("score"),
    "goes": "goes",
    "expires (UTC)": at("expiresAt"),
    "user": "userId",
    "category": "category",
    "sure": "confidence",
    "statement": "fact",
}
_CARD: Columns = {
    "fact": "id",
    "statement": "fact",
    "category": "category",
    "state": "state",
    "sure": "confidence",
    "times": "mentionCount",
    "pinned": "pinned",
    "user": "userId",
    "by": "agent",
    "replaced": "updatesFactId",
    "from": lambda row: [one["conversationId"] or "by hand" for one in row["sources"]],
    "last said": at("saidAt"),
    "first heard": at("firstSeen"),
    "last heard": at("lastSeen"),
}


@command(group, "list", limit=150)
def list_facts(
    call: Invocation,
    app: AppArgument,
    category: CategoryOption = None,
    user: OnlyUserOption = None,
    pinned: Annotated[
        bool | None, typer.Option("--pinned/--not-pinned", help="Only pinned ones, or only others.")
    ] = None,
    state: Annotated[FactState, typer.Option(help="Which facts to list.")] = FactState.STANDING,
) -> None:
    """List what an app knows: pinned facts first, then by category, confidence and how lately they were said."""
    wanted = {"category": category, "userId": user, "state": state, "pinned": pinned}
    call.show_listing(route("apps", app, "facts"), "facts", _COLUMNS, f"{app} knows no such fact.", **wanted)


@command(group, "show")
def show_fact(call: Invocation, app: AppArgument, fact: FactArgument) -> None:
    """Show a fact and where it was said."""
    call.show_card(call.service.get(route("apps", app, "facts", fact)), _CARD)


@command(group, "add")
def add_fact(
    call: Invocation,
    app: AppArgument,
    statement: Annotated[str, typer.Argument(help="What is so.")],
    category: CategoryOption = None,
    user: AboutOption = None,
    pin: Annotated[bool, typer.Option("--pin", help="It is never evicted and never expires.")] = False,
) -> None:
    """Write a fact by hand; without --category that is found by its words."""
    body = given({"fact": statement, "category": category, "userId": user, "pinned": pin or None})
    call.show(call.service.post(route("apps", app, "facts"), body), _with_outcome)


@command(group, "edit")
def edit_fact(
    call: Invocation,
    app: AppArgument,
    fact: FactArgument,
    statement: Annotated[str, typer.Argument(help="Its new words.")],
) -> None:
    """Give a fact other words."""
    answer = call.service.patch(route("apps", app, "facts", fact), {"fact": statement})
    call.show(answer, lambda answer: card(answer["fact"], _CARD))


@command(group, "move")
def move_facts(
    call: Invocation,
    app: AppArgument,
    category: Annotated[Category, typer.Argument(help="Where to.")],
    facts: FactsArgument,
) -> None:
    """Put facts into another category, all or none."""
    _bulk(call, app, facts, "move", f"moved to {category.value}", category=category)


@command(group, "pin")
def pin_facts(call: Invocation, app: AppArgument, facts: FactsArgument) -> None:
    """Exempt facts from eviction and expiry, all or none; ten of a user at most."""
    _bulk(call, app, facts, "pin", "pinned")


@command(group, "unpin")
def unpin_facts(call: Invocation, app: AppArgument, facts: FactsArgument) -> None:
    """Let facts be evicted and expire again."""
    _bulk(call, app, facts, "unpin", "unpinned")


@command(group, "delete")
def delete_facts(call: Invocation, app: AppArgument, facts: FactsArgument) -> None:
    """Delete facts, all or none; for a while that can be taken back, then they are gone for good."""
    _bulk(call, app, facts, "delete", "deleted", f"undo {app} {facts[0] if len(facts) == 1 else 'FACT'}")


@command(group, "undo")
def undo_delete(call: Invocation, app: AppArgument, fact: FactArgument) -> None:
    """Bring back a fact that was deleted a moment ago."""
    answer = call.service.post(route("apps", app, "facts", fact, "undo"))
    call.show(answer, lambda answer: card(answer["fact"], _CARD))


@command(group, "clear")
def clear_facts(call: Invocation, app: AppArgument, user: OnlyUserOption = None, yes: YesOption = False) -> None:
    """Delete all facts, or one user's; for some seconds that can be taken back, then they are erased for good."""
    whose = app if user is None else f"{app} that name {user}"
    confirm(f"Delete all facts of {whose}? This can be taken back for a few seconds only.", yes)
    answer = call.service.delete(route("apps", app, "facts"), userId=user)
    same = "" if user is None else f" --user {shlex.quote(user)}"
    again = _undoable(answer["undoUntil"], f"undo-clear {app}{same}")
    call.done(answer, f"{_counted(answer['deletedCount'])} deleted.{again}")


@command(group, "undo-clear")
def undo_clear(call: Invocation, app: AppArgument, user: OnlyUserOption = None) -> None:
    """Bring back everything the last clear of the app's facts, or of that user's, deleted."""
    answer = call.service.post(route("apps", app, "facts", "undo"), userId=user)
    call.done(answer, f"{_counted(answer['restoredCount'])} back.")


@command(group, "history", limit=50)
def show_fact_history(
    call: Invocation,
    app: AppArgument,
    fact: Annotated[int | None, typer.Argument(metavar="[FACT]", min=1, help="Else the app's.")] = None,
    user: OnlyUserOption = None,
) -> None:
    """Show what became of a fact, or of all facts of an app, or of a user."""
    show_changes(call, app, "fact", fact, user)


@command(group, "eviction")
def show_eviction(
    call: Invocation,
    app: AppArgument,
    user: OnlyUserOption = None,
    more: Annotated[int, typer.Option(min=0, max=150, help="As if so many new facts of each user came.")] = 0,
) -> None:
    """Show which facts would go next, with their scores; nothing is changed."""
    run = call.service.get(route("apps", app, "facts", "eviction"), more=more, userId=user)
    head = f"{run['standing']} facts stand; of a user with more than {run['remain']} those with the highest scores go."
    call.show(run, lambda run: Group(plain(head), table(run["facts"], _SCORE_COLUMNS, "Nothing could go.")))


def _bulk(
    call: Invocation, app: str, facts: list[int], action: str, outcome: str, undo: str | None = None, **more: Any
) -> None:
    answer = call.service.post(route("apps", app, "facts", "bulk"), {"action": action, "ids": facts, **more})
    named = f"Fact {facts[0]} is" if len(facts) == 1 else _counted(len(facts))
    again = _undoable(answer["results"][0]["undoUntil"], undo) if undo else ""
    call.done(answer, f"{named} {outcome}.{again}")


def _undoable(until: str, undo: str) -> str:
    return f" Until {moment(until)} UTC this can be taken back: afterthought facts {undo}"


def _counted(number: int) -> str:
    return "1 fact is" if number == 1 else f"{number} facts are"


def _with_outcome(added: dict[str, Any]) -> RenderableType:
    told = [plain("It was known already, and is more certain now.")] if added["merged"] else []
    told += [plain(f"Fact {one} went for it.") for one in added["evicted"]]
    return Group(card(added, _CARD), *told)
