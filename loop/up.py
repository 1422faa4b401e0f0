"""The service behind ``afterthought up``: one Redis, one loop, one worker, one Ctrl-C.

One of it per home, kept so by a lock file that is free again however its holder ends. Separate machines use the compose
file instead; nothing here is needed there.
"""

from __future__ import annotations

import contextlib
import fcntl
import http.client
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from loop.embedded_redis import EmbeddedRedis, free_port, is_free
from loop.supervisor import NAME, Child, ChildProcess, Console, Readiness, Supervisor, describe_status
from shared.base.credentials import make_private_directory, read_or_make_admin_token
from shared.base.errors import Configuration, Transient
from shared.base.process import WHEN_TOLD
from shared.base.setting_groups import provider_of
from shared.base.settings import Settings, environment_name

COMMANDS = {name: (sys.executable, "-m", name, WHEN_TOLD) for name in ("loop", "worker")}
"""What runs beside Redis, by the name its log lines carry."""
_STOPPING_SECONDS = 5.0
"""What a part may need beyond its time to drain before it is killed; a little more than it allows itself."""
_ANY_HOST = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}
_TIMEOUT_SECONDS = 5.0


def run_up(settings: Settings, console: Console | None = None, commands: Mapping[str, Sequence[str]] = COMMANDS) -> int:
    """Start everything in ``settings.home`` and keep it running until told to stop; return the exit status.

    ``commands`` are the processes to run beside Redis, by name.

    Raises:
        Configuration: the home cannot be had or is in use, the port is taken, or no Redis can be had.
        Transient: the database does not answer.
    """
    console = console or Console(sys.stdout)
    make_private_directory(settings.home)
    with _private_files(), only_one(settings.home):
        port = _port(settings)
        token = read_or_make_admin_token(settings)
        console.write_line(NAME, f"starting in {settings.home}")
        with _redis(settings) as (redis_url, redis_parts):
            env = child_environment(settings, port=port, redis_url=redis_url, admin_token=token)
            host = _ANY_HOST.get(settings.host, settings.host)
            address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
            logs = make_private_directory(settings.home / "logs")
            children = [Child(name, argv, env) for name, argv in commands.items()]
            with _schema_ready_pipe() as schema_ready:
                parts = [ChildProcess(child, logs / f"{child.name}.log", console, schema_ready) for child in children]
                # Once the schema is there the pipe ends, and with it the children's wait.
                _migrate_while_loading(settings.database, parts)
            status = Supervisor(
                parts,
                console,
                foundation=redis_parts,
                look=lambda: ask_readiness(host, port),
                announce=lambda found: console.write(welcome(address, token, settings, found)),
                drain_seconds=settings.drain_seconds + _STOPPING_SECONDS,
            ).run()
            _close_log(settings.database)
            return status


@contextlib.contextmanager
def _schema_ready_pipe() -> Iterator[int]:
    """Make a pipe that says nothing and is closed at the end; processes that wait for that end read from it."""
    reading, writing = os.pipe()
    try:
        yield reading
    finally:
        os.close(writing)
        os.close(reading)


def _migrate_while_loading(url: str, parts: Sequence[ChildProcess]) -> None:
    """Start the processes, which take seconds to load and then wait, and bring the database's schema up meanwhile."""
    with contextlib.ExitStack() as undo:
        for part in parts:
            undo.callback(part.clear)
            part.start()
        # Deferred: the database's tools take as long to load as everything else here.
        from shared.db.schema import migrate

        migrate(url)
        undo.pop_all()


def _close_log(url: str) -> None:
    """Have SQLite bring its write-ahead log into the one file: who closed it last may have been killed."""
    # Deferred, as above.
    from shared.db.engine import Database

    database = Database(url)
    if database.is_sqlite:
        # Who else has it open keeps the log, and closes it.
        with contextlib.suppress(Transient), database.read() as session:
            session.connection()
    database.dispose()


@dataclass
class RedisPart:
    """The embedded Redis as a part."""

    server: EmbeddedRedis
    name: str = "redis"

    def start(self) -> None:
        self.server.start()

    def ending(self) -> str | None:
        """Return how the server ended, or None while it runs."""
        status = self.server.exit_status
        return None if status is None else describe_status(status)

    def ask_to_stop(self) -> None:
        self.server.terminate()

    def clear(self) -> None:
        """Kill the server if it still runs; its directory stays ours until we end."""
        self.server.kill()


