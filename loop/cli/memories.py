"""``afterthought memories`` and ``facts``: reading, writing, changing and taking back what is remembered."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Annotated, Any

from rich.console import Group, RenderableType

from loop.cli.apps import purge
from loop.cli.output import Columns, card, columns, moment, plain, table
from loop.cli.table import APP, USER, Answer, Argument, Command
from loop.cli.table import argument as arg
from loop.cli.table import option as opt
from shared.base.choices import Category, FactState

_MEMORY = arg("memory_id", "MEMORY", "The memory's number.", int, min=1)
_IMPORTANCE = opt("importance", "How much it matters, 0 to 10.", kind=int, min=0, max=10)
_TAGS = opt("tags", "A tag; may be given more than once.", "--tag", kind=list[str])
_MEMORY_CARD = columns(
    "memory id | user userId | content | matters importance | pinned | tags | by agent | version | from * | made (UTC)"
    " @createdAt | changed @updatedAt",
    **{"*": lambda row: [source["conversationId"] for source in row["sources"]]},
)
_FACT = arg("fact_id", "FACT", "The fact's number.", int, min=1)
_FACTS = arg("ids", "FACT...", "The facts' numbers.", list[int], min=1)
_CATEGORY = opt("category", "What it is about.", kind=Category)
_OF_USER = opt("user_id", "Only of this user.", "--user")
_OfUser = Annotated[str | None, _OF_USER.info]
_PIN = "It is never evicted and never expires."
_FACT_CARD = columns(
    "fact id | statement fact | category | state | sure confidence | times mentionCount | pinned | user userId"
    " | by agent | replaced updatesFactId | from * | last said @saidAt | first heard @firstSeen | last heard @lastSeen",
    **{"*": lambda row: [one["conversationId"] or "by hand" for one in row["sources"]]},
)
_SCORES = columns(
    "fact id | score score:.2f | goes | expires (UTC) @expiresAt | user userId | category | sure confidence"
    " | statement fact"
)


def _with_evictions(memory: Answer, answer: Answer) -> RenderableType:
    went = (
        plain(f"Memory {one['memoryId']} made room ({one['outcome']}): {one['reason']}")
        for one in answer.get("madeRoom") or []
    )
    return Group(card(memory, _MEMORY_CARD), *went)


def _is_deleted(_: Answer, given: dict[str, Any]) -> str:
    if given["erase"]:
        return "Memory {memory_id} is erased.".format(**given)
    again = "Take it back: afterthought memories restore {app_id} {memory_id}"
    return f"Memory {{memory_id}} is deleted. {again}".format(**given)


def _compactions(found: Answer, given: dict[str, Any]) -> RenderableType:
    rows = [{"day": one["day"], "in all": one["compactions"], **one["outcomes"]} for one in found["days"]]
    busy = [row for row in rows if row["in all"]]
    titles: dict[str, Any] = {name.replace("_", " "): name for name in rows[0]}
    return table(busy, titles, f"No room was made in {given['days']} days.")


def _history(kind: str, group: str, user: Argument, text: str) -> Command:
    """Return the row of what became of one thing, or of all of an app or a user."""

    def of_one(given: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in given.items() if name != "user_id" or f"{kind}_id" not in given}

    one = arg(f"{kind}_id", f"[{kind.upper()}]", "Else the app's.", int | None, default=None, min=1)
    shown = f"change changeId | at (UTC) @at | {kind} {kind}Id | kind | by actor | why reason | before | after"
    return Command(
        name=f"{group} history", operation=f"list_{kind}_changes", help=text, arguments=(APP, one, user), limit=50,
        instead=(f"{kind}_id", f"show_{kind}_history"), prepare=of_one, columns=columns(shown),
        nothing="Nothing has happened yet.",
    )  # fmt: skip


def _whose(given: dict[str, Any]) -> str:
    return given["app_id"] if given["user_id"] is None else "{app_id} that name {user_id}".format(**given)


def _is_cleared(answer: Answer, given: dict[str, Any]) -> str:
    same = "" if given["user_id"] is None else f" --user {shlex.quote(given['user_id'])}"
    again = _undoable(answer["undoUntil"], f"undo-clear {given['app_id']}{same}")
    return f"{_counted(answer['deletedCount'])} deleted.{again}"


def _card_of(name: str, shown: Columns) -> Callable[[Answer], RenderableType]:
    return lambda answer: card(answer[name], shown)


def _bulk(name: str, text: str, outcome: str, undo: bool = False, more: Any = ()) -> Command:
    """Return the row of what is done to several facts, all or none."""

    def message(answer: Answer, given: dict[str, Any]) -> str:
        ids, category = given["ids"], given.get("category")
        named = f"Fact {ids[0]} is" if len(ids) == 1 else _counted(len(ids))
        fact = ids[0] if len(ids) == 1 else "FACT"
        again = _undoable(answer["results"][0]["undoUntil"], f"undo {given['app_id']} {fact}") if undo else ""
        return f"{named} {outcome}{'' if category is None else f' {category.value}'}.{again}"

    return Command(
        name=f"facts {name}", operation="change_facts", help=text, arguments=(APP, *more, _FACTS), done=message,
        prepare=lambda given: given | {"action": name},
    )  # fmt: skip


def _undoable(until: str, undo: str) -> str:
    return f" Until {moment(until)} UTC this can be taken back: afterthought facts {undo}"


def _counted(number: int) -> str:
    return "1 fact is" if number == 1 else f"{number} facts are"


def _with_outcome(added: Answer) -> RenderableType:
    notes = [plain("It was known already, and is more certain now.")] if added["merged"] else []
    notes += [plain(f"Fact {one} went for it.") for one in added["evicted"]]
    return Group(card(added, _FACT_CARD), *notes)


def _eviction(run: Answer) -> RenderableType:
    head = f"{run['standing']} facts stand; of a user with more than {run['remain']} those with the highest scores go."
    return Group(plain(head), table(run["facts"], _SCORES, "Nothing could go."))


COMMANDS = (
    Command(
        name="memories list", operation="list_memories", arguments=(APP, USER), limit=200,
        help="List what is remembered for an app, or for one of its users, last updated first.",
        nothing="{app_id} remembers nothing yet.",
        columns=columns("memory id | user userId | of (UTC) @createdAt | matters importance | pinned | by agent"
                        " | content"),
    ),
    Command(name="memories show", operation="show_memory", help="Show a memory and where it comes from.",
            arguments=(APP, _MEMORY), card=_MEMORY_CARD),
    Command(
        name="memories add", operation="write_memory",
        help="Write a memory by hand; at the cap the least important that is not pinned goes.",
        arguments=(APP, arg("content", "CONTENT", "What to remember."), _IMPORTANCE, _TAGS,
                   opt("pinned", "No machine may rewrite or remove it.", "--pin", kind=bool, default=False), USER),
        view=lambda added: _with_evictions(added, added),
    ),
    Command(
        name="memories edit", operation="edit_memory", help="Change a memory.", view=_card_of("memory", _MEMORY_CARD),
        arguments=(APP, _MEMORY, opt("content", "Its new text."), _IMPORTANCE, _TAGS,
                   opt("pinned", "Keep machines from rewriting it, or not.", "--pin/--unpin", kind=bool)),
        needs="give --content, --importance, --tag, --pin or --unpin",
    ),
    Command(
        name="memories delete", operation="delete_memory", done=_is_deleted,
        help="Delete a memory; it can be restored unless --erase is given.",
        arguments=(APP, _MEMORY, opt("erase", "Empty its history's text too; no restoring.", "--erase", kind=bool,
                                     default=False)),
    ),
    _history("memory", "memories", USER, "Show what became of a memory, or of all memories of an app or a user."),
    Command(
        name="memories restore", operation="restore_memory", help="Take back a change to a memory.",
        arguments=(APP, _MEMORY, opt("change_id", "The change to take back; else the latest.", "--change", kind=int,
                                     min=1)),
        view=lambda answer: _with_evictions(answer["memory"], answer),
    ),
    Command(
        name="memories compactions", operation="list_compactions", done=_compactions,
        help="Count how often room was made for a memory, day by day (UTC) and by what went.",
        arguments=(APP, USER, opt("days", "So many days, today the last.", kind=int, default=30, min=1, max=365)),
    ),
    Command(name="memories purge", operation="purge_memories", run=purge),
    Command(
        name="facts list", operation="list_facts", limit=150, nothing="{app_id} knows no such fact.",
        help="List what an app knows: pinned facts first, then by category, confidence and how lately they were said.",
        arguments=(APP, _CATEGORY, _OF_USER,
                   opt("pinned", "Only pinned ones, or only others.", "--pinned/--not-pinned", kind=bool),
                   opt("state", "Which facts to list.", kind=FactState, default=FactState.STANDING)),
        columns=columns("fact id | category | sure confidence | times mentionCount | last said (UTC) @saidAt | pinned"
                        " | user userId | statement fact"),
    ),
    Command(name="facts show", operation="show_fact", help="Show a fact and where it was said.",
            arguments=(APP, _FACT), card=_FACT_CARD),
    Command(
        name="facts add", operation="write_fact", view=_with_outcome,
        help="Write a fact by hand; without --category that is found by its words.",
        arguments=(APP, arg("fact", "STATEMENT", "What is so."), _CATEGORY,
                   opt("user_id", "The user it is about.", "--user"),
                   opt("pinned", _PIN, "--pin", kind=bool, default=False)),
    ),
    Command(name="facts edit", operation="edit_fact", help="Give a fact other words.",
            arguments=(APP, _FACT, arg("fact", "STATEMENT", "Its new words.")), view=_card_of("fact", _FACT_CARD)),
    _bulk("move", "Put facts into another category, all or none.", "moved to",
          more=(arg("category", "CATEGORY", "Where to.", Category),)),
    _bulk("pin", "Exempt facts from eviction and expiry, all or none; ten of a user at most.", "pinned"),
    _bulk("unpin", "Let facts be evicted and expire again.", "unpinned"),
    _bulk("delete", "Delete facts, all or none; for a while that can be taken back, then they are gone for good.",
          "deleted", undo=True),
    Command(name="facts undo", operation="undo_deleting_fact", help="Bring back a fact that was deleted a moment ago.",
            arguments=(APP, _FACT), view=_card_of("fact", _FACT_CARD)),
    Command(
        name="facts clear", operation="clear_facts", arguments=(APP, _OF_USER), done=_is_cleared,
        help="Delete all facts, or one user's; for some seconds that can be taken back, then they are erased for good.",
        question=lambda given: f"Delete all facts of {_whose(given)}? This can be taken back for a few seconds only.",
    ),
    Command(
        name="facts undo-clear", operation="undo_clearing_facts", arguments=(APP, _OF_USER),
        help="Bring back everything the last clear of the app's facts, or of that user's, deleted.",
        done=lambda answer, _: f"{_counted(answer['restoredCount'])} back.",
    ),
    _history("fact", "facts", _OF_USER, "Show what became of a fact, or of all facts of an app, or of a user."),
    Command(
        name="facts eviction", operation="show_fact_eviction", view=_eviction,
        help="Show which facts would go next, with their scores; nothing is changed.",
        arguments=(APP, _OF_USER, opt("more", "As if so many new facts of each user came.", kind=int, default=0, min=0,
                                      max=150)),
    ),
)  # fmt: skip
