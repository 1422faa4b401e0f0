"""``afterthought import``: puts what was exported, here or elsewhere, into an app and says what became of all of it."""

from __future__ import annotations

import json
import re
import shutil
import sys
import time
import zlib
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any
from zipfile import BadZipFile, ZipFile, ZipInfo, is_zipfile
from zoneinfo import ZoneInfo

import orjson
import typer
from rich.console import Group, RenderableType

from loop.cli.operations import FINISHED, POLL_SECONDS, SUCCEEDED
from loop.cli.output import complain, plain, progress, remark, table
from loop.cli.table import Command, Invocation, YesOption
from shared.base.choices import ChatGrouping
from shared.base.errors import Configuration, Invalid
from shared.text.lines import read_json

if TYPE_CHECKING:
    from loop.cli.chats import BadChatLine, Convert
    from loop.cli.filling import Tally

_SHOWN_BAD_LINES = 20
_MOST_EXPANSION, _FREE_BYTES = 100, 32 * 2**20
"""A zip unpacks to so many times its size, beyond what any may, as one of sessions does."""


class ImportFormat(StrEnum):
    """Who wrote a file."""

    AFTERTHOUGHT = "afterthought"
    CHATS = "chats"
    CHATGPT = "chatgpt"
    CLAUDE = "claude"
    LANGCHAIN = "langchain"
    OPENAI_FINETUNING = "openai-finetuning"
    MEM0 = "mem0"
    AGENT_MEMORY_SERVER = "agent-memory-server"


_PERSONAL = (ImportFormat.CHATGPT, ImportFormat.CLAUDE)
_OF_STATEMENTS = (ImportFormat.MEM0, ImportFormat.AGENT_MEMORY_SERVER)
_OF_CONVERSATIONS = frozenset(ImportFormat) - {*_OF_STATEMENTS, ImportFormat.AFTERTHOUGHT}
_PACKED = {
    b"PK\x03\x04": "is a zip that was cut off: its end is missing. Download or copy it again.",
    b"\x1f\x8b": "is packed with gzip; unpack it first.",
}
_NUMBERED = re.compile(r"conversations[-_ (]*\d*\)?\.json")
"""A file of conversations in an export, and not one that lists these files."""


