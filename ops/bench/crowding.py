"""What one app's load does to another: ``python -m ops.bench.crowding``.

Starts a Redis, a loop and a worker of its own and prints JSON: how long the listing of a quiet app takes, alone and
while a greedy one sends 200 searches at once over 40 conversations of 200,000 characters whose clients leave after
15 s, an archive of 4 million lines in a megabyte, or four transcripts of 50 MB, each for 25 s at most; what the greedy
one was answered, and the memory of the loop after each. Two minutes in all.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import random
import time
import zipfile
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import httpx

from ops.bench.harness import Connection, DatabaseUrl, converse, run, say, serve, spread
from tests.support.services import System

_ENV = {"AFTERTHOUGHT_LOG_LEVEL": "warning", "AFTERTHOUGHT_WORKER_CONCURRENCY": "1"}
_UNBOUNDED = {
    "AFTERTHOUGHT_APP_REQUESTS": "1000", "AFTERTHOUGHT_APP_COSTLY_REQUESTS": "100",
    "AFTERTHOUGHT_APP_WAIT_SECONDS": "600",
}  # fmt: skip
_PROJECT = "/api/memory/projects/-home-me-app"
_NDJSON = "application/x-ndjson"
_WORDS = [f"{a}{b}{c}" for a in ("ba", "ke", "li", "mo", "nu", "ra") for b in ("ta", "so", "ve", "di") for c in "nrslt"]
_LEAVING_SECONDS = 15.0
_LISTINGS = 150
_Load = Literal["searches", "archive", "uploads"]


def measure(
    folder: Path,
    database_url: DatabaseUrl = None,
    searches: Annotated[int, "how many at once"] = 200,
    megabytes: Annotated[int, "how large each of the four uploads is"] = 50,
    lines: Annotated[int, "how many the archive holds"] = 4_000_000,
    # What is begun is finished, however soon its client leaves: the longest comes last.
    loads: Annotated[list[_Load], "what the greedy app does"] = ("searches", "archive", "uploads"),  # type: ignore[assignment]
    seconds: Annotated[float, "after which the clients of a load leave"] = 25,
    unbounded: Annotated[bool, "with no bounds on an app's requests, to compare"] = False,
) -> dict[str, Any]:
    """Run everything in ``folder``; return the figures."""
    chance = random.Random(7)
    queries = [" ".join(chance.choices(_WORDS, k=10)) for _ in range(searches)]
    said = {"role": "user", "content": text_of(2000, chance)}
    line = json.dumps({"type": "user", "uuid": "u", "message": said}) + "\n"
    with serve(folder, database_url, _ENV | (_UNBOUNDED if unbounded else {})) as service:
        crowd = Crowd(service.system, *_fill(service.connect()))
        archive = _archive_of(service.connect(), lines)
        transcript = line.encode() * (megabytes * 2**20 // len(line))
        requests: dict[str, list[tuple[str, bytes, str, float]]] = {
            "searches": [
                ("/apps/greedy/search", json.dumps({"query": one, "limit": 50}).encode(), "application/json",
                 _LEAVING_SECONDS) for one in queries
            ],
            "uploads": [(f"{_PROJECT}/sessions/s{number}", transcript, _NDJSON, 300) for number in range(4)],
            "archive": [("/api/memory/projects/import?projectId=bomb", archive, "application/zip", 300)],
        }  # fmt: skip
        return asyncio.run(_under_loads(crowd, {name: requests[name] for name in loads}, seconds))


async def _under_loads(
    crowd: Crowd, loads: dict[str, list[tuple[str, bytes, str, float]]], seconds: float
) -> dict[str, Any]:
    say("the quiet app alone")
    figures: dict[str, Any] = {"alone": await crowd.listing(), "resident_mb": {"before": crowd.resident_mb()}}
    for name, requests in loads.items():
        say(name)
        figures[name] = await crowd.under([crowd.post(*one) for one in requests], seconds)
        figures["resident_mb"][name] = crowd.resident_mb()
        say(json.dumps(figures[name]))
    p95 = figures["alone"]["p95_ms"]
    return figures | {"p95_over_alone": {name: round(figures[name]["listing"]["p95_ms"] / p95, 2) for name in loads}}


def _fill(line: Connection) -> list[str]:
    """Install a greedy and a quiet app with what they hold; return a token of each."""
    chance, tokens = random.Random(5), []
    for app, conversations, size in (("greedy", 40, 199_000), ("quiet", 20, 300)):
        say(f"filling {app}")
        line.send("POST", "/apps", {"appId": app, "name": app, "answeredBy": "app"})
        for number in range(conversations):
            converse(line, app, f"c{number}", [{"role": "user", "content": text_of(size, chance)}])
        tokens.append(line.send("POST", f"/apps/{app}/tokens", {})["token"])
    return tokens


def text_of(size: int, chance: random.Random) -> str:
    """Return sentences of made-up words, so many characters."""
    sentences: list[str] = []
    length = 0
    while length < size:
        sentences.append(" ".join(chance.choices(_WORDS, k=12)).capitalize() + ".")
        length += len(sentences[-1]) + 1
    return " ".join(sentences)[:size]


def _archive_of(line: Connection, lines: int) -> bytes:
    """Return an archive of one session with so many lines, which packs very well: a real one, made larger."""
    record, mine = b'{"type":"user","uuid":"u","message":{"role":"user","content":"x"}}\n', "?appId=greedy"
    line.send_bytes("POST", f"{_PROJECT}/sessions/small{mine}", record, _NDJSON)
    packed = zipfile.ZipFile(io.BytesIO(line.send_bytes("GET", f"{_PROJECT}/export{mine}")))
    line.send_bytes("DELETE", f"{_PROJECT}/sessions/small{mine}")
    members = {name: packed.read(name) for name in packed.namelist()}
    [original] = (name for name in members if name.startswith("originals/"))
    before, members[original] = sha256(members[original]).hexdigest(), record * lines
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

    async def under(self, load: Sequence[Awaitable[str]], seconds: float) -> dict[str, Any]:
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
        taken, head = list[float](), {"Authorization": f"Bearer {self._quiet}"}
        async with httpx.AsyncClient(base_url=self._system.url, headers=head, timeout=120, trust_env=False) as client:
            while len(taken) < _LISTINGS or not until():
                begun = time.perf_counter()
                with contextlib.suppress(httpx.ReadTimeout):
                    (await client.get("/apps/quiet/conversations")).raise_for_status()
                taken.append(time.perf_counter() - begun)
                await asyncio.sleep(0.02)
        return {**spread(taken), "most_ms": round(max(taken) * 1000, 1), "count": len(taken)}

    async def post(self, path: str, body: bytes, kind: str, seconds: float) -> str:
        """Send one request of the greedy app; return its status, or that its client left."""
        where = urlsplit(self._system.url)
        reader, writer = await asyncio.open_connection(where.hostname, where.port)
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {where.netloc}\r\nAuthorization: Bearer {self._greedy}\r\n"
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
        status = Path(f"/proc/{self._system.loop.pid}/status").read_text().splitlines()
        return next((int(line.split()[1]) // 1024 for line in status if line.startswith("VmRSS:")), 0)


if __name__ == "__main__":
    run(measure)
