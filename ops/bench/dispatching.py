"""How a thousand machines would share the work, simulated: ``python -m ops.bench.dispatching``.

No process is started. Apps of very different sizes are spread over shards (a database, its Redis, two loops, workers),
by the hash of their name or by a directory that knows how much each asks for, and conversations end at random. In each
shard jobs are handed out as the loop does: one subject's in their order, apps in the order of start-time fair queueing,
no more a second than one loop relays, no more at once than there are processes. Prints JSON: how evenly shards are
loaded, and how long jobs wait by the size of their app.
"""

from __future__ import annotations

import hashlib
import heapq
import random
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import mean
from typing import Annotated, Any

from ops.bench.harness import run
from shared.jobs.tenant_queues import QUANTUM

MACHINES = 1_000
OF_A_SHARD = {"database": 2, "redis": 1, "loop": 2, "worker": 20}
PROCESSES = 16
"""Of one machine that works: they wait for a model most of the time."""
JOB_SECONDS = 3.0
"""Of one job with a model, on average."""
RELAYED_A_SECOND = 120.0
"""Jobs one loop is taken to send; ``ops.bench.scaling`` shows what it does on a machine."""
_SKEW = 1.05
_SUBJECTS_OF_AN_APP = 50
"""Per conversation a second: the more an app says, the more people say it."""


@dataclass
class Shard:
    """One database with what works for it, from second to second."""

    processes: int
    relayed: float
    waiting: dict[int, deque[tuple[float, int]]] = field(default_factory=lambda: defaultdict(deque))
    """Jobs of each app, as (when, subject)."""
    tags: list[tuple[float, int]] = field(default_factory=list)
    served: dict[int, float] = field(default_factory=dict)
    busy: list[tuple[float, int, int]] = field(default_factory=list)
    """Jobs under way, as (until, app, subject)."""
    taken: set[tuple[int, int]] = field(default_factory=set)
    virtual: float = 0.0

    def add(self, app: int, at: float, subject: int) -> None:
        """Let a job wait."""
        if not self.waiting[app]:
            self.served[app] = max(self.served.get(app, 0.0), self.virtual)
            heapq.heappush(self.tags, (self.served[app], app))
        self.waiting[app].append((at, subject))

    def step(self, now: float, chance: random.Random) -> list[tuple[int, float]]:
        """Free what has ended, hand out what may begin; return app and wait of each job begun."""
        while self.busy and self.busy[0][0] <= now:
            _, app, subject = heapq.heappop(self.busy)
            self.taken.discard((app, subject))
        begun: list[tuple[int, float]] = []
        passed: list[tuple[float, int]] = []
        while self.tags and len(self.busy) < self.processes and len(begun) < self.relayed:
            tag, app = heapq.heappop(self.tags)
            found = self._take(app)
            if found is None:
                passed.append((tag, app))
                continue
            at, subject = found
            self.virtual = max(self.virtual, tag)
            self.served[app] = tag + QUANTUM
            if self.waiting[app]:
                heapq.heappush(self.tags, (self.served[app], app))
            self.taken.add((app, subject))
            heapq.heappush(self.busy, (now + chance.lognormvariate(0.8, 0.8) / 3.06 * JOB_SECONDS, app, subject))
            begun.append((app, now - at))
        for one in passed:
            heapq.heappush(self.tags, one)
        return begun

    def _take(self, app: int) -> tuple[float, int] | None:
        """Take the first job of an app whose subject has none under way."""
        queue = self.waiting[app]
        for nth, (at, subject) in enumerate(queue):
            if (app, subject) not in self.taken:
                del queue[nth]
                return at, subject
            if nth == 1000:
                break
        return None


