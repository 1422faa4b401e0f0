"""What the doctor looks at: this machine, the stores, and what runs; each finding says how to mend what is not well."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx
import redis
import sqlalchemy as sa
from pydantic import TypeAdapter
from redis.backoff import NoBackoff
from redis.retry import Retry
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from afterthought_client import AfterthoughtError as ClientError
from loop.cli.model_checks import Finding, check_embedding, check_models, fail, ok, warn
from loop.cli.table import Invocation
from loop.embedded_redis import HOST, find_binary, is_free
from shared.base.clock import SystemClock
from shared.base.errors import AfterthoughtError, Configuration
from shared.base.installation import how_to_add, start_command
from shared.base.settings import (
    Settings,
    environment_name,
    environment_names,
    names_given,
    read_settings,
    unread_names,
    values_set,
)
from shared.contracts.jobs import JobKind
from shared.db.engine import Database
from shared.db.queries import size_in_bytes, table_sizes
from shared.db.schema import current_revision, newest_revision
from shared.energy.breaker import find_pause
from shared.energy.budget import carried_an_hour, estimated_conversation, refill_for, to_units
from shared.energy.ledger import paid_conversations
from shared.jobs.queries import count_asked_since
from shared.llm.calls import EXTRACTIVE
from shared.llm.providers import ModelSize
from shared.llm.transport import is_loopback, is_there
from shared.telemetry import tracing

_OLDEST_PYTHON = (3, 11)
_OLDEST_SQLITE = (3, 37)
_LITTLE_BYTES = 1_000_000_000
_TOO_LITTLE_BYTES = 100_000_000
_PLAUSIBLE_YEARS = range(2025, 2100)
_MOST_BYTES_READ = 1_000_000_000
"""Of an SQLite, to tell what its tables take."""
_LARGEST = 4
_TIMEOUT_SECONDS = 3.0
_READY_TIMEOUT_SECONDS = 5.0
_SKEW_SECONDS = 5.0
FoundT = TypeVar("FoundT")
_MIGRATE = "Run: afterthought migrate (`afterthought up` does it too)."


def examine(call: Invocation) -> list[Finding]:
    """Look at everything, as far as the settings can be read.

    A service that answers looks itself, as it may be set otherwise than this shell: other model, other database.
    """
    settings, findings = read_or_find_wrong()
    if settings is None:
        return [check_python(), *findings]
    now = SystemClock().now()
    response = _ask_readiness(call)
    if isinstance(response, Finding):
        return [*findings, check_python(), *_as_set_here(check_installation(settings, now)), response]
    ready = response.json()
    try:
        reported = call.invoke(call.client.show_findings)
    except (AfterthoughtError, ClientError) as error:
        found = "it did not say how it is set, so all is told as this shell is"
        findings += [check_python(), *_as_set_here(check_installation(settings, now))]
        findings += [warn("service", found, call.why(error)), *check_dependencies(ready)]
    else:
        if is_loopback(call.url):  # Of another machine's service nobody expects that it is set as this shell.
            findings += check_difference(values_set(settings), reported["settings"])
        findings += TypeAdapter(list[Finding]).validate_python(reported["findings"])
    return [*findings, _readiness(call.url, ready), *_dead_jobs(call), *_skew(response, now)]


def check_installation(settings: Settings, now: datetime) -> list[Finding]:
    """Look at this machine and the stores, but not at what runs."""
    return [
        *check_home(settings.home),
        check_sessions(settings.sessions_path),
        check_disk(settings.home),
        check_clock(now, settings.home),
        *check_database(settings.database),
        *check_redis(settings),
        *check_models(settings),
        *check_breaker(settings, now),
        *check_embedding(settings),
        *check_tracing(settings),
        check_energy(settings, now),
    ]


_OF_SETTINGS = {"model", "embedding", "traces", "energy"}
"""What is found of these says nothing of a service that is set otherwise."""


def _as_set_here(findings: list[Finding]) -> list[Finding]:
    """Return findings that say which of them hold only for a service that is set as this shell is."""
    return [
        replace(one, found=f"as this shell is set: {one.found}") if one.what in _OF_SETTINGS else one
        for one in findings
    ]


def check_difference(here: Mapping[str, str], there: Mapping[str, str]) -> Iterator[Finding]:
    """Look whether this shell would start the service as it runs."""
    names = sorted(name for name in {*here, *there} if here.get(name) != there.get(name))
    if names:
        sides = ((name, there.get(name, "not set"), here.get(name, "not set")) for name in names)
        each = "; ".join(f"{name} is {of_service} there and {of_shell} here" for name, of_service, of_shell in sides)
        remedy = (
            "The service runs with its own, and all other lines are of it. To give it this shell's, start it again "
            "from here; before you start a worker here, set this shell or its .env as the service is."
        )
        yield warn("settings", f"the service is set otherwise than this shell: {each}", remedy)


def check_python() -> Finding:
    found = f"{platform.python_implementation()} {platform.python_version()}"
    if sys.version_info < _OLDEST_PYTHON:
        return fail("python", found, "Install Python 3.11 or newer, and Afterthought again with it.")
    return ok("python", found)


def read_or_find_wrong() -> tuple[Settings | None, list[Finding]]:
    """Return the settings if they can be read, and what is to be said about them."""
    try:
        settings = read_settings()
    except Configuration as error:
        problems = error.message.removeprefix("Wrong settings: ").split("; ")
        return None, [fail("settings", problem, "Correct it in the environment or in .env.") for problem in problems]
    there = names_given()
    fields = [environment_names(field) for field in settings.model_fields_set]
    given = sorted(next((name for name in names if name in there), names[0]) for names in fields)
    findings = [ok("settings", f"given: {', '.join(given)}" if given else "all at their defaults")]
    unread = [warn("settings", f"{name} is no setting", advice) for name, advice in unread_names(there)]
    return settings, [*findings, *unread]


def check_home(home: Path) -> list[Finding]:
    """Look at the data directory: there, writable, and its owner's alone."""
    if not home.exists():
        parent = _nearest(home)
        if os.access(parent, os.W_OK | os.X_OK):
            return [ok("home", f"{home} will be made at the first start")]
        return [
            fail("home", f"{home} cannot be made in {parent}", "Set AFTERTHOUGHT_HOME to a place you may write to.")
        ]
    if not home.is_dir():
        return [fail("home", f"{home} is not a directory", "Set AFTERTHOUGHT_HOME to a directory.")]
    unwritable = _unwritable("home", home)
    if unwritable is not None:
        return [unwritable]
    return [_private(home, "700"), *(_private(path, "600") for path in [home / "admin_token"] if path.exists())]


