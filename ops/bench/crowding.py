"""What one app's load does to another: ``python -m ops.bench.crowding``.

Starts a Redis, a loop and a worker of its own and prints JSON: how long the listing of a quiet app takes, alone and
while a greedy one sends 200 searches at once over 40 conversations of 200,000 characters whose clients leave after
15 s, an archive of 4 million lines in a megabyte, or four transcripts of 50 MB, each for 25 s at most; what the greedy
one was answered, and the memory of the loop after each. Two minutes in all.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import json
import random
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Awaitable, Callable
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from ops.bench.figures import say, show, spread
from tests.support.services import System, start_redis, start_system

_ENV = {"AFTERTHOUGHT_LOG_LEVEL": "warning", "AFTERTHOUGHT_WORKER_CONCURRENCY": "1"}
_UNBOUNDED = {
    "AFTERTHOUGHT_APP_REQUESTS": "1000", "AFTERTHOUGHT_APP_COSTLY_REQUESTS": "100",
    "AFTERTHOUGHT_APP_WAIT_SECONDS": "600",
}  # fmt: skip
_PROJECT = "/api/memory/projects/-home-me-app"
_WORDS = [f"{a}{b}{c}" for a in ("ba", "ke", "li", "mo", "nu", "ra") for b in ("ta", "so", "ve", "di") for c in "nrslt"]
_LEAVING_SECONDS = 15.0
_LOADS = ("searches", "archive", "uploads")
"""What is begun is finished, however soon its client leaves: the longest comes last."""
_LISTINGS = 150


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database-url", help="an empty PostgreSQL; SQLite in a temporary folder otherwise")
    parser.add_argument("--searches", type=int, default=200, help="how many at once")
    parser.add_argument("--megabytes", type=int, default=50, help="how large each of the four uploads is")
    parser.add_argument("--lines", type=int, default=4_000_000, help="how many the archive holds")
    parser.add_argument("--loads", nargs="+", default=_LOADS, choices=_LOADS, help="what the greedy app does")
    parser.add_argument("--seconds", type=float, default=25, help="after which the clients of a load leave")
    parser.add_argument("--unbounded", action="store_true", help="with no bounds on an app's requests, to compare")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        show(measure(Path(folder), options))
    return 0


def measure(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Run everything in ``folder``; return the figures."""
    url = options.database_url or f"sqlite:///{folder / 'bench.db'}"
    redis = start_redis(folder / "redis")
    try:
        env = _ENV | (_UNBOUNDED if options.unbounded else {})
        with start_system(folder, url, redis.url, workers=1, env=env) as system:
            system.wait_ready()
            with system.client() as client:
                client.timeout = httpx.Timeout(120)
                greedy, quiet = fill(client)
                archive = archive_of(client, options.lines)
            return asyncio.run(_measure(system, greedy, quiet, options, archive))
    finally:
        redis.stop()


def fill(client: httpx.Client) -> tuple[str, str]:
    """Install a greedy and a quiet app with what they hold; return a token of each."""
    chance, tokens = random.Random(5), []
    for app, conversations, size in (("greedy", 40, 199_000), ("quiet", 20, 300)):
        say(f"filling {app}")
        client.post("/apps", json={"appId": app, "name": app, "answeredBy": "app"}).raise_for_status()
        for number in range(conversations):
            base = f"/apps/{app}/conversations"
            client.post(base, json={"conversationId": f"c{number}"}).raise_for_status()
            said = {"role": "user", "content": text_of(size, chance)}
            client.post(f"{base}/c{number}/messages", json={"messages": [said]}).raise_for_status()
        tokens.append(client.post(f"/apps/{app}/tokens", json={}).raise_for_status().json()["token"])
    return tokens[0], tokens[1]


def text_of(size: int, chance: random.Random) -> str:
    """Return sentences of made-up words, so many characters."""
    sentences: list[str] = []
    length = 0
    while length < size:
        sentences.append(" ".join(chance.choices(_WORDS, k=12)).capitalize() + ".")
        length += len(sentences[-1]) + 1
    return " ".join(sentences)[:size]


