"""What a loop says of itself over HTTP, asked from outside: whether it can serve, and what it lacks.

The supervisor waits on it and tells the user. How the loop finds out is its own business (``loop/api/health.py``).
"""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass

_TIMEOUT_SECONDS = 5.0


@dataclass(frozen=True)
class Readiness:
    """Whether the loop can serve, and a sentence for each dependency that is not well, by its name."""

    ready: bool
    wrong: dict[str, str]


def ask_readiness(host: str, port: int) -> Readiness:
    """Ask the loop at ``host`` and ``port``; one that does not answer is not ready."""
    connection = http.client.HTTPConnection(host, port, timeout=_TIMEOUT_SECONDS)
    try:
        connection.request("GET", "/health/ready")
        response = connection.getresponse()
        return Readiness(response.status == 200, _wrong(response.read()))
    except (OSError, http.client.HTTPException) as error:
        return Readiness(False, {"loop": f"It does not answer ({type(error).__name__}); its lines above say why."})
    finally:
        connection.close()


def _wrong(body: bytes) -> dict[str, str]:
    try:
        found = json.loads(body)["dependencies"].items()
        return {name: str(one["detail"]) for name, one in found if not one["ok"]}
    except (ValueError, TypeError, KeyError, AttributeError):
        return {}