def check_sessions(store: Path) -> Finding:
    if not store.exists():
        return ok("sessions", f"{store} will be made with the first session")
    if not store.is_dir():
        return fail("sessions", f"{store} is not a directory", "Set AFTERTHOUGHT_SESSIONS_DIR to a directory.")
    return _unwritable("sessions", store) or ok("sessions", f"{store} can be written")


def check_disk(home: Path) -> Finding:
    free = shutil.disk_usage(_nearest(home)).free
    found = f"{free / 1e9:.1f} GB free at {home}"
    if free < _TOO_LITTLE_BYTES:
        return fail("disk", found, "Free some space, or set AFTERTHOUGHT_HOME to another disk.")
    return ok("disk", found) if free >= _LITTLE_BYTES else warn("disk", found, "Free some space soon.")


def check_clock(now: datetime, home: Path) -> Finding:
    """Look whether the time is plausible and does not lie before what was already written."""
    found = f"{now:%Y-%m-%d %H:%M:%S} UTC"
    remedy = "Set the clock, for example with `timedatectl set-ntp true`."
    if now.year not in _PLAUSIBLE_YEARS:
        return fail("clock", found, remedy)
    database = home / "afterthought.db"
    if database.exists() and database.stat().st_mtime > now.timestamp() + 60:
        written = datetime.fromtimestamp(database.stat().st_mtime, UTC)
        return warn("clock", f"{found}, but the database was written at {written:%Y-%m-%d %H:%M:%S}", remedy)
    return ok("clock", found)


def _unwritable(what: str, folder: Path) -> Finding | None:
    """Return what keeps a folder from being written to, if anything does."""
    try:
        # Really written, as rights tell nothing of a disk that takes no writes.
        with tempfile.TemporaryFile(dir=folder):
            return None
    except OSError as error:
        return fail(what, f"{folder}: {error.strerror}", f"Make it writable: chmod u+rwx {folder}")


