"""The small supervisor behind ``afterthought up``: one Redis, one loop, one worker, one Ctrl-C.

It starts Redis and then the others, starts again what dies (waiting longer each time), and stops Redis last. It must
run in the main thread: parts are tied to the thread that started them and end with it, even when this process is
killed. One supervisor per home, kept so by a lock file.

Separate machines use the compose file instead; nothing here is needed there.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Protocol

from loop.child import Child, ChildProcess, Console, describe_status
from loop.embedded_redis import EmbeddedRedis, free_port, is_free
from loop.occupancy import only_one
from loop.readiness import Readiness, ask_readiness
from shared.credentials import make_private_directory, read_or_make_admin_token
from shared.db.schema import migrate
from shared.errors import AfterthoughtError, Configuration
from shared.settings import Settings, environment_name

COMMANDS = {name: (sys.executable, "-m", name) for name in ("loop", "worker")}
"""What runs beside Redis, by the name its log lines carry."""

_POLL_SECONDS = 0.1
_STOPPING_SECONDS = 5.0
"""What a part may need beyond its time to drain before it is killed; a little more than it allows itself."""
_LATE_SECONDS = 20.0
_STEADY_SECONDS = 30.0
_FIRST_WAIT_SECONDS = 0.5
_LONGEST_WAIT_SECONDS = 30.0
_TRIES_BEFORE_READY = 5
_NAME = "up"
_ANY_HOST = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}


class Part(Protocol):
    """Something that runs and may die: a child process or the embedded Redis."""

    name: str

    def start(self) -> None:
        """Start it and return when it has at least been launched."""

    def ending(self) -> str | None:
        """Return how it ended, or None while it runs."""

    def ask_to_stop(self) -> None:
        """Ask it to end, without waiting."""

    def clear(self) -> None:
        """Remove whatever is left of it, by force; it may be started again."""


class RedisPart:
    """The embedded Redis as a part."""

    name = "redis"

    def __init__(self, server: EmbeddedRedis) -> None:
        self._server = server

    def start(self) -> None:
        """Start the server and wait until it answers."""
        self._server.start()

    def ending(self) -> str | None:
        """Return how the server ended, or None while it runs."""
        status = self._server.exit_status
        return None if status is None else describe_status(status)

    def ask_to_stop(self) -> None:
        """Ask the server to write everything and end."""
        self._server.terminate()

    def clear(self) -> None:
        """Kill the server if it still runs; its directory stays ours until we end."""
        self._server.kill()


@dataclass
class _Watched:
    part: Part
    started_at: float = 0.0
    due_at: float | None = None
    failures: int = 0


class Supervisor:
    """Keeps ``parts`` running until told to stop; ``look`` says whether the whole works, ``announce`` tells the user.

    The ``foundation`` is started before the parts and stopped after them, because they need it to the end.
    A part that dies is started again after 0.5 s, then 1 s, 2 s ... up to 30 s; half a minute of life forgives it.
    A part that dies five times in a row before anything was ever ready ends the start with an error.
    """

    def __init__(
        self,
        parts: Sequence[Part],
        console: Console,
        *,
        foundation: Sequence[Part] = (),
        look: Callable[[], Readiness] = lambda: Readiness(True, {}),
        announce: Callable[[Readiness], None] = lambda found: None,
        drain_seconds: float = 10.0,
        first_wait_seconds: float = _FIRST_WAIT_SECONDS,
        late_seconds: float = _LATE_SECONDS,
    ) -> None:
        self._foundation = [_Watched(part) for part in foundation]
        self._others = [_Watched(part) for part in parts]
        self._watched = [*self._foundation, *self._others]
        self._console = console
        self._look = look
        self._announce = announce
        self._drain_seconds = drain_seconds
        self._first_wait_seconds = first_wait_seconds
        self._late_seconds = late_seconds
        self._stop_requests = 0
        self._is_ready = False
        self._is_late = False
        self._begun_at = 0.0

    def run(self) -> int:
        """Run until SIGINT, SIGTERM or SIGHUP and return the exit status; a second signal stops without patience."""
        with self._heeding_signals():
            try:
                return self._watch()
            finally:
                self._stop_all()

    def request_stop(self) -> None:
        """Ask ``run`` to stop; asked twice, it kills."""
        self._stop_requests += 1

    def _watch(self) -> int:
        self._begun_at = time.monotonic()
        for watched in self._watched:
            if self._stop_requests:
                break
            self._start(watched)
        while not self._stop_requests:
            for watched in self._watched:
                if not self._tend(watched):
                    return 1
            self._look_whether_ready()
            # Signals set a flag only; this nap bounds how late it is seen.
            time.sleep(_POLL_SECONDS)
        return 0

    def _start(self, watched: _Watched) -> None:
        watched.due_at = None
        watched.started_at = time.monotonic()
        try:
            watched.part.start()
        except (OSError, AfterthoughtError) as error:
            self._has_died(watched, str(error))

    def _tend(self, watched: _Watched) -> bool:
        """Look after one part; False when it is hopeless."""
        if watched.due_at is None:
            ending = watched.part.ending()
            if ending is not None:
                watched.part.clear()
                self._has_died(watched, ending)
        elif time.monotonic() >= watched.due_at:
            self._start(watched)
        return self._is_ready or watched.failures < _TRIES_BEFORE_READY or self._give_up(watched)

    def _has_died(self, watched: _Watched, ending: str) -> None:
        now = time.monotonic()
        if now - watched.started_at >= _STEADY_SECONDS:
            watched.failures = 0
        wait = wait_before_restart(watched.failures, self._first_wait_seconds)
        watched.failures += 1
        watched.due_at = now + wait
        self._console.say(_NAME, f"{watched.part.name} ended ({ending}); starting it again in {wait:g} s")

    def _give_up(self, watched: _Watched) -> bool:
        self._console.say(
            _NAME,
            f"{watched.part.name} ended {watched.failures} times before the service was ready. Stopping; "
            "its last lines above say why.",
        )
        return False

    def _look_whether_ready(self) -> None:
        if self._is_ready:
            return
        found = self._look()
        if found.ready:
            self._is_ready = True
            self._announce(found)
        elif not self._is_late and time.monotonic() - self._begun_at > self._late_seconds:
            self._is_late = True
            self._console.say(_NAME, f"not ready after {self._late_seconds:g} s, still trying:")
            for name, detail in found.wrong.items():
                self._console.say(_NAME, f"  {name}: {detail}")

    def _stop_all(self) -> None:
        self._console.say(_NAME, "stopping; once more to stop at once")
        self._stop_together(self._others)
        self._stop_together(self._foundation)

    def _stop_together(self, group: Sequence[_Watched]) -> None:
        running = [watched.part for watched in group if watched.due_at is None and watched.started_at]
        for part in running:
            part.ask_to_stop()
        deadline = time.monotonic() + self._drain_seconds
        while any(part.ending() is None for part in running) and time.monotonic() < deadline:
            if self._stop_requests > 1:
                break
            time.sleep(_POLL_SECONDS / 2)
        for part in running:
            if part.ending() is None:
                self._console.say(_NAME, f"{part.name} did not end in time and is killed")
            part.clear()

    @contextlib.contextmanager
    def _heeding_signals(self) -> Iterator[None]:
        def heed(number: int, frame: FrameType | None) -> None:
            self.request_stop()

        # Whoever started us with nohup wants us to outlive the terminal.
        hangup = () if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN else (signal.SIGHUP,)
        before = {number: signal.signal(number, heed) for number in (signal.SIGINT, signal.SIGTERM, *hangup)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


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
        console.say(_NAME, f"starting in {settings.home}")
        migrate(settings.database)
        with _redis(settings) as (redis_url, redis_parts):
            env = child_environment(settings, port=port, redis_url=redis_url, admin_token=token)
            host = _ANY_HOST.get(settings.host, settings.host)
            address = f"http://{_bracketed(host)}:{port}"
            return Supervisor(
                _processes(commands, settings.home, env, console),
                console,
                foundation=redis_parts,
                look=lambda: ask_readiness(host, port),
                announce=lambda found: console.write(welcome(address, token, settings, found)),
                drain_seconds=settings.drain_seconds + _STOPPING_SECONDS,
            ).run()


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
    if root.name.endswith("-packages"):
        return {"PYTHONSAFEPATH": "1"}
    return {"PYTHONSAFEPATH": "1", "PYTHONPATH": os.pathsep.join(filter(None, (str(root), os.getenv("PYTHONPATH"))))}


def wait_before_restart(failures: int, first_seconds: float = _FIRST_WAIT_SECONDS) -> float:
    """Return how many seconds to wait after ``failures`` deaths in a row before this one: doubling, up to 30."""
    # The exponent is bounded because a part may fail for weeks, and a float holds no 2**1100.
    return min(first_seconds * 2.0 ** min(failures, 32), _LONGEST_WAIT_SECONDS)


def _processes(
    commands: Mapping[str, Sequence[str]], home: Path, env: dict[str, str], console: Console
) -> list[ChildProcess]:
    logs = make_private_directory(home / "logs")
    children = [Child(name, argv, env) for name, argv in commands.items()]
    return [ChildProcess(child, logs / f"{child.name}.log", console) for child in children]


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


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def welcome(address: str, token: str, settings: Settings, found: Readiness) -> str:
    """Return what the user reads once the service is ready."""
    agent = settings.model or "none, so the built-in extractive agent writes the memories (set AFTERTHOUGHT_MODEL)"
    if "ollama" in found.wrong:
        agent += f", which cannot be asked yet: {found.wrong['ollama']}"
    return f"""
Afterthought is ready.

  Address      {address}
  Admin token  {token}
  Data         {settings.home}
  Model        {agent}

Next, install an app:

  curl -X POST {address}/apps \\
    -H "Authorization: Bearer {token}" -H "Content-Type: application/json" \\
    -d '{{"appId": "notes", "name": "Notes"}}'

Ctrl-C stops everything.

"""