def import_file(
    call: Invocation,
    format: Annotated[
        ImportFormat,
        typer.Argument(
            help="afterthought: what `afterthought export` wrote; chats: role/content or ShareGPT; or who wrote it."
        ),
    ],
    file: Annotated[
        Path, typer.Argument(exists=True, help="JSON, JSON Lines, an export's zip, or the folder it was unpacked to.")
    ],
    app: Annotated[str | None, typer.Option("--app", help="The app to fill; else the one exported.")] = None,
    user: Annotated[str | None, typer.Option("--user", help="Whose all of it is; else whose the file says.")] = None,
    user_id: Annotated[str | None, typer.Option("--user-id", hidden=True, help="The same as --user.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count what the file holds; send nothing.")] = False,
    conversation_per: Annotated[
        ChatGrouping, typer.Option(help="What becomes one conversation: auto, day or file.")
    ] = ChatGrouping.AUTO,
    end: Annotated[bool, typer.Option("--end/--no-end", help="End each conversation: it is thought over.")] = True,
    time_zone: Annotated[
        str | None,
        typer.Option("--time-zone", help="Whose days are meant, as in Europe/Lisbon; else the file's offsets say."),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Send nothing if any line is bad.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until every conversation was thought over.")] = False,
    timeout: Annotated[float, typer.Option(min=0, help="Longest to wait, seconds.")] = 3600.0,
    yes: YesOption = False,
) -> None:
    """Put conversations or memories from a file into an app; what it already has is left as it is.

    Conversations of ChatGPT, Claude, LangChain and of plain files are opened, filled and ended, with the times they
    have in the file. Memories of mem0 and of agent-memory-server become facts. Running it twice adds nothing; a run
    that was cut off is taken up where it ended.
    """
    user_id = user or user_id
    zone = _zone(time_zone)
    if file.is_dir() and format not in _OF_CONVERSATIONS:
        raise Configuration(f"{file} is a folder; name the file of {format} in it.")
    if format is ImportFormat.AFTERTHOUGHT:
        if zone is not None:
            raise Configuration("What was exported here says in whose time zone each thing is; leave --time-zone out.")
        with _unpacked(file, format) as [archive]:
            _import_archive(call, archive, app, user_id, dry_run)
        return
    if app is None:
        raise Configuration(f"A file of {format} names no app; say which: --app APP")
    if format in _OF_STATEMENTS:
        with _unpacked(file, format) as [listing]:
            _import_statements(call, listing, app, user_id, zone, dry_run, strict, yes)
        return
    from loop.cli.chats import FileChat, read_chats  # what reads files is not needed for --help
    from loop.cli.filling import ChatImporter, Grouping, install_if_missing  # as above

    with _unpacked(file, format) as files:
        converter = _converter(format)
        parts = [(one, Grouping(conversation_per, one, zone), converter, len(files) > 1) for one in files]
        if format in _PERSONAL and user_id is None:
            remark(
                f"Warning: an export of {format} does not say whose it is. What is imported without --user USER names "
                f"nobody and is not recalled for any user of {app}."
            )
        # Gone through once without sending: all of it has to be looked at before any is sent.
        if dry_run or strict:
            rehearsal = ChatImporter(call, app, user_id, end, time_zone, dry_run=True)
            for part in parts:
                rehearsal.take_file(*part)
            if dry_run or rehearsal.tally.bad:
                _finish_count(call, app, format, rehearsal.tally, dry_run, yes)
                return
        # Read as far as the first: no app is installed for a file that holds nothing.
        holds = (isinstance(entry, FileChat) for one in files for entry in read_chats(one, converter))
        install_if_missing(call.patient_client, app, yes, lambda: any(holds))
        importer = ChatImporter(call, app, user_id, end, time_zone)
        for part in parts:
            importer.take_file(*part)
    tally = importer.tally
    states = _wait(call, tally, timeout) if wait else None
    answer = {"appId": app, "format": format, **tally.as_json()} | ({} if states is None else {"jobs": dict(states)})
    call.show(answer, lambda _: _summary(tally, states))
    _show_bad_lines(tally.bad)
    _show_continued(tally)
    if tally.undated and tally.messages:
        remark(f'{tally.undated} messages have no time in the file, so they count as said now: their "last year" too.')
    if tally.files_without_text:
        remark(f"{tally.files_without_text} attached files have no text in the file; what they are called came along.")
    if not tally.seen and not tally.bad:
        complain(f"{file} holds no conversations.")
        raise typer.Exit(1)
    if tally.bad or (states is not None and set(states) - SUCCEEDED):
        raise typer.Exit(1)


def _converter(format: ImportFormat) -> Convert:
    from loop.cli import chats, exports  # what reads files is not needed for --help

    return {
        ImportFormat.CHATGPT: exports.from_chatgpt,
        ImportFormat.CLAUDE: exports.from_claude,
        ImportFormat.LANGCHAIN: exports.from_langchain,
    }.get(format, chats.as_it_is)


def _finish_count(call: Invocation, app: str, format: ImportFormat, counted: Tally, dry_run: bool, yes: bool) -> None:
    """Show what a file holds, and that nothing of it was sent."""
    if dry_run:
        call.show(
            {"appId": app, "format": format, **counted.as_json()},
            lambda _: _summary(counted, None, "would be imported"),
        )
    _show_bad_lines(counted.bad)
    _show_continued(counted)
    if counted.bad:
        complain(f"{len(counted.bad)} bad lines; nothing was sent.")
        raise typer.Exit(1)
    remark("Nothing was sent.")
    _require_app(call, app, yes)


def _require_app(call: Invocation, app: str, yes: bool) -> None:
    """Say that an app is not there; leaves with status 1 where an import could not ask about it."""
    from loop.cli.filling import is_installed  # what reads files is not needed for --help

    if is_installed(call.patient_client, app):
        return
    complain(
        f"There is no app {app} yet; without --dry-run the import installs it, after asking unless --yes is given."
    )
    if not (yes or sys.stdin.isatty()):
        raise typer.Exit(1)


def _zone(time_zone: str | None) -> ZoneInfo | None:
    """Return a time zone by its name. Raises: Configuration."""
    if time_zone is None:
        return None
    from pydantic import TypeAdapter, ValidationError  # not needed for --help

    from shared.contracts.values import TimeZone  # as above

    try:
        return ZoneInfo(TypeAdapter(TimeZone).validate_python(time_zone))
    except ValidationError as error:
        raise Configuration(f"--time-zone: {error.errors()[0]['msg'].removeprefix('Value error, ')}.") from None


@contextmanager
def _unpacked(file: Path, format: ImportFormat) -> Iterator[list[Path]]:
    """Give the files of conversations: those in an export's zip or folder, or the file itself."""
    if file.is_dir():
        inside = sorted(file.rglob("*"))
        # A link may lead to what nobody meant to hand over.
        links = {one: None for one in inside if one.is_symlink()}
        if links:
            shown = ", ".join(str(one.relative_to(file)) for one in list(links)[:_SHOWN_BAD_LINES])
            remark(f"{len(links)} links in {file} were passed over, they may lead out of it: {shown}")
        files = [one for one in inside if one.match("*.json*") and one.is_file()]
        found = [one for one in files if not links.keys() & {one, *one.parents}]
        if format in _PERSONAL:
            names = _exported([str(one) for one in found])
        else:
            names = [str(one) for one in found if one.suffix in (".json", ".jsonl")]
    with TemporaryDirectory(prefix="import-") as folder:
        if file.is_dir() or not is_zipfile(file):
            files = [Path(one) for one in _some(names, file, format)] if file.is_dir() else [file]
            yield [_in_utf8(one, Path(folder, str(nth))) for nth, one in enumerate(files)]
            return
        try:
            with ZipFile(file) as packed:
                listed = sorted((one for one in packed.infolist() if not one.is_dir()), key=lambda one: one.filename)
                chosen = set(_some(_exported([one.filename for one in listed]), file, format))
                entries = [one for one in listed if one.filename in chosen]
                _refuse_bomb(file, entries)
                files = [_unpack(packed, one, Path(folder, str(number))) for number, one in enumerate(entries)]
        except (BadZipFile, OSError, EOFError, zlib.error, RuntimeError, NotImplementedError) as error:
            raise Configuration(f"{file}: {error}") from None
        yield [_in_utf8(one, Path(folder, str(nth))) for nth, one in enumerate(files)]


def _in_utf8(file: Path, folder: Path) -> Path:
    """Return a file of JSON, or what it says in UTF-8 where it is in UTF-16 or UTF-32. Raises: Configuration."""
    try:
        with file.open("rb") as opened:
            head = opened.read(4)
        for begin, what in _PACKED.items():
            if head.startswith(begin):
                raise Configuration(f"{file} {what}")
        encoding = json.detect_encoding(head)
        if encoding.startswith("utf-8"):
            return file
        folder.mkdir(exist_ok=True)
        text = folder / file.name
        text.write_bytes(file.read_bytes().decode(encoding, "replace").encode())
    except OSError as error:
        raise Configuration(f"{file}: {error.strerror}") from None
    return text


def _refuse_bomb(file: Path, entries: list[ZipInfo]) -> None:
    # No more than it says comes out of an entry.
    unpacked = sum(one.file_size for one in entries)
    if unpacked > _FREE_BYTES + _MOST_EXPANSION * file.stat().st_size:
        raise Invalid(
            f"{file} unpacks to {unpacked} bytes, more than {_MOST_EXPANSION} times its size, as no export does; "
            "unpack it yourself and name the file in it."
        )


def _unpack(packed: ZipFile, entry: ZipInfo, folder: Path) -> Path:
    """Unpack into a folder of its own: several may have one name, or one that another has as its folder."""
    folder.mkdir()
    unpacked = folder / Path(entry.filename).name
    with packed.open(entry) as source, unpacked.open("wb") as target:
        shutil.copyfileobj(source, target)
    return unpacked


def _exported(names: list[str]) -> list[str]:
    """Return the files of conversations among an export's files."""
    # macOS puts files of its own beside each.
    own = [name for name in names if "__MACOSX" not in Path(name).parts]
    numbered = [name for name in own if _NUMBERED.fullmatch(Path(name).name)]
    return numbered or [name for name in own if Path(name).match("conversations*.json")]


def _some(names: list[str], file: Path, format: ImportFormat) -> list[str]:
    if not names:
        is_personal = format in _PERSONAL or not file.is_dir()
        what = "conversations.json in it; is it an export of ChatGPT or Claude" if is_personal else "JSON in it"
        raise Invalid(f"{file} has no {what}?" if is_personal else f"{file} has no {what}.")
    return sorted(names)


def _import_statements(
    call: Invocation,
    file: Path,
    app: str,
    user_id: str | None,
    zone: ZoneInfo | None,
    dry_run: bool,
    strict: bool,
    yes: bool,
) -> None:
    from loop.cli.exports import StatementTally, read_statements, send_statements  # as above
    from loop.cli.filling import install_if_missing  # what reads files is not needed for --help

    tally = StatementTally()
    statements = read_statements(file, tally, zone)
    if dry_run or (strict and tally.bad):
        tally.facts = len(statements)
        tally.users = {user_id or one.user_id for one in statements}
    else:
        if statements:
            install_if_missing(call.patient_client, app, yes, lambda: True)
        send_statements(call, app, statements, user_id, tally)
    answer = {"appId": app, **tally.as_json()}
    sent = "facts would be imported" if dry_run else "facts"
    counts = f"{tally.facts} {sent}, of {len(tally.users - {None})} users, {tally.known} known already"
    left_out = f"{tally.left_out} messages left out, {len(tally.bad)} bad lines"
    call.show(answer, lambda _: plain(f"{counts}, {left_out}"))
    _show_bad_lines(tally.bad)
    if tally.evicted:
        remark(f"{tally.evicted} facts went again: nobody has more than 150, and those worth least go first.")
    if dry_run or (strict and tally.bad):
        remark("Nothing was sent.")
    if tally.bad or not (statements or tally.left_out):
        complain(f"{len(tally.bad)} bad lines." if tally.bad else f"{file} holds no memories.")
        raise typer.Exit(1)
    if dry_run:
        _require_app(call, app, yes)


def _import_archive(call: Invocation, file: Path, app: str | None, user_id: str | None, dry_run: bool) -> None:
    """Send what `afterthought export` wrote."""
    if user_id is not None:
        raise Configuration("What was exported here says whose each thing is; leave --user out.")
    try:
        archive = read_json(file.read_bytes())
    except orjson.JSONDecodeError as error:
        raise Invalid(f"{file} is not what `afterthought export` writes: {error}") from None
    except OSError as error:
        raise Configuration(f"{file}: {error.strerror}") from None
    exported = archive.get("app") if isinstance(archive, dict) else None
    target = app or (exported.get("appId") if isinstance(exported, dict) else None)
    if not isinstance(target, str):
        raise Invalid(f"{file} names no app; say which: --app APP")
    if dry_run:
        counts: dict[str, Any] = {name: len(rows) for name, rows in archive.items() if isinstance(rows, list)}
        call.show_card({"appId": target} | counts)
        remark("Nothing was sent.")
        return
    call.show_card(call.invoke(call.client.import_app, archive, app_id=target))


def _wait(call: Invocation, tally: Tally, timeout_seconds: float) -> Counter[str]:
    """Wait until every job is finished; return how many ended how, ``unfinished`` being those that did not."""
    waiting = deque(dict.fromkeys(tally.job_ids))
    states: Counter[str] = Counter()
    deadline = time.monotonic() + timeout_seconds
    with progress("thinking", len(waiting)) as update:
        while waiting:
            job = call.patient_client.show_job(waiting[0])
            if job.state in FINISHED:
                states[job.state] += 1
                waiting.popleft()
                update(advance=1, description="thinking")
            elif time.monotonic() > deadline:
                states["unfinished"] = len(waiting)
                break
            else:
                update(description=f"{job.state} {job.reason or ''}".strip())
                time.sleep(POLL_SECONDS)
    return states


def _summary(tally: Tally, states: Counter[str] | None, imported: str = "imported") -> RenderableType:
    rows = [
        {"": "conversations", imported: tally.conversations, "skipped": tally.conversations_skipped},
        {"": "messages", imported: tally.messages, "skipped": tally.messages_skipped},
        {"": "users", imported: len(tally.users), "skipped": ""},
        {"": "bad lines", imported: "", "skipped": len(tally.bad)},
    ]
    parts = [table(rows, {name: name for name in rows[0]})]
    if states is not None:
        parts += [plain(""), plain("jobs: " + (", ".join(f"{n} {state}" for state, n in states.items()) or "none"))]
    return Group(*parts)


def _show_continued(tally: Tally) -> None:
    if tally.continued:
        shown = ", ".join(tally.continued[:_SHOWN_BAD_LINES])
        more = ", ..." if len(tally.continued) > _SHOWN_BAD_LINES else ""
        remark(
            f"{len(tally.continued)} conversations ended here before and went on since; what was added is in: "
            f"{shown}{more}"
        )


def _show_bad_lines(bad: list[BadChatLine]) -> None:
    for one in bad[:_SHOWN_BAD_LINES]:
        remark(f"{one.where}: {one.reason}")
    if len(bad) > _SHOWN_BAD_LINES:
        remark(f"... and {len(bad) - _SHOWN_BAD_LINES} more; --json lists them all")


COMMANDS = (
    Command(
        name="import", operation="import_app", run=import_file,
        also={"start_conversation": ""},
    ),
)  # fmt: skip