def _nearest(path: Path) -> Path:
    return next(one for one in (path, *path.parents) if one.exists())


def _private(path: Path, mode: str) -> Finding:
    actual = stat.S_IMODE(path.stat().st_mode)
    if actual & 0o077:
        state = fail if path.is_file() else warn
        return state("home", f"{path} can be read by others ({actual:o})", f"Run: chmod {mode} {path}")
    return ok("home", f"{path} is its owner's alone")


def _ask_readiness(call: Invocation) -> httpx.Response | Finding:
    """Return what the service says of itself, or what answers in its place."""
    try:
        # Nothing of the environment: a proxy that is set for the web does not lead to this machine.
        response = httpx.get(f"{call.url}/health/ready", timeout=_READY_TIMEOUT_SECONDS, trust_env=False)
        answer = response.json()
    except AfterthoughtError as error:
        return fail("service", "its address is not known", error.message)
    except httpx.HTTPError:
        return _nobody_there(call)
    except ValueError:
        answer = None
    if not isinstance(answer, dict) or not isinstance(answer.get("dependencies"), dict):
        remedy = "Stop it, or set AFTERTHOUGHT_PORT to another port."
        return fail("service", f"something else answers at {call.url}", remedy)
    return response


def _skew(response: httpx.Response, now: datetime) -> Iterator[Finding]:
    if "date" in response.headers:
        seconds = abs((parsedate_to_datetime(response.headers["date"]) - now).total_seconds())
        if seconds > _SKEW_SECONDS:
            remedy = "Set both clocks by NTP; dates in memories are the service's."
            yield warn("clock", f"this machine and the service differ by {seconds:.0f} s", remedy)


def _nobody_there(call: Invocation) -> Finding:
    settings = call.settings
    with contextlib.suppress(OSError):  # The address may be none of this machine's.
        if settings.port and not is_free(settings.host, settings.port):
            found = f"port {settings.port} on {settings.host} is taken by what does not speak HTTP"
            remedy = "Stop what holds the port, or set AFTERTHOUGHT_PORT to another one, or to 0 for any free one."
            return fail("service", found, remedy)
    return fail("service", f"nothing answers at {call.url}", f"Start it with {start_command()}.")


def _readiness(url: str, answer: dict[str, Any]) -> Finding:
    if answer.get("ready"):
        return ok("service", f"ready at {url}, version {answer.get('version')}")
    return fail("service", f"answers at {url} but is not ready", "The lines above say what it needs.")


def check_dependencies(answer: dict[str, Any]) -> Iterator[Finding]:
    for name, one in answer["dependencies"].items():
        if not one.get("ok"):
            state = fail if one.get("needed") else warn
            yield state(f"service: {name}", "the service cannot use it", str(one.get("detail")))
    worker = answer["dependencies"].get("worker", {})
    if worker.get("ok"):
        yield ok("worker", str(worker.get("detail")))


_MOST_COUNTED = 200


def _dead_jobs(call: Invocation) -> Iterator[Finding]:
    try:
        page = call.invoke(call.client.list_jobs, state="dead", limit=_MOST_COUNTED)
    except (AfterthoughtError, ClientError) as error:
        yield warn("jobs", "they could not be looked at", call.why(error))
        return
    if dead := page["jobs"]:
        count = f"{len(dead)}{' or more' if page['cursor'] else ''}"
        found = f"{count} failed for good, the latest: {dead[0].get('reason')}"
        yield warn("jobs", found, "See: afterthought jobs list --state dead; then: afterthought jobs replay")


def check_database(url: str) -> list[Finding]:
    """Look whether the database answers, has this release's schema, and can do what is needed."""
    location = make_url(url)
    is_file = location.get_backend_name() == "sqlite"
    if is_file and not Path(location.database or "").exists():
        return [ok("database", f"{location.database} will be made at the first start")]
    database = Database(url, pool_size=1)
    try:
        current, newest = current_revision(database), newest_revision()
        found = (
            "the database is empty" if current is None else f"at revision {current}, but this release wants {newest}"
        )
        if current != newest:
            return [*_abilities(database), fail("schema", found, _MIGRATE)]
        return [
            *_abilities(database),
            ok("schema", f"at revision {current}, as this release wants it"),
            _size(database),
        ]
    except (SQLAlchemyError, AfterthoughtError) as error:
        brief = str(getattr(error, "orig", None) or error).splitlines()[0][:200]
        # A password may stand in a parameter too.
        where = location.set(query={}).render_as_string(hide_password=True)
        return [fail("database", f"{where}: {brief}", "Start the database or correct DATABASE_URL.")]
    finally:
        database.dispose()


