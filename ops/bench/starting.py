"""How long a start takes: ``python -m ops.bench.starting``.

Starts the service several times in one home, the first time apart because it makes the database, and prints JSON:
seconds from the command until ``/health/live`` answers, ``/health/ready`` says yes and a worker is there, the processor
time that all processes used until then, and what each process' imports cost, with the slowest modules.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import httpx

from loop.embedded_redis import free_port
from ops.bench.harness import run, say

PROCESSES = {"command": "loop.cli", "up": "loop.up", "loop": "loop.__main__", "worker": "worker.celery_app"}
_LINE = re.compile(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)")
_PATIENCE_SECONDS = 120.0
_LOOK_SECONDS = 0.02


def measure(folder: Path, times: int = 5) -> dict[str, Any]:
    """Start the service ``times`` times and once before; return the figures, in seconds."""
    env = {
        **os.environ, "AFTERTHOUGHT_HOME": str(folder / "home"), "AFTERTHOUGHT_PORT": str(free_port()),
        "AFTERTHOUGHT_LOG_LEVEL": "warning",
    }  # fmt: skip
    say("starting for the first time")
    first = _start(env)
    say(f"starting {times} times")
    later = [_start(env) for _ in range(times)]
    nowhere = {**env, "REDIS_URL": "redis://127.0.0.1:1/0"}
    figures = {what: round(median(one[what] for one in later), 2) for what in first}
    costs = {name: _imports(module, nowhere) for name, module in PROCESSES.items()}
    return {"first": first, "later": figures, "imports": costs}


def _start(env: dict[str, str]) -> dict[str, float]:
    """Start the service, wait until it is ready and stop it."""
    url, begun = f"http://127.0.0.1:{env['AFTERTHOUGHT_PORT']}/health", time.monotonic()
    process = subprocess.Popen([sys.executable, "-m", "loop.cli", "up"], env=env, stdout=subprocess.DEVNULL)
    try:
        with httpx.Client(trust_env=False) as client:
            taken = {what: _wait_for(client, url, what, begun, process) for what in ("live", "ready", "worker")}
        return taken | {"processor": round(_processor_seconds(process.pid), 2)}
    finally:
        process.terminate()
        process.wait()


def _wait_for(client: httpx.Client, url: str, what: str, begun: float, process: subprocess.Popen[bytes]) -> float:
    while time.monotonic() - begun < _PATIENCE_SECONDS and process.poll() is None:
        try:
            answer = client.get(f"{url}/{'live' if what == 'live' else 'ready'}")
            if answer.is_success and (what != "worker" or answer.json()["dependencies"]["worker"]["ok"]):
                return round(time.monotonic() - begun, 2)
        except httpx.TransportError:
            pass
        time.sleep(_LOOK_SECONDS)
    raise TimeoutError(f"it never came to this: {what}")


def _processor_seconds(pid: int) -> float:
    """Return the processor time of a process and all that it started; 0 where the system does not tell."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return 0.0
    # Its own in user and kernel mode, and those of children that ended.
    return sum(map(int, stat[11:15])) / os.sysconf("SC_CLK_TCK") + sum(_processor_seconds(int(one)) for one in children)


def _imports(module: str, env: dict[str, str]) -> dict[str, Any]:
    """Return what importing a module costs: processor seconds, how many modules, and the slowest ten."""
    told = "import sys, time; print(round(time.process_time(), 2), len(sys.modules))"
    command = [sys.executable, "-X", "importtime", "-c", f"import {module}; {told}"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    seconds, modules = done.stdout.split()
    own = sorted(((int(took), name) for took, name in _LINE.findall(done.stderr)), reverse=True)[:10]
    slowest = {name: round(took / 1000, 1) for took, name in own}
    return {"processor": float(seconds), "modules": int(modules), "slowest_ms": slowest}


if __name__ == "__main__":
    run(measure)