async def _measure(
    system: System, greedy: str, quiet: str, options: argparse.Namespace, archive: bytes
) -> dict[str, Any]:
    say("the quiet app alone")
    crowd = Crowd(system, greedy, quiet)
    figures: dict[str, Any] = {"alone": await crowd.listing(), "resident_mb": {"before": crowd.resident_mb()}}
    chance = random.Random(7)
    asked = [
        json.dumps({"query": " ".join(chance.choices(_WORDS, k=10)), "limit": 50}) for _ in range(options.searches)
    ]
    line = json.dumps({"type": "user", "uuid": "u", "message": {"role": "user", "content": text_of(2000, chance)}})
    transcript = (line + "\n").encode() * (options.megabytes * 2**20 // len(line))
    loads: dict[str, Callable[[], list[Awaitable[str]]]] = {
        "searches": lambda: [
            crowd.send("POST", "/apps/greedy/search", one.encode(), "application/json", _LEAVING_SECONDS)
            for one in asked
        ],
        "uploads": lambda: [
            crowd.send("POST", f"{_PROJECT}/sessions/s{number}", transcript, "application/x-ndjson", 300)
            for number in range(4)
        ],
        "archive": lambda: [
            crowd.send("POST", "/api/memory/projects/import?projectId=bomb", archive, "application/zip", 300)
        ],
    }
    for name in options.loads:
        say(name)
        figures[name] = await crowd.under(loads[name](), options.seconds)
        figures["resident_mb"][name] = crowd.resident_mb()
        say(json.dumps(figures[name]))
    p95 = figures["alone"]["p95_ms"]
    figures["p95_over_alone"] = {name: round(figures[name]["listing"]["p95_ms"] / p95, 2) for name in options.loads}
    return figures


def archive_of(client: httpx.Client, lines: int) -> bytes:
    """Return an archive of one session with so many lines, which packs very well: a real one, made larger."""
    line = b'{"type":"user","uuid":"u","message":{"role":"user","content":"x"}}\n'
    mine, kind = {"appId": "greedy"}, {"Content-Type": "application/x-ndjson"}
    client.post(f"{_PROJECT}/sessions/small", params=mine, content=line, headers=kind).raise_for_status()
    packed = zipfile.ZipFile(io.BytesIO(client.get(f"{_PROJECT}/export", params=mine).raise_for_status().content))
    client.delete(f"{_PROJECT}/sessions/small", params=mine).raise_for_status()
    members = {name: packed.read(name) for name in packed.namelist()}
    [original] = (name for name in members if name.startswith("originals/"))
    before, members[original] = sha256(members[original]).hexdigest(), line * lines
    digest = sha256(members[original]).hexdigest()
    members["archive.json"] = members["archive.json"].replace(before.encode(), digest.encode())
    sums = {name: sha256(data).hexdigest() for name, data in members.items() if name != "checksums.json"}
    members["checksums.json"] = json.dumps(sums).encode()
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return made.getvalue()


class Crowd:
    """A greedy app, and a quiet one that looks at its conversations meanwhile."""

    def __init__(self, system: System, greedy: str, quiet: str) -> None:
        self._system, self._greedy, self._quiet = system, greedy, quiet

    async def under(self, load: list[Awaitable[str]], seconds: float) -> dict[str, Any]:
        """Time the listing while a load is on, so long at most, and count what that was answered."""
        sent = [asyncio.ensure_future(one) for one in load]
        begun = time.perf_counter()
        listing = await self.listing(
            until=lambda: all(one.done() for one in sent) or time.perf_counter() - begun > seconds
        )
        for one in sent:
            one.cancel()
        results = await asyncio.gather(*sent, return_exceptions=True)
        answers = Counter("left" if isinstance(one, asyncio.CancelledError) else str(one) for one in results)
        return {"listing": listing, "answers": dict(answers), "seconds": round(time.perf_counter() - begun, 1)}

    async def listing(self, until: Callable[[], bool] = lambda: True) -> dict[str, Any]:
        """Time listings of the quiet app: at least so many, and while the load is on."""
        taken: list[float] = []
        headers = {"Authorization": f"Bearer {self._quiet}"}
        async with httpx.AsyncClient(
            base_url=self._system.url, headers=headers, timeout=120, trust_env=False
        ) as client:
            while len(taken) < _LISTINGS or not until():
                begun = time.perf_counter()
                with contextlib.suppress(httpx.ReadTimeout):
                    (await client.get("/apps/quiet/conversations")).raise_for_status()
                taken.append(time.perf_counter() - begun)
                await asyncio.sleep(0.02)
        return {**spread(taken), "most_ms": round(max(taken) * 1000, 1), "count": len(taken)}

    async def send(self, method: str, path: str, body: bytes, kind: str, seconds: float) -> str:
        """Send one request of the greedy app; return its status, or that its client left."""
        where = urlsplit(self._system.url)
        reader, writer = await asyncio.open_connection(where.hostname, where.port)
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: {where.netloc}\r\nAuthorization: Bearer {self._greedy}\r\n"
            f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        try:
            async with asyncio.timeout(seconds):
                writer.write(head.encode() + body)
                return (await reader.readline()).decode().split(" ")[1]
        except (TimeoutError, ConnectionError, IndexError):
            return "left"
        finally:
            writer.transport.abort()

    def resident_mb(self) -> int:
        """Return how much memory the loop holds."""
        for line in Path(f"/proc/{self._system.loop.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) // 1024
        return 0


if __name__ == "__main__":
    raise SystemExit(main())
