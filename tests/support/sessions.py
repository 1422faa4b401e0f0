"""Recorded sessions at the door: ``/api/memory`` of an app, and the worker that does what was requested there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from loop.steps.sessions import IndexSessions
from shared.base.errors import NotYet
from shared.contracts.jobs import JobKind
from shared.jobs.models import JobState
from shared.jobs.ownership import Claim, finish, wait
from tests.support.api import Api
from tests.support.composing import Shop
from tests.support.compressing import Press
from tests.support.house import House
from tests.support.recordings import Shelf
from tests.support.transcripts import assistant, lines, user

MEMORY = "/api/memory"
PROJECT = "-home-me-kites"
NDJSON, ZIP = {"Content-Type": "application/x-ndjson"}, {"Content-Type": "application/zip"}
TEXT = lines(
    user("##keepit1.00## Pin\n\n##keepit0.80## Keep", "1", cwd="/home/me/kites", timestamp="2026-01-02T10:00:00Z"),
    assistant("##keepit0.50## Note", "2", "1", timestamp="2026-01-02T10:01:00Z"),
    user("##keepit0.5## odd", "3"),
)


class Sessions:
    """What an admin asks of an app's sessions; ``shop`` makes versions of a size by hand, ``press`` lets them be made.

    A body of bytes is sent as an upload, others as JSON.
    """

    def __init__(self, api: Api, house: House, folder: Path, app_id: str = "chat") -> None:
        self.api, self.house, self.app_id = api, house, app_id
        self.store = api.loop.store
        self.shelf = Shelf(house, folder, self.store)
        self.press = Press(house, folder, self.shelf, app_id)
        self.shop = Shop(house, self.store, folder, app_id, PROJECT)

    def ask(self, method: str, path: str, status: int | None = None, body: Any = None, **params: Any) -> Any:
        path, sent = self._sent(path, body, params)
        return self.api.ask(method, path, status, **sent)

    def refused(self, status: int, method: str, path: str, body: Any = None, **params: Any) -> dict[str, Any]:
        path, sent = self._sent(path, body, params)
        return self.api.refused(status, method, path, **sent)

    def _sent(self, path: str, body: Any, params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        token, headers = params.pop("token", None), dict(params.pop("headers", {}))
        if isinstance(body, bytes) or hasattr(body, "__next__"):
            sent: dict[str, Any] = {"content": body, "headers": NDJSON | headers}
        else:
            sent = {"headers": headers} if body is None else {"json": body, "headers": headers}
        path, _, query = path.partition("?")
        # An app's own token names the app.
        own = {"token": token} if token else {"params": {"appId": self.app_id}}
        return MEMORY + path, sent | own | {"params": own.get("params", {}) | dict(parse_qsl(query)) | params}

    def get(self, path: str, **params: Any) -> Any:
        return self.ask("GET", path, **params)

    def text(self, path: str, **params: Any) -> str:
        answer = self.api.send("GET", f"{MEMORY}{path}", params={"appId": self.app_id} | params)
        assert answer.is_success, answer.text
        return answer.text

    def upload(self, session_id: str = "s1", body: bytes = TEXT, status: int = 201, **more: Any) -> Any:
        return self.ask("POST", f"/projects/{more.pop('project', PROJECT)}/sessions/{session_id}", status, body, **more)

    def compress(self, session_id: str = "s1", **settings: Any) -> Any:
        """Ask for a version, have it made, and return it as it is read."""
        path = f"/sessions/{session_id}/versions"
        version_id = self.ask("POST", path, 202, settings)["versionId"]
        self.work_off()
        return self.get(f"{path}/{version_id}")

    def compose(self, name: str, *components: str | dict[str, Any], budget: int = 2000, **more: Any) -> Any:
        parts = [{"sessionId": one} if isinstance(one, str) else one for one in components]
        body = {"name": name, "components": parts, "totalTokenBudget": budget} | more
        return self.ask("POST", f"/projects/{PROJECT}/compositions", 202, body)["composition"]

    def work_off(self) -> None:
        """Make attempts as a worker would, until nothing is due."""
        self.press.work_off()

    def attempt(self, kind: JobKind) -> None:
        """Make an attempt at each job of a kind that is due; those of other kinds are taken to be over."""
        while claims := list(self.house.claims()):
            for claim in claims:
                if claim.kind == kind:
                    self._try(claim)
                else:
                    with self.house.database.write() as session:
                        finish(session, claim, JobState.DONE, self.house.clock.now())

    def _try(self, claim: Claim) -> None:
        try:
            self.house.pipeline_of(claim.kind)(claim)
        except NotYet as reason:
            with self.house.database.write() as session:
                wait(session, claim, reason.message, reason.until, self.house.clock.now())

    def index(self) -> None:
        """Make everything findable, as the loop does."""
        step = IndexSessions(self.api.loop.database, self.store)
        while step.run():
            pass

    def keepits(self, session_id: str = "s1") -> list[dict[str, Any]]:
        return list(self.get(f"/sessions/{session_id}/keepits")["keepits"])

    def register(self, path: Path, session_id: str = "s1") -> Any:
        return self.ask("POST", f"/projects/{PROJECT}/sessions/{session_id}", 201, {"path": str(path)})

    def copy_of(self, session_id: str = "s1") -> Path:
        return self.store.original(self.app_id, PROJECT, session_id)

    def manifest(self) -> Any:
        return json.loads(self.store.manifest(self.app_id, PROJECT).read_text())

    def in_cache(self) -> list[str]:
        return [one for one in self.files() if "cache" in one]

    def files(self, app_id: str | None = None) -> list[str]:
        app_id = app_id or self.app_id
        return [self.store.path_of(app_id, path) for path in self.store.files(app_id)]


def digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


@contextmanager
def open_sessions(api: Api, url: str, folder: Path) -> Iterator[Sessions]:
    """Install apps chat and email, and put a worker beside the interface."""
    for app_id in ("chat", "email"):
        api.install(app_id)
    house = House(url)
    house.clock = api.clock
    try:
        yield Sessions(api, house, folder)
    finally:
        house.database.dispose()
