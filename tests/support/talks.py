"""Chats as people hold them, over HTTP and without a model, and what an app is shown of them afterwards."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry

from tests.support.api import Api, open_api
from tests.support.working import open_worker, work_off
from worker.wiring import WorkerServices

_CONVERSATIONS = "/apps/chat/conversations"


def named(user: str) -> dict[str, str]:
    """Return what names a user; nothing names one without a name."""
    return {"userId": user} if user else {}


@dataclass
class Talks:
    api: Api
    worker: WorkerServices
    numbers: Iterator[int] = field(default_factory=itertools.count)
    last: str = ""
    """The path of the last conversation."""

    def hold(
        self,
        *said: str | tuple[str, str],
        user: str = "ana",
        summarised: bool = False,
        followed: bool = False,
        at: str | None = None,
    ) -> str:
        """Hold a chat, user and assistant in turn unless roles are given; return what became of its memory.

        ``followed``: jobs read each message before the next is said. ``at``: when it was held, if it is only brought
        in now.
        """
        name = f"c{next(self.numbers)}"
        self.last = f"{_CONVERSATIONS}/{name}"
        self.api.ask("POST", _CONVERSATIONS, json={"conversationId": name, **named(user)})
        for nth, one in enumerate(said):
            role, content = (("user", "assistant")[nth % 2], one) if isinstance(one, str) else one
            self.api.clock.advance(5)
            about = {} if at is None else {"createdAt": at}
            self.api.ask("POST", f"{self.last}/messages", json={"role": role, "content": content} | about)
            if followed:
                for job in ("extract", "summaries") if role == "user" else ("summaries",):
                    self.api.ask("POST", f"{self.last}/{job}")
                work_off(self.worker, self.api.clock)
        if summarised:
            self.api.ask("POST", f"{self.last}/summaries")
        self.api.ask("POST", f"{self.last}/end")
        work_off(self.worker, self.api.clock)
        self.api.clock.advance(3600)
        jobs = self.api.ask("GET", self.last)["jobs"]
        return str(next(job["state"] for job in jobs if job["kind"] == "create_memory"))

    def memories(self, user: str = "ana") -> list[str]:
        listed = self.api.ask("GET", "/apps/chat/memories", params={"userId": user})["memories"]
        return [one["content"] for one in listed]

    def facts(self, user: str = "ana") -> dict[str, int]:
        """Return the facts that stand, with their ids."""
        listed = self.api.ask("GET", "/apps/chat/facts", params={"userId": user})["facts"]
        return {one["fact"]: one["id"] for one in listed}

    def summaries(self) -> list[str]:
        return [one["content"] for one in self.api.ask("GET", f"{self.last}/summaries")["summaries"]]

    def history(self, fact: int) -> list[dict[str, Any]]:
        return list(self.api.ask("GET", f"/apps/chat/facts/{fact}/history")["changes"])

    def recalled(self, message: str, user: str = "ana") -> str:
        """Return everything a model would be told before it answers a message."""
        answer = self.api.ask("POST", "/apps/chat/context", json={"message": message, **named(user)})
        return f"{answer['systemPrompt']}\n{answer['messages'][:-1]}"


@contextmanager
def open_talks(url: str, home: Path) -> Iterator[Talks]:
    with open_api(url, home) as api, open_worker(url, home, api.clock, CollectorRegistry()) as worker:
        api.install()
        yield Talks(api, worker)
