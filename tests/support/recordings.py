"""Transcripts made up by tests, and a store in which they are registered."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from loop.wiring import Loop
from shared.base.audit import Cause
from shared.sessions.models import RecordedSession
from shared.sessions.registry.intake import from_path
from shared.sessions.registry.registration import Registrar, SessionWork
from shared.sessions.store import Store
from tests.support.house import House
from tests.support.settings import default_settings

PROJECT = "-home-me-kites"
FOLDER = "/home/me/kites"


class Transcript:
    """A transcript under way; each method adds records and returns it."""

    def __init__(self, session_id: str, at: datetime, cwd: str = FOLDER) -> None:
        self.session_id = session_id
        self._at = at
        self._cwd = cwd
        self.records: list[dict[str, Any]] = []

    def human(self, text: str) -> Transcript:
        return self._add("user", {"role": "user", "content": text})

    def assistant(self, text: str) -> Transcript:
        return self._add("assistant", self._message([{"type": "text", "text": text}]))

    def tool(self, name: str, result: str, is_error: bool = False, **wanted: Any) -> Transcript:
        use = f"toolu_{len(self.records)}"
        self._add("assistant", self._message([{"type": "tool_use", "id": use, "name": name, "input": wanted}]))
        block = {"type": "tool_result", "tool_use_id": use, "content": result, "is_error": is_error}
        return self._add("user", {"role": "user", "content": [block]})

    def text(self) -> str:
        return "".join(f"{json.dumps(one)}\n" for one in self.records)

    def _message(self, content: list[dict[str, Any]]) -> dict[str, Any]:
        usage = {"input_tokens": 10, "output_tokens": 5}
        return {"id": f"msg_{len(self.records)}", "role": "assistant", "content": content, "usage": usage}

    def _add(self, kind: str, message: dict[str, Any]) -> Transcript:
        number = len(self.records)
        self.records.append({
            "type": kind, "uuid": f"{self.session_id}-{number}",
            "parentUuid": f"{self.session_id}-{number - 1}" if number else None,
            "sessionId": self.session_id, "cwd": self._cwd, "version": "2.1.0", "gitBranch": "main",
            "isSidechain": False, "timestamp": (self._at + timedelta(seconds=number)).isoformat(), "message": message,
        })  # fmt: skip
        return self


class Shelf:
    """A store of recorded sessions beside a house, or beside a loop."""

    def __init__(self, house: House | Loop, folder: Path, store: Store | None = None) -> None:
        self.house = house
        self.folder = folder
        self.store = store or Store(folder / "store")
        self.settings = default_settings(sessions_max_mb=64)
        self.registrar = Registrar(house.database, self.store, self.settings)

    def transcript(self, session_id: str, cwd: str = FOLDER) -> Transcript:
        return Transcript(session_id, self.house.clock.now(), cwd)

    def add(self, transcript: Transcript, project_id: str = PROJECT, app_id: str = "notes") -> RecordedSession:
        """Register a transcript; its project is made if it is not there."""
        return self.add_text(transcript.session_id, transcript.text(), project_id, app_id)

    def add_text(self, session_id: str, text: str, project_id: str, app_id: str) -> RecordedSession:
        original = self.folder / f"{app_id}-{session_id}.jsonl"
        original.write_text(text, "utf-8")
        place = self.registrar.locate(app_id, project_id, session_id)
        with from_path(self.store, app_id, session_id, original, self.settings) as intake:
            return self.registrar.register(place, intake, self.cause("a test"), self._carry)

    def sync(self, transcript: Transcript, app_id: str = "notes") -> RecordedSession:
        """Write what a transcript has come to, and take in its tail."""
        original = self.folder / f"{app_id}-{transcript.session_id}.jsonl"
        original.write_text(transcript.text(), "utf-8")
        return self.registrar.sync(app_id, transcript.session_id, None, self.cause("a test"), self._carry)

    def cause(self, reason: str) -> Cause:
        return Cause("token:test", reason, self.house.clock.now())

    def _carry(self, work: SessionWork) -> RecordedSession:
        with self.house.database.write() as session:
            return work(session)