def _abilities(database: Database) -> Iterator[Finding]:
    with database.engine.connect() as connection:
        if not database.is_sqlite:
            version = connection.execute(sa.text("SHOW server_version")).scalar_one()
            yield ok("database", f"PostgreSQL {version} at {database.engine.url.host or 'its socket'}")
            return
        version = str(connection.execute(sa.text("SELECT sqlite_version()")).scalar_one())
        options = set(connection.execute(sa.text("PRAGMA compile_options")).scalars())
    found = f"SQLite {version} in {database.engine.url.database}"
    if tuple(int(part) for part in version.split(".")[:2]) < _OLDEST_SQLITE:
        yield fail("database", found, "A newer Python brings a newer SQLite (3.37 is needed); or use PostgreSQL.")
    elif "ENABLE_FTS5" not in options:
        yield warn("database", f"{found}, without FTS5", "Searching by words needs it; use another Python.")
    else:
        yield ok("database", f"{found}, with FTS5")


def _size(database: Database) -> Finding:
    with database.read() as session:
        whole = size_in_bytes(session)
        found = f"{whole / 1e6:,.1f} MB"
        if database.is_sqlite and whole > _MOST_BYTES_READ:
            return ok("size", f"{found}; GET /storage tells the tables, and reads all of it for that")
        largest = [f"{one.table} {one.size_bytes / 1e6:,.1f}" for one in table_sizes(session) if one.size_bytes]
    return ok("size", f"{found}, of which {', '.join(largest[:_LARGEST])}" if largest else found)


def check_redis(settings: Settings) -> list[Finding]:
    """Look at the Redis that is named, else at the one that comes with the installation."""
    if settings.redis_url is not None:
        return list(_named_redis(settings.redis_url.replace("redis+socket://", "unix://")))
    try:
        binary = find_binary()
    except Configuration as error:
        return [fail("redis", "no embedded Redis", error.message)]
    directory = settings.home / "redis"
    try:
        port = int((directory / "port").read_text("ascii"))
        # Read and not made where it is missing: to look leaves nothing behind.
        password = (directory / "password").read_text("utf-8").strip()
        facts = _redis_info(f"redis://:{password}@{HOST}:{port}/0")
    except (redis.RedisError, OSError, ValueError):
        return [ok("redis", f"embedded ({binary.name}); not running, `afterthought up` starts it")]
    return [ok("redis", f"embedded {facts.get('server_name', 'redis')} answers on port {port}")]


def _named_redis(url: str) -> Iterator[Finding]:
    where = urlsplit(url).hostname or urlsplit(url).path
    try:
        facts = _redis_info(url)
    except (redis.RedisError, OSError, ValueError) as error:
        yield fail("redis", f"{where}: {str(error)[:200]}", "Start Redis or correct REDIS_URL (and its password).")
        return
    yield ok("redis", f"{facts.get('server_name', 'redis')} {facts.get('redis_version')} at {where}")
    policy = facts.get("maxmemory_policy")
    if policy not in {"noeviction", None}:
        yield fail("redis", f"it evicts ({policy}), so queued jobs can vanish", "Set maxmemory-policy noeviction.")
    if not facts.get("aof_enabled"):
        remedy = "Set appendonly yes; until then a restart of Redis sends queued jobs again."
        yield warn("redis", "it keeps no append-only file", remedy)


def _redis_info(url: str) -> dict[str, Any]:
    with redis.Redis.from_url(
        url, socket_timeout=_TIMEOUT_SECONDS, socket_connect_timeout=_TIMEOUT_SECONDS, retry=Retry(NoBackoff(), 0)
    ) as client:
        info: dict[str, Any] = client.info()
        return info


