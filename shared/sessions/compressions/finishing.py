"""How a version ends: whole, failed or removed; always in one transaction of the locked app.

Files are in place before a version is said to be whole, and go only after its row has gone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete, update
from sqlalchemy.orm import Session

from shared.causes import Cause
from shared.errors import Conflict
from shared.sessions.compressions import queries
from shared.sessions.compressions.making import Made
from shared.sessions.compressions.planning import Fate
from shared.sessions.models import (
    Compression,
    CompressionPart,
    KeepitMarker,
    Making,
    MarkerFate,
    Project,
    RecordedSession,
)
from shared.sessions.registry.changes import ChangeKind, note, touch

FORMATS = ("md", "jsonl")
"""The endings of a version's files."""


@dataclass(frozen=True)
class Written:
    """A version whose files are in place."""

    made: Made
    agent: str
    seconds: float
    file: str
    digests: Mapping[str, str]
    gone: Sequence[Fate] = ()
    """Of markers that were summarised before, in the version it was made from."""

    @property
    def fates(self) -> Sequence[Fate]:
        """What became of every marker."""
        return (*self.made.fates, *self.gone)


def file_name(compression: Compression, label: str, output_tokens: int) -> str:
    """Return the name of a version's files without their endings, as ``v001_tiered-standard_10k``."""
    return f"{compression.version_id}_{label}_{max(1, (output_tokens + 500) // 1000)}k"


def finish(
    session: Session,
    project: Project,
    recorded: RecordedSession,
    compression: Compression,
    written: Written,
    markers: Sequence[KeepitMarker],
    now: datetime,
) -> None:
    """Say that a version is whole, and what became of each marker that was there when it was asked for."""
    made = written.made
    compression.state, compression.finished_at = Making.READY, now
    compression.file, compression.digests, compression.agent = written.file, dict(written.digests), written.agent
    compression.input_tokens, compression.output_tokens = made.plan.input_tokens, made.output_tokens
    compression.output_messages, compression.ratio = made.messages, made.ratio
    compression.keepit_stats = keepit_stats(written.fates)
    compression.statistics = made.statistics(written.seconds, written.agent)
    keys = {marker.marker_id: marker.key for marker in markers}
    for fate in written.fates:
        if fate.marker_id in keys:
            session.add(
                MarkerFate(compression_key=compression.key, marker_key=keys[fate.marker_id], survived=fate.survived)
            )
    drop_parts(session, compression)
    touch(project, now)
    cause = Cause(compression.asked_by, compression.reason, now, compression.job_id)
    after = {"outputTokens": made.output_tokens, "ratio": round(made.ratio, 2), "agent": written.agent}
    note(
        session, project, compression.version_id, ChangeKind.COMPRESSED, cause, after=after,
        session_id=recorded.session_id,
    )  # fmt: skip


def keepit_stats(fates: Iterable[Fate]) -> dict[str, Any]:
    """Return how many markers survived, how many were summarised, and how many there were of each weight."""
    fates = list(fates)
    preserved = sum(fate.survived for fate in fates)
    weights = Counter(f"{fate.weight / 100:.2f}" for fate in fates)
    return {
        "preserved": preserved,
        "summarized": len(fates) - preserved,
        "weights": dict(sorted(weights.items(), reverse=True)),
    }


def fail(session: Session, compression: Compression, now: datetime) -> None:
    """Say that a version will not come about; what was made of it goes, its number is not used again."""
    compression.state, compression.finished_at = Making.FAILED, now
    drop_parts(session, compression)


def drop_parts(session: Session, compression: Compression) -> None:
    """Forget what parts of a version came to."""
    session.execute(delete(CompressionPart).where(CompressionPart.compression_key == compression.key))


def count_use(session: Session, compression: Compression, now: datetime) -> None:
    """Say that a version was read by who can make use of it; one that was removed meanwhile stays so."""
    mine = update(Compression).where(Compression.key == compression.key)
    session.execute(mine.values(uses=Compression.uses + 1, last_used=now))


def refuse_in_use(session: Session, recorded: RecordedSession, compression: Compression) -> None:
    """Refuse to remove a version that something else needs. Raises: Conflict ``version_in_use``."""
    users = queries.compositions_with(session, [compression.key])
    if users:
        names = ", ".join(name for _, _, name in users)
        raise Conflict(
            f"Version {compression.version_id} of session {recorded.session_id} is used by {names}; "
            "delete these compositions first.",
            code="version_in_use",
            details={"compositions": [{"compositionId": one, "name": name} for _, one, name in users]},
        )
    maker = queries.made_from(session, compression)
    if maker is not None:
        raise Conflict(
            f"Version {maker.version_id} is being made from {compression.version_id}; wait for its job, or cancel it.",
            code="version_in_use",
            details={"versionId": maker.version_id, "job": maker.job_id},
        )


def remove(
    session: Session, project: Project, recorded: RecordedSession, compression: Compression, kind: str, cause: Cause
) -> list[str]:
    """Remove a version of a locked session that nothing needs; return the names of its files, which may go then.

    Raises: Conflict ``version_in_use``.
    """
    refuse_in_use(session, recorded, compression)
    before = {
        "outputTokens": compression.output_tokens,
        "ratio": round(compression.ratio, 2),
        "settings": compression.settings,
        "uses": compression.uses,
    }
    note(session, project, compression.version_id, kind, cause, before=before, session_id=recorded.session_id)
    session.delete(compression)
    touch(project, cause.at)
    session.flush()
    return [f"{compression.file}.{ending}" for ending in FORMATS]
