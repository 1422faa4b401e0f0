"""Recorded sessions for tests of compositions: small transcripts, registered, and versions made of them by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from sqlalchemy.orm import Session

from shared.apps.queries import lock_app
from shared.base.audit import Cause
from shared.sessions.blocks import Block, BlockKind, Heading, markdown_lines
from shared.sessions.compose.compositions import (
    ComponentRequest,
    CompositionRequest,
    request_composition,
    wake_waiting,
)
from shared.sessions.compress.queries import working_of
from shared.sessions.models import BuildState, Composition, RecordedSession, SessionVersion
from shared.sessions.queries import get_session
from shared.sessions.recording import RecordOrigin, line_of, records_of
from shared.sessions.store import Store
from tests.support.compressing import Press
from tests.support.house import House
from tests.support.recordings import Shelf
from tests.support.settings import default_settings

DAY = datetime(2026, 2, 1, 9, tzinfo=UTC)
PROJECT = "-home-dev-shop"


def transcript(session_id: str, exchanges: int, at: datetime = DAY, marked: str = "", words: int = 60) -> str:
    """Return a transcript: in each exchange a request, a call of a tool with its result, and an answer."""
    lines: list[dict[str, Any]] = []
    for number in range(exchanges):
        request = f"Request {number} of {session_id}: change part {number}. {marked if number == 1 else ''}"
        tool = f"toolu_{session_id}_{number}"
        use = {"type": "tool_use", "id": tool, "name": "Read", "input": {"file_path": f"/src/part{number}.py"}}
        result = {"type": "tool_result", "tool_use_id": tool, "content": f"part {number}: " + "x " * words}
        answer = {"type": "text", "text": f"Part {number} of {session_id} is changed. " + "Because. " * words}
        lines += [
            _record("user", request), _record("assistant", [use]), _record("user", [result]),
            _record("assistant", [answer]),
        ]  # fmt: skip
    parent = None
    for place, line in enumerate(lines):
        uuid = str(uuid5(NAMESPACE_URL, f"{session_id}/{place}"))
        moment = (at + timedelta(seconds=place)).isoformat().replace("+00:00", "Z")
        line |= {"uuid": uuid, "parentUuid": parent, "sessionId": session_id, "timestamp": moment}
        parent = uuid
    return "".join(json.dumps(line) + "\n" for line in lines)


def _record(role: str, content: Any) -> dict[str, Any]:
    return {"type": role, "isSidechain": False, "cwd": "/home/dev/shop", "message": {"role": role, "content": content}}


def points(session_id: str, tokens: int) -> list[Block]:
    said = [f"Point {number} of {session_id} {'w ' * 80}" for number in range(max(1, tokens // 50))]
    return [Block(BlockKind.WORDS, "user", text) for text in said]


@dataclass
class Shop:
    """A project of an installation, with its store."""

    house: House
    store: Store
    folder: Path
    app_id: str = "notes"
    project_id: str = PROJECT

    def register(self, session_id: str, exchanges: int = 20, **more: Any) -> None:
        self.take_in(session_id, transcript(session_id, exchanges, **more))

    def take_in(self, session_id: str, text: str) -> None:
        self._shelf.add_text(session_id, text, self.project_id, self.app_id)

    @property
    def _shelf(self) -> Shelf:
        return Shelf(self.house, self.folder, self.store)

    def cause(self, reason: str = "by hand") -> Cause:
        return Cause("admin", reason, self.house.clock.now())

    def recorded(self, session: Session, session_id: str) -> RecordedSession:
        return get_session(session, self.app_id, session_id)

    def version(self, session_id: str, tokens: int, **more: Any) -> int:
        """Make a version of about so many tokens by hand, as if a compression had; return its key."""
        return self.version_of(session_id, points(session_id, tokens), **more)

    def version_of(self, session_id: str, segments: Sequence[Block], **more: Any) -> int:
        """Make a version of these segments by hand; return its key."""
        with self.house.database.write() as session:
            recorded = self.recorded(session, session_id)
            fields = {
                "settings": {"tierPreset": "standard"},
                "source_sha256": recorded.sha256,
                "source_bytes": recorded.size_bytes,
                "asked_by": "admin",
                "created_at": self.house.clock.now(),
            }
            fields |= self._written(recorded, recorded.next_version, segments) | more
            made = SessionVersion(session_key=recorded.key, number=recorded.next_version, **fields)
            recorded.next_version += 1
            session.add(made)
            session.flush()
            return made.key

    def finish(self, session_id: str, tokens: int = 600, state: BuildState = BuildState.READY) -> None:
        """End the version that is being made of a session, as its pipeline would."""
        with self.house.database.write() as session:
            recorded = self.recorded(session, session_id)
            version = working_of(session, recorded.key)
            assert version is not None
            fields = self._written(recorded, version.number, points(session_id, tokens)) | {"state": state}
            for name, value in fields.items():
                setattr(version, name, value)
            wake_waiting(session, version, self.house.clock.now())

    def _written(self, recorded: RecordedSession, number: int, segments: Sequence[Block]) -> dict[str, Any]:
        """Write the files of a version; return what its row says of them."""
        folder = self.store.versions_folder(self.app_id, self.project_id, recorded.session_id)
        text = "".join(markdown_lines(segments, Heading(recorded.session_id)))
        lines = "".join(
            line_of(one) for one in records_of(segments, RecordOrigin(recorded.session_id, f"v{number:03d}"))
        )
        for ending, content in (("md", text), ("jsonl", lines)):
            self.store.write_text(folder / f"v{number:03d}_made.{ending}", [content])
        return {
            "state": BuildState.READY,
            "file": f"v{number:03d}_made",
            "output_tokens": -(-len(text) // 4),
            "ratio": recorded.original_tokens * 4 / len(text),
            "digests": {"jsonl": sha256(lines.encode()).hexdigest()},
        }

    def ask(
        self, name: str, *components: str | ComponentRequest, budget: int = 2000, replaces: bool = False, **more: Any
    ) -> Composition:
        """Ask for a composition; a bare word is a session, by whichever version serves best."""
        parts = tuple(ComponentRequest(session_id=one) if isinstance(one, str) else one for one in components)
        asked = CompositionRequest(components=parts, total_token_budget=budget, **more)
        with self.house.database.write() as session:
            app = lock_app(session, self.app_id)
            made = (session, app, self.project_id, name, asked, self.cause(), default_settings(), replaces)
            return request_composition(*made)

    def work_off(self, limit: int = 50) -> None:
        """Make attempts as a worker would, until nothing is due: compress with the extractive agent, and compose."""
        Press(self.house, self.folder, self._shelf, self.app_id).work_off(limit)

    def composition(self, key: int) -> Composition:
        with self.house.database.read() as session:
            return session.get_one(Composition, key)

    def files(self) -> list[str]:
        """Return the files of compositions, from the project's folder."""
        folder = self.store.project_folder(self.app_id, self.project_id)
        return sorted(str(one.relative_to(folder)) for one in folder.rglob("composed/*/*"))

    def text(self, name: str, file: str = "composed.md") -> str:
        return (self.store.composition_folder(self.app_id, self.project_id, name) / file).read_text()


@contextmanager
def open_shop(house: House, folder: Path) -> Iterator[Shop]:
    originals = folder / "originals"
    originals.mkdir()
    yield Shop(house, Store(folder / "store"), originals)