def measure(
    apps: int = 100_000,
    load: Annotated[float, "of what all shards together can relay and do"] = 0.7,
    seconds: int = 120,
) -> dict[str, Any]:
    """Simulate and return the figures."""
    shards = MACHINES // sum(OF_A_SHARD.values())
    rate = load * shards * shard_rate()
    traffic = _traffic(apps, rate)
    places = {"by_hash": _by_hash(traffic, shards), "by_directory": _by_directory(traffic, shards)}
    return {
        "machines": MACHINES, "shards": shards, "of_a_shard": OF_A_SHARD, "jobs_a_second_of_a_shard": shard_rate(),
        "jobs_a_second_asked_for": round(rate), "largest_app_asks_for": round(traffic[0], 1),
        **{name: _simulated(traffic, placed, shards, seconds) for name, placed in places.items()},
    }  # fmt: skip


def shard_rate() -> float:
    """Return the jobs a second that one shard can do: the loop's, or its processes', whichever is less."""
    return min(RELAYED_A_SECOND, OF_A_SHARD["worker"] * PROCESSES / JOB_SECONDS)


def _traffic(apps: int, rate: float) -> list[float]:
    """Return jobs a second of each app, the largest first; none asks for more than half a shard."""
    shares = [1 / (n + 20) ** _SKEW for n in range(apps)]
    whole = sum(shares)
    return [min(rate * share / whole, shard_rate() / 2) for share in shares]


def _by_hash(traffic: Sequence[float], shards: int) -> list[int]:
    return [int.from_bytes(hashlib.blake2b(b"app%d" % n, digest_size=8).digest()) % shards for n in range(len(traffic))]


def _by_directory(traffic: Sequence[float], shards: int) -> list[int]:
    """Give each app, the largest first, to the shard that is asked for least: what a directory can write down."""
    loads = [(0.0, shard) for shard in range(shards)]
    placed = []
    for asked in traffic:
        load, shard = heapq.heappop(loads)
        placed.append(shard)
        heapq.heappush(loads, (load + asked, shard))
    return placed


def _simulated(traffic: Sequence[float], placed: Sequence[int], shards: int, seconds: int) -> dict[str, Any]:
    chance = random.Random(3)
    loads = [0.0] * shards
    for asked, shard in zip(traffic, placed, strict=True):
        loads[shard] += asked
    members = defaultdict(list)
    for app, shard in enumerate(placed):
        members[shard].append(app)
    waits: dict[str, list[float]] = defaultdict(list)
    behind = 0
    for shard, apps in members.items():
        begun, left = _run(apps, [traffic[app] for app in apps], loads[shard], seconds, chance)
        behind += left
        for app, wait in begun:
            waits["of_the_hundred_largest_apps" if app < 100 else "of_all_others"].append(wait)
    of_shards = {"least": min(loads), "mean": mean(loads), "most": max(loads)}
    return {
        "load_of_shards": {name: round(one / shard_rate(), 2) for name, one in of_shards.items()},
        "wait_seconds": {name: _quantiles(found) for name, found in sorted(waits.items())},
        "still_waiting_at_the_end": behind,
    }


def _run(
    apps: Sequence[int], weights: Sequence[float], load: float, seconds: int, chance: random.Random
) -> tuple[list[tuple[int, float]], int]:
    """Return app and wait of each job of one shard that was begun, after a warm-up, and how many still wait."""
    shard, begun, steps = Shard(OF_A_SHARD["worker"] * PROCESSES, RELAYED_A_SECOND / 10), list[tuple[int, float]](), 10
    rates = dict(zip(apps, weights, strict=True))
    for tick in range(seconds * steps):
        now = tick / steps
        for app in chance.choices(apps, weights, k=_poisson(load / steps, chance)):
            shard.add(app, now, chance.randrange(1 + int(rates[app] * _SUBJECTS_OF_AN_APP)))
        found = shard.step(now, chance)
        begun += found if tick > seconds * steps // 4 else []
    return begun, sum(map(len, shard.waiting.values()))


def _poisson(rate: float, chance: random.Random) -> int:
    count, total = 0, chance.expovariate(1.0)
    while total < rate:
        count, total = count + 1, total + chance.expovariate(1.0)
    return count


def _quantiles(found: Sequence[float]) -> dict[str, float]:
    ordered = sorted(found)
    return {f"p{q}": round(ordered[min(len(ordered) - 1, q * len(ordered) // 100)], 2) for q in (50, 95, 99)}


if __name__ == "__main__":
    run(measure)