@contextlib.contextmanager
def _private_files() -> Iterator[None]:
    """Have this process and its children create files that only their owner can read."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def child_environment(settings: Settings, *, port: int, redis_url: str, admin_token: str) -> dict[str, str]:
    """Return the environment that makes a child read the same settings, whatever ``.env`` it finds."""
    given = {environment_name(field): _plain(getattr(settings, field)) for field in settings.model_fields_set}
    return {
        **os.environ,
        **{name: value for name, value in given.items() if value is not None},
        environment_name("home"): str(settings.home),
        environment_name("port"): str(port),
        environment_name("redis_url"): redis_url,
        environment_name("database_url"): settings.database,
        environment_name("admin_token"): admin_token,
        "PYTHONUNBUFFERED": "1",
        **own_code_only(),
    }


def own_code_only() -> dict[str, str]:
    """Keep ``python -m worker`` from finding a folder called worker in the directory the user stands in."""
    root = Path(__file__).resolve().parents[1]
    # Installed it is found anyway; a checkout has to be named.
    if root.name.endswith("-packages"):
        return {"PYTHONSAFEPATH": "1"}
    return {"PYTHONSAFEPATH": "1", "PYTHONPATH": os.pathsep.join(filter(None, (str(root), os.getenv("PYTHONPATH"))))}


@contextlib.contextmanager
def _redis(settings: Settings) -> Iterator[tuple[str, list[RedisPart]]]:
    if settings.redis_url is not None:
        yield settings.redis_url, []
        return
    server = EmbeddedRedis(settings.home / "redis")
    server.start()
    try:
        yield server.url, [RedisPart(server)]
    finally:
        server.stop()


def _port(settings: Settings) -> int:
    host = settings.host
    try:
        if settings.port == 0:
            return free_port(host)
        free = is_free(host, settings.port)
    except OSError as error:
        raise Configuration(f"AFTERTHOUGHT_HOST: cannot listen on {host} ({error.strerror}).") from None
    if not free:
        raise Configuration(
            f"Port {settings.port} on {host} is taken. Set AFTERTHOUGHT_PORT to another one, or to 0 for any free one."
        )
    return settings.port


def _plain(value: object) -> str | None:
    if value is None:
        return None
    reveal = getattr(value, "get_secret_value", None)
    return str(reveal() if reveal is not None else value)


def welcome(address: str, token: str, settings: Settings, found: Readiness) -> str:
    """Return what the user reads once the service is ready."""
    agent = settings.model or "none, so the built-in extractive agent writes the memories (set AFTERTHOUGHT_MODEL)"
    wrong = found.wrong.get(provider_of(settings.model or "") or "")
    if wrong is not None:
        agent += f", which cannot be asked yet: {wrong}"
    # One that came from the environment is known there, and may not be known to whoever reads the log.
    is_ours = settings.admin_token is None
    shown, name = (token, token) if is_ours else ("the one that was set", "$" + environment_name("admin_token"))
    return f"""
Afterthought is ready.

  Address      {address}
  Admin token  {shown}
  Data         {settings.home}
  Model        {agent}

Next, install an app:

  curl -X POST {address}/apps \\
    -H "Authorization: Bearer {name}" -H "Content-Type: application/json" \\
    -d '{{"appId": "notes", "name": "Notes"}}'

Ctrl-C stops everything.

"""


@contextlib.contextmanager
def only_one(home: Path) -> Iterator[None]:
    """Hold ``home`` for this process.

    Raises:
        Configuration: another holds it, which is named, or it cannot be written to.
    """
    try:
        # Not "w": that would empty what says who holds it, before it is known whether anybody does.
        lock = (home / "up.lock").open("a+", encoding="ascii")
    except OSError as error:
        raise Configuration(f"AFTERTHOUGHT_HOME: {home} cannot be written to ({error.strerror}).") from None
    with lock as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            pid = file.read().strip()
            holder = f" (process {pid})" if pid else ""
            raise Configuration(
                f"Afterthought already runs in {home}{holder}. Stop it first, or set AFTERTHOUGHT_HOME to "
                "another directory for a second one."
            ) from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


def ask_readiness(host: str, port: int) -> Readiness:
    """Ask the loop at ``host`` and ``port``; one that does not answer is not ready."""
    connection = http.client.HTTPConnection(host, port, timeout=_TIMEOUT_SECONDS)
    try:
        connection.request("GET", "/health/ready")
        response = connection.getresponse()
        body = response.read()
    except (OSError, http.client.HTTPException) as error:
        return Readiness(False, {"loop": f"It does not answer ({type(error).__name__}); its lines above say why."})
    finally:
        connection.close()
    try:
        found = json.loads(body)["dependencies"].items()
        wrong = {name: str(one["detail"]) for name, one in found if not one["ok"]}
    except (ValueError, TypeError, KeyError, AttributeError):
        # Somebody else's server may answer on that port, with anything.
        wrong = {}
    return Readiness(response.status == 200, wrong)