def check_breaker(settings: Settings, now: datetime) -> Iterator[Finding]:
    """Look whether jobs get anything usable from the model that is set."""
    model = settings.model
    pause = None if model is None else _with_database(settings, lambda session: find_pause(session, model))
    if pause is not None:
        found = f"{model} {pause.describe(now, has_rules=settings.on_bad_output == 'rules')}"
        remedy = (
            "Look at the model's server and its log; where it is only slow, raise AFTERTHOUGHT_MODEL_TIMEOUT_SECONDS; "
            "where it takes no more (status 429), raise its limit, or lower AFTERTHOUGHT_ENERGY_REFILL_PER_SECOND."
            if pause.is_of_server
            else "Choose another model (docs/guides/choose-a-model.md) and set AFTERTHOUGHT_MODEL, or unset it: the "
            "built-in agent then does all."
        )
        yield warn("model", found, f"{remedy} What was wrong stands in the reasons of `afterthought jobs list`.")


_ENOUGH_CONVERSATIONS = 10
_EXAMPLE_AN_HOUR = 1000


def check_energy(settings: Settings, now: datetime) -> Finding:
    """Reckon how many conversations an hour the refill carries, by what they cost here or are expected to cost."""
    total, paid, ended = _spending(settings, now)
    is_measured = paid >= _ENOUGH_CONVERSATIONS
    cost = total // paid if is_measured else estimated_conversation(settings, is_small=_is_small(settings))
    refill, units = settings.energy_refill_per_second, to_units(cost)
    carried = carried_an_hour(refill, cost)
    each = f"{units:,.0f}" if units >= 10 else f"{units:.2g}"
    how = f"measured over the last {paid}" if is_measured else "estimated"
    found = (
        f"refills {refill * 60:g}/min carry about {carried:,.0f} conversations an hour with "
        f"{settings.model or 'the built-in agent'} (about {each} units each, {how})"
    )
    name = environment_name("energy_refill_per_second")
    if ended > carried * 24:
        # Rounded up.
        an_hour = -(-ended // 24)
        remedy = f"To carry {an_hour:,} an hour set {name}={refill_for(an_hour, cost):g}, if the model's server can."
        return warn("energy", f"{found}; in 24 hours {ended:,} were ended, so more and more wait", remedy)
    more = f"to carry {_EXAMPLE_AN_HOUR:,} an hour set {name}={refill_for(_EXAMPLE_AN_HOUR, cost):g}"
    return ok("energy", found if carried >= _EXAMPLE_AN_HOUR else f"{found}; {more}")


def _is_small(settings: Settings) -> bool:
    return settings.model is not None and ModelSize(settings.model, settings).is_small()


def _spending(settings: Settings, now: datetime) -> tuple[int, int, int]:
    """Return what the latest conversations cost, in micro-units, how many they were, and how many ended in 24 hours."""
    models = [model for model in (settings.model or EXTRACTIVE, settings.small_model) if model is not None]

    def read(session: Session) -> tuple[int, int, int]:
        ended = count_asked_since(session, JobKind.CREATE_MEMORY, now - timedelta(days=1))
        return *paid_conversations(session, models), ended

    return _with_database(settings, read) or (0, 0, 0)


def _with_database(settings: Settings, read: Callable[[Session], FoundT]) -> FoundT | None:
    """Return what is read from the database; None where it is not made yet, or something is wrong with it."""
    location = make_url(settings.database)
    if location.get_backend_name() == "sqlite" and not Path(location.database or "").exists():
        return None
    database = Database(settings.database, pool_size=1)
    try:
        with database.read() as session:
            return read(session)
    except (SQLAlchemyError, AfterthoughtError):
        return None  # What is wrong with it is told where it is looked at.
    finally:
        database.dispose()


def check_tracing(settings: Settings) -> Iterator[Finding]:
    """Look whether traces can be sent, where they are to be; never a failure, as everything works without them."""
    if settings.collector is None:
        return
    where = tracing.host_of(settings.collector)
    if not tracing.is_installed():
        yield warn("traces", f"none are sent to {where}: the libraries are missing", how_to_add(tracing.EXTRA))
    elif not is_there(settings.collector, "", _TIMEOUT_SECONDS):
        remedy = "Start the collector, or correct OTEL_EXPORTER_OTLP_ENDPOINT; it has to take OTLP over HTTP."
        yield warn("traces", f"nobody takes them at {where}", remedy)
    else:
        yield ok("traces", f"sent to {where}")
