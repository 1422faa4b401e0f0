"""Sessions for the tests of pages: made-up transcripts that are registered, and versions of them."""

from __future__ import annotations

from afterthought_client import Afterthought
from tests.support.odd_transcripts import odd_transcripts
from tests.support.transcripts import assistant, lines, user
from tests.support.waiting import wait_until

FOLDER = "/home/dev/ferry-desk"
PROJECT = "-home-dev-ferry-desk"
MARKED = "The cache is keyed by path and size."


def marked_transcript(month: int = 1) -> bytes:
    """Return a transcript with three marked parts, of January 2026 or another month."""
    at = [{"timestamp": f"2026-{month:02d}-15T10:{minute:02d}:00Z"} for minute in range(6)]
    return lines(
        user(
            "Make the cache faster.\n\n##keepit1.00## Never touch the public API.\n\nWhat takes so long?", "u1", **at[0]
        ),
        assistant("Reading whole files takes most of it. " * 40, "a1", "u1", **at[1]),
        user(
            f"Good.\n\n##keepit0.80## {MARKED}\n\nShall I hash only what changed?", "u2", **at[2] | {"parentUuid": "a1"}
        ),
        assistant("Hashing what changed is enough. " * 40, "a2", "u2", **at[3]),
        user("Done.\n\n##keepit0.25## Tests take 12 s.", "u3", **at[4] | {"parentUuid": "a2"}),
        assistant("The cache answers in 3 ms now. " * 40, "a3", "u3", **at[5]),
    )


def odd_transcript() -> bytes:
    return odd_transcripts()[1].text().encode()


def register(client: Afterthought, session_id: str = "abc123", content: bytes | None = None) -> str:
    """Register a session, the marked one unless another is given, and return its project's id."""
    if PROJECT not in [one.project_id for one in client.iter_projects()]:
        client.open_project(FOLDER)
    client.register_session(PROJECT, session_id, content=content or marked_transcript())
    return PROJECT


def compress(client: Afterthought, session_id: str = "abc123", ratio: int = 10) -> str:
    made = client.make_version(session_id, mode="uniform", compaction_ratio=ratio).version_id
    assert made is not None
    wait_until(
        lambda: [one for one in client.list_versions(session_id).versions if one.version_id == made], 60, "the version"
    )
    return made
