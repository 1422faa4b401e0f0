"""The migrations lead to what the models say, alembic's own command agrees, and a foreign revision is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from shared.base.errors import Configuration, Transient
from shared.db.base import models_metadata
from shared.db.engine import Database
from shared.db.schema import current_revision, is_of_models, migrate, newest_revision

pytestmark = pytest.mark.both_databases

CHECKOUT = Path(__file__).resolve().parents[2]


def test_a_migrated_database_is_what_the_models_say(empty_database_url: str) -> None:
    migrate(empty_database_url)
    database = Database(empty_database_url)
    with database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "include_name": is_of_models})
        assert compare_metadata(context, models_metadata()) == []
    database.dispose()


def test_alembics_own_command_in_a_checkout_finds_what_the_models_have_and_the_database_lacks(
    empty_database_url: str,
) -> None:
    migrate(empty_database_url)
    assert "No new upgrade operations detected" in alembic("check", empty_database_url)
    database = Database(empty_database_url)
    with database.engine.begin() as connection:
        connection.execute(sa.text("DROP INDEX uq_facts_said"))
    database.dispose()
    assert "uq_facts_said" in alembic("check", empty_database_url)


def alembic(command: str, url: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "alembic", command],
        cwd=CHECKOUT,
        env=os.environ | {"DATABASE_URL": url},
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stdout + done.stderr


def test_every_table_is_a_model_in_a_module_that_the_migrations_read() -> None:
    declared = {
        path
        for path in (CHECKOUT / "shared").rglob("*.py")
        if any(line.strip().startswith("__tablename__ = ") for line in path.read_text("utf-8").splitlines())
    }
    assert declared == set((CHECKOUT / "shared").glob("*/models.py"))


@pytest.mark.parametrize(
    ("revision", "message"),
    [
        ("0006", r"revision 0006, from before the first release.*`afterthought export`.*`afterthought import`"),
        ("initial", r"revision initial, from before the first release.*`afterthought export`"),
        ("initial_0123456789ab", r"revision initial_0123456789ab, from before the first release"),
        ("a_later_one", r"not one this release can use: .*a_later_one.*newer"),
    ],
    ids=["from before the initial revision", "the initial one unnamed", "another state of it", "of a newer release"],
)
def test_a_database_at_another_revision_is_refused_and_left_alone(
    empty_database_url: str, revision: str, message: str
) -> None:
    migrate(empty_database_url)
    database = Database(empty_database_url)
    with database.engine.begin() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = :revision"), {"revision": revision})
    with pytest.raises(Configuration, match=message):
        migrate(empty_database_url)
    assert current_revision(database) == revision
    database.dispose()


def test_migrating_again_changes_nothing(empty_database_url: str) -> None:
    database = Database(empty_database_url)
    assert current_revision(database) is None
    for _ in range(2):
        migrate(empty_database_url)
        assert current_revision(database) == newest_revision()
    database.dispose()


@pytest.mark.parametrize("processes", [3])
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
