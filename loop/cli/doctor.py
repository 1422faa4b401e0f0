"""``afterthought doctor``: looks at every dependency and says how to mend it."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from loop.cli.invocation import Invocation, command
from loop.cli.output import plain, table

if TYPE_CHECKING:
    from loop.cli.checks import Finding

_MARKS = {"ok": "ok", "warn": "WARN", "fail": "FAIL"}


def add_to(program: typer.Typer) -> None:
    """Add the command."""
    command(program, "doctor")(doctor)


def doctor(call: Invocation) -> None:
    """Check every dependency and say how to mend what is not well; status 1 if anything fails."""
    findings = _examine(call)
    counts = Counter(finding.health.value for finding in findings)
    answer = {"findings": [asdict(finding) for finding in findings], "counts": dict(counts)}
    call.output.show(answer, lambda: _report(findings, counts))
    if counts["fail"]:
        raise typer.Exit(1)


def _examine(call: Invocation) -> list[Finding]:
    # What examines brings the clients of everything there is, which --help does without.
    from loop.cli.checks import (  # as above
        check_clock,
        check_database,
        check_disk,
        check_embedding,
        check_home,
        check_models,
        check_python,
        check_redis,
        check_service,  # as above
        check_sessions,
        read_or_find_wrong,
    )
    from shared.clock import SystemClock  # as above

    settings, findings = read_or_find_wrong()
    findings = [check_python(), *findings]
    if settings is None:
        return findings
    now = SystemClock().now()
    return [
        *findings,
        *check_home(settings.home),
        check_sessions(settings.sessions_path),
        check_disk(settings.home),
        check_clock(now, settings.home),
        *check_database(settings.database),
        *check_redis(settings),
        *check_models(settings),
        *check_embedding(settings),
        *check_service(call, now),
    ]


def _report(findings: list[Finding], counts: Counter[str]) -> RenderableType:
    rows = [
        {"": _MARKS[one.health.value], "what": one.what, "found": one.found, "how to mend it": one.mend}
        for one in findings
    ]
    return Group(table(rows, {title: title for title in rows[0]}), plain(""), _verdict(counts))


def _verdict(counts: Counter[str]) -> Text:
    if counts["fail"]:
        return plain(f"{counts['fail']} to mend, {counts['warn']} to look at.")
    return plain(f"All works; {counts['warn']} to look at." if counts["warn"] else "All is well.")
