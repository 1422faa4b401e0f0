"""The machine: Python, the settings, the home, the disk, the clock."""

from __future__ import annotations

import difflib
import os
import platform
import shutil
import stat
import sys
import tempfile
from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from pathlib import Path

from dotenv import dotenv_values

from loop.cli.checks.finding import Finding, fail, ok, warn
from shared.errors import Configuration
from shared.settings import Settings, environment_name, read_settings

_OLDEST_PYTHON = (3, 11)
_PREFIX = "AFTERTHOUGHT_"
_OF_THE_COMMAND_LINE = {"AFTERTHOUGHT_URL", "AFTERTHOUGHT_TOKEN"}
_LITTLE_BYTES = 1_000_000_000
_TOO_LITTLE_BYTES = 100_000_000
_PLAUSIBLE_YEARS = range(2025, 2100)


def check_python() -> Finding:
    """Look at the interpreter."""
    found = f"{platform.python_implementation()} {platform.python_version()}"
    if sys.version_info < _OLDEST_PYTHON:
        return fail("python", found, "Install Python 3.11 or newer and run ./ops/up again.")
    return ok("python", found)


def read_or_find_wrong() -> tuple[Settings | None, list[Finding]]:
    """Return the settings if they can be read, and what is to be said about them."""
    try:
        settings = read_settings()
    except Configuration as error:
        problems = error.message.removeprefix("Wrong settings: ").split("; ")
        return None, [fail("settings", problem, "Correct it in the environment or in .env.") for problem in problems]
    given = sorted(environment_name(field) for field in settings.model_fields_set)
    findings = [ok("settings", f"given: {', '.join(given)}" if given else "all at their defaults")]
    return settings, [*findings, *check_names(names_given())]


def names_given() -> set[str]:
    """Return the names of all variables that are set in the environment or in ``.env``."""
    return {*os.environ, *dotenv_values(".env")}


def check_names(environment: Collection[str]) -> Iterator[Finding]:
    """Look for variables that are meant for us and that nobody reads."""
    known = {environment_name(field) for field in Settings.model_fields} | _OF_THE_COMMAND_LINE
    for name in sorted(environment):
        if name.startswith(_PREFIX) and name not in known:
            close = difflib.get_close_matches(name, known, 1)
            advice = f"Did you mean {close[0]}?" if close else "docs/reference/settings.md lists them all."
            yield warn("settings", f"{name} is no setting", advice)


def check_home(home: Path) -> list[Finding]:
    """Look at the data directory: there, writable, and its owner's alone."""
    if not home.exists():
        return [_creatable(home)]
    if not home.is_dir():
        return [fail("home", f"{home} is not a directory", "Set AFTERTHOUGHT_HOME to a directory.")]
    unwritable = _unwritable("home", home)
    if unwritable is not None:
        return [unwritable]
    return [_private(home, "700"), *(_private(path, "600") for path in [home / "admin_token"] if path.exists())]


def check_sessions(store: Path) -> Finding:
    """Look at the folder of recorded sessions: writable, or yet to be made."""
    if not store.exists():
        return ok("sessions", f"{store} will be made with the first session")
    if not store.is_dir():
        return fail("sessions", f"{store} is not a directory", "Set AFTERTHOUGHT_SESSIONS_DIR to a directory.")
    return _unwritable("sessions", store) or ok("sessions", f"{store} can be written")


def check_disk(home: Path) -> Finding:
    """Look at the space left where the data is."""
    free = shutil.disk_usage(_nearest(home)).free
    found = f"{free / 1e9:.1f} GB free at {home}"
    if free < _TOO_LITTLE_BYTES:
        return fail("disk", found, "Free some space, or set AFTERTHOUGHT_HOME to another disk.")
    return ok("disk", found) if free >= _LITTLE_BYTES else warn("disk", found, "Free some space soon.")


def check_clock(now: datetime, home: Path) -> Finding:
    """Look whether the time is plausible and does not lie before what was already written."""
    found = f"{now:%Y-%m-%d %H:%M:%S} UTC"
    mend = "Set the clock, for example with `timedatectl set-ntp true`."
    if now.year not in _PLAUSIBLE_YEARS:
        return fail("clock", found, mend)
    database = home / "afterthought.db"
    if database.exists() and database.stat().st_mtime > now.timestamp() + 60:
        written = datetime.fromtimestamp(database.stat().st_mtime, UTC)
        return warn("clock", f"{found}, but the database was written at {written:%Y-%m-%d %H:%M:%S}", mend)
    return ok("clock", found)


def _unwritable(what: str, folder: Path) -> Finding | None:
    """Return what keeps a folder from being written to, if anything does."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return None
    except OSError as error:
        return fail(what, f"{folder}: {error.strerror}", f"Make it writable: chmod u+rwx {folder}")


def _creatable(home: Path) -> Finding:
    parent = _nearest(home)
    if os.access(parent, os.W_OK | os.X_OK):
        return ok("home", f"{home} will be made at the first start")
    return fail("home", f"{home} cannot be made in {parent}", "Set AFTERTHOUGHT_HOME to a place you may write to.")


def _nearest(path: Path) -> Path:
    return next(one for one in (path, *path.parents) if one.exists())


def _private(path: Path, mode: str) -> Finding:
    actual = stat.S_IMODE(path.stat().st_mode)
    if actual & 0o077:
        state = fail if path.is_file() else warn
        return state("home", f"{path} can be read by others ({actual:o})", f"Run: chmod {mode} {path}")
    return ok("home", f"{path} is its owner's alone")
