"""Recorded sessions that are compressed in a test: asked for, carried out, and looked at."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

from shared.apps.queries import lock_app
from shared.contracts.jobs import JobKind
from shared.jobs.models import Job
from shared.llm.calls import Meter, WorkKind
from shared.sessions.compress.queries import find_version, get_version, versions_of
from shared.sessions.compress.run import Chunk, CondensedChunk, summary_line
from shared.sessions.compress.settings import CompressionSettings
from shared.sessions.compress.versions import request_version
from shared.sessions.models import SessionVersion
from shared.sessions.queries import get_session, lock_project, lock_session
from shared.sessions.semantic.memories import request_learning
from shared.sessions.semantic.queries import list_semantic_memories
from tests.support.house import House, call_once
from tests.support.recordings import PROJECT, Shelf, Transcript
from tests.support.settings import default_settings
from worker.agent.protocol import CompressionAgent, LearningAgent
from worker.agent.session_rules import ExtractiveCompressionAgent, ExtractiveLearningAgent
from worker.pipelines.attempt import Pipeline
from worker.pipelines.compose_context import ComposeContext
from worker.pipelines.compress_session import CompressSession
from worker.pipelines.learn_from_sessions import LearnFromSessions


def uniform(ratio: int, **more: object) -> CompressionSettings:
    return CompressionSettings(mode="uniform", compaction_ratio=ratio, **more).complete("extractive")  # type: ignore[arg-type]


def long_talk(transcript: Transcript, exchanges: int = 30) -> Transcript:
    """Let a user and the assistant work through so many exchanges, each about a file of its own."""
    for number in range(exchanges):
        transcript.human(f"Please make module_{number} faster. Never touch /etc/kites_{number}.conf for that.")
        transcript.tool(
            "Read", f"def kite_{number}():\n" + "    fly()\n" * 30, file_path=f"/home/me/kites/part_{number}.py"
        )
        transcript.tool("Bash", f"Exit code 1\nError: kite_{number} fell\n" + "at wind\n" * 9, True, command="make fly")
        transcript.assistant(
            f"The slow part of module_{number} was parse_wind_{number}. I replaced it by a table of {number + 100} "
            f"entries. The tests of part_{number} pass now because the lines are sorted first."
        )
    return transcript


@dataclass
class ScriptedCompressionAgent(CompressionAgent):
    """Makes one line of each chunk, unless it is told what to say."""

    house: House
    says: list[CondensedChunk | BaseException] = field(default_factory=list)
    while_thinking: Callable[[], None] = lambda: None
    seen: list[Chunk] = field(default_factory=list)
    tokens: int = 700

    @property
    def name(self) -> str:
        return "ollama:scripted"

    @property
    def chunk_tokens(self) -> int:
        return self.tokens

    def condense(self, chunk: Chunk, meter: Meter) -> CondensedChunk:
        assert not self.house.database.is_held_here, "a transaction is open while the agent thinks"
        said = self.says.pop(0) if self.says else None
        call_once(WorkKind.COMPRESS, self.name, meter, said)
        self.while_thinking()
        self.seen.append(chunk)
        if isinstance(said, BaseException):
            raise said
        return said or CondensedChunk(
            (), (summary_line(f"Module tests, part {chunk.position}, went well.", (chunk.pieces[0].source,)),)
        )


class Press:
    """A shelf of sessions, and the worker that compresses them, composes them and learns from them."""

    def __init__(self, house: House, folder: Path, shelf: Shelf | None = None, app_id: str = "notes") -> None:
        self.house = house
        self.app_id = app_id
        self.shelf = shelf or Shelf(house, folder)
        self.scripted = ScriptedCompressionAgent(house)
        self.agents: dict[str, CompressionAgent] = {
            "extractive": ExtractiveCompressionAgent(), self.scripted.name: self.scripted,
        }  # fmt: skip
        self.learner: LearningAgent = ExtractiveLearningAgent()
        self.elapsed: Callable[[], float] = perf_counter
        self.others = house.pipeline_of
        house.pipeline_of = self._pipeline_of  # type: ignore[method-assign]

    def _pipeline_of(self, kind: str) -> Pipeline:
        house, store = self.house, self.shelf.store
        if kind == JobKind.COMPOSE_CONTEXT:
            return ComposeContext(house.database, house.clock, store, house.metrics, default_settings())
        if kind == JobKind.LEARN_FROM_SESSIONS:
            how = (house.accountant, house.metrics, self.elapsed, house.rules.learning)
            return LearnFromSessions(house.database, house.clock, self.learner, store, *how)
        if kind != JobKind.COMPRESS_SESSION:
            return self.others(kind)
        return CompressSession(
            house.database, house.clock, self.agents.get, store, house.accountant, house.metrics, self.elapsed,
            house.rules.sessions,
        )  # fmt: skip

    def ask(self, session_id: str, settings: CompressionSettings, source: str | None = None) -> SessionVersion:
        with self.house.database.write() as session:
            app = lock_app(session, self.app_id)
            recorded = lock_session(session, self.app_id, session_id)
            version = None if source is None else get_version(session, recorded, source)
            return request_version(
                session, app, recorded, settings, self.shelf.cause("a test"), self.house.clock.now(), version
            )

    def make(self, session_id: str, settings: CompressionSettings, source: str | None = None) -> SessionVersion:
        asked = self.ask(session_id, settings, source)
        self.work_off()
        return self.version(session_id, asked.version_id)

    def learn(self, learner: LearningAgent) -> dict[str, str]:
        """Have the project's sessions learnt from; return what is known then, each with who found it."""
        self.learner = learner
        with self.house.database.write() as session:
            app = lock_app(session, self.app_id)
            project = lock_project(session, self.app_id, PROJECT)
            request_learning(session, app, project, self.house.clock.now(), 5)
        self.work_off()
        with self.house.database.read() as session:
            return {one.content: one.agent for one in list_semantic_memories(session, project.key)}

    def work_off(self, limit: int = 50) -> None:
        """Make attempts as a worker would, until nothing is due."""
        for _ in range(limit):
            if not self.attempt():
                return

    def attempt(self) -> bool:
        sent = self.house.deliver()
        self.house.clock.advance(1)
        return bool(sent)

    def version(self, session_id: str, version_id: str) -> SessionVersion:
        with self.house.database.read() as session:
            recorded = get_session(session, self.app_id, session_id)
            found = find_version(session, recorded.key, version_id)
            assert found is not None
            return found

    def listed(self, session_id: str) -> list[str]:
        with self.house.database.read() as session:
            recorded = get_session(session, self.app_id, session_id)
            return [one.version_id for one in versions_of(session, recorded.key)]

    def folder(self, session_id: str) -> Path:
        return self.shelf.store.versions_folder(self.app_id, PROJECT, session_id)

    def files(self, session_id: str) -> list[str]:
        return sorted(path.name for path in self.folder(session_id).glob("*") if path.name != "versions.json")

    def text(self, version: SessionVersion, session_id: str, ending: str = "md") -> str:
        return (self.folder(session_id) / f"{version.file}.{ending}").read_bytes().decode()

    def jobs(self) -> list[Job]:
        return self.house.jobs(kind=JobKind.COMPRESS_SESSION)


@contextmanager
def open_press(sqlite_template: Path, folder: Path) -> Iterator[Press]:
    """Install an app for a whole module of tests, on a copy of a migrated file."""
    shutil.copy(sqlite_template, folder / "press.db")
    house = House(f"sqlite:///{folder / 'press.db'}")
    house.install()
    try:
        yield Press(house, folder)
    finally:
        house.database.dispose()
