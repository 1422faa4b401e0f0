"""The generated files of the clients, each with what it would be now.

``tests/unit/test_python_client.py`` fails when anything would change: run ``python -m ops.client`` then.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from loop.api.app import describe
from ops.client.methods import methods_module
from ops.client.models import models_module
from shared.base.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
_PACKAGE = "clients/python/afterthought_client"
_NOTE = '"""{text} Generated: `python -m ops.client`."""\n\n'
_TO_ASYNC = (
    (r"import time\n", "import asyncio\nimport time\n"),
    (r"time\.sleep", "await asyncio.sleep"),
    (r"Sync(?=Transport)", "Async"),
    (r"import Iterator", "import AsyncIterator"),
    (r"-> Iterator", "-> AsyncIterator"),
    (r"httpx\.Client", "httpx.AsyncClient"),
    (r"httpx\.BaseTransport", "httpx.AsyncBaseTransport"),
    (r"def (close|_send|_pieces|_follow)\(", r"async def \1("),
    (r"def __(enter|exit)__\(", r"async def __a\1__("),
    (r"self\._http\.(close)", r"await self._http.a\1"),
    (r"self\._http\.request", "await self._http.request"),
    (r"self\.close", "await self.close"),
    (r"with self\._http\.stream", "async with self._http.stream"),
    (r"for chunk in response\.iter_bytes", "async for chunk in response.aiter_bytes"),
    (r"response\.read\(", "await response.aread("),
    (r"``with`` block", "``async with`` block"),
    # Asyncio takes no file that would make it wait.
    (r"bytes \| BinaryIO", "bytes"),
    (r"; one that is open is read meanwhile", ""),
    (r"  # noqa: UP028", ""),
)


def pages() -> dict[str, str]:
    """Return every generated file of the Python client by its place in the checkout."""
    description = description_of_release()
    sync = (ROOT / _PACKAGE / "sync_transport.py").read_text("utf-8")
    made = {
        "models.py": ("The shapes of the service's answers and bodies.", models_module(description)),
        "client.py": ("The client that waits for each answer.", methods_module(description, is_async=False)),
        "async_client.py": ("The client for asyncio.", methods_module(description, is_async=True)),
        "async_transport.py": ("Sends calls and follows streams, for asyncio.", _to_async(sync)),
    }
    return {f"{_PACKAGE}/{name}": _formatted(_NOTE.format(text=text) + body) for name, (text, body) in made.items()}


def description_of_release() -> dict[str, Any]:
    """Return what ``/openapi.json`` says where nothing is set."""
    return describe(Settings(_env_file=None))


def outdated() -> dict[str, str]:
    """Return the files that would be written differently, with what they would be."""
    return {place: text for place, text in pages().items() if _present(ROOT / place) != text}


def write(place: str, text: str) -> None:
    """Write one of them."""
    (ROOT / place).write_text(text, "utf-8")


def _present(path: Path) -> str | None:
    return path.read_text("utf-8") if path.exists() else None


def _to_async(text: str) -> str:
    """Return the asynchronous half of a module whose text is the other one."""
    for pattern, replacement in _TO_ASYNC:
        text, times = re.subn(pattern, replacement, text)
        if not times:
            raise ValueError(f"nothing in sync_transport.py matches {pattern}; see _TO_ASYNC")
    return text.split('"""\n\n', 1)[1]


def _formatted(text: str) -> str:
    for step in (["check", "--quiet", "--fix", "--select", "I,F401"], ["format", "--quiet"]):
        text = _ruff(text, *step)
    return text


def _ruff(text: str, *arguments: str) -> str:
    name = f"{_PACKAGE}/generated.py"
    command: list[Any] = [sys.executable, "-m", "ruff", *arguments, "--stdin-filename", name, "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=ROOT).stdout
