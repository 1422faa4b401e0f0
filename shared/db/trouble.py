"""What keeps a database from taking writes, as its driver tells it, and what to do about it.

A name of SQLite's result code or a SQLSTATE of PostgreSQL tells which; the drivers' classes do not.
"""

from __future__ import annotations

from enum import StrEnum

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from shared.errors import Transient

_MAY_PASS = (OperationalError, InterfaceError)


class Trouble(StrEnum):
    """What is wrong; the value says it, and what to do."""

    FULL = (
        "The disk of the database is full: what is there can be read, nothing can be written. Make room on it; the "
        "service goes on by itself."
    )
    READ_ONLY = (
        "The database is read-only at the moment, as after a failover: what is there can be read. Try again; the "
        "service looks for one that takes writes by itself."
    )
    DAMAGED = (
        "The database's file is damaged. Stop everything, keep a copy of its folder, and restore the last backup "
        "(ops/runbook.md, Backup and restore)."
    )
    FAILING = "The disk of the database fails: look at the machine's log and its disks, and keep a backup at hand."


_SIGNS: dict[Trouble, tuple[str, ...]] = {
    Trouble.FULL: ("SQLITE_FULL", "53100"),
    Trouble.READ_ONLY: ("SQLITE_READONLY", "25006"),
    Trouble.DAMAGED: ("SQLITE_CORRUPT", "SQLITE_NOTADB", "XX001", "XX002"),
    Trouble.FAILING: ("SQLITE_IOERR", "58030"),
}


def trouble_of(error: DBAPIError) -> Trouble | None:
    """Return what is wrong with the database itself; None where an error says nothing of it."""
    sign = getattr(error.orig, "sqlite_errorname", None) or getattr(error.orig, "sqlstate", None) or ""
    return next((trouble for trouble, signs in _SIGNS.items() if sign.startswith(signs)), None)


def as_transient(error: DBAPIError) -> Transient | None:
    """Return what is to be told of a driver's error that may pass; None for one that is a mistake of ours."""
    trouble = trouble_of(error)
    if trouble is not None:
        return Transient(f"{trouble} ({_brief(error)})")
    if isinstance(error, _MAY_PASS) or error.connection_invalidated:
        return Transient(f"The database did not answer ({_brief(error)}); try again.")
    return None


def _brief(error: DBAPIError) -> str:
    return (str(error.orig).splitlines() or [""])[0][:200]
