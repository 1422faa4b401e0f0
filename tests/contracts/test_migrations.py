"""Each migration leads from the revision before it, with rows, to what the models say, on each database."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

import shared.apps.models
import shared.conversations.models
import shared.energy.models
import shared.events.models
import shared.facts.models
import shared.memories.models
import shared.outbox.models
import shared.profiles.models
import shared.search.models
import shared.sessions.models
import shared.summaries.models  # noqa: F401  (fills the metadata)
from shared.db.base import Base
from shared.db.engine import Database
from shared.db.schema import current_revision, migrate, newest_revision
from shared.errors import Transient

CHECKOUT = Path(__file__).resolve().parents[2]
RETIRED: set[str] = set()
"""Tables that only the previous release uses; the next migration drops them."""


def _is_a_models(name: str | None, *_: object) -> bool:
    """Whether a table is a model's: the words lie in one of each database's own kind."""
    return name not in RETIRED and not (name or "").startswith("message_words")


def test_a_migrated_database_is_what_the_models_say(empty_database_url: str) -> None:
    migrate(empty_database_url)
    database = Database(empty_database_url)
    with database.engine.connect() as connection:
        opts = {"compare_type": False, "include_name": _is_a_models}
        context = MigrationContext.configure(connection, opts=opts)
        assert compare_metadata(context, Base.metadata) == []
    database.dispose()


def test_migrating_again_changes_nothing(empty_database_url: str) -> None:
    database = Database(empty_database_url)
    assert current_revision(database) is None
    for _ in range(2):
        migrate(empty_database_url)
        assert current_revision(database) == newest_revision()
    database.dispose()


@pytest.mark.parametrize("processes", [4])
def test_several_processes_may_migrate_at_once(empty_database_url: str, processes: int) -> None:
    code = "import sys; from shared.db.schema import migrate; migrate(sys.argv[1])"
    migrating = [
        subprocess.Popen([sys.executable, "-c", code, empty_database_url], cwd=CHECKOUT) for _ in range(processes)
    ]
    assert [process.wait(60) for process in migrating] == [0] * processes


def test_a_database_that_does_not_answer_is_said_without_its_password() -> None:
    with pytest.raises(Transient, match=r"DATABASE_URL: the database did not answer") as raised:
        migrate("postgresql+psycopg://somebody:canary@127.0.0.1:1/nothing")
    assert "canary" not in raised.value.message
