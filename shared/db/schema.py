"""Brings a database's schema to this release's revision, with alembic; what alembic compares with is named here too."""

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError

from shared.base.errors import Configuration, Transient
from shared.db.engine import Database

_FOLDER = Path(__file__).parent / "migrations"
_LOCK = 0x41465445  # one number for every process that migrates the same PostgreSQL
_INITIAL = "initial"
_BEFORE_THE_INITIAL_ONE = {"0001", "0002", "0003", "0004", "0005", "0006"}
"""Revisions of the time before the first release, which led to what is one initial revision now."""


def migrate(url: str) -> None:
    """Upgrade the schema; safe when several processes start at once, and a no-op when it is current.

    Raises:
        Configuration: the database is at a revision that this release does not know, or no longer.
        Transient: the database does not answer, or is none.
    """
    database = Database(url, pool_size=1)
    if database.is_sqlite:
        # To alter a table it is rebuilt, and dropping the old one would carry off the rows that refer to it.
        sa.event.listen(database.engine, "connect", lambda connection, _: connection.execute("PRAGMA foreign_keys=OFF"))
    try:
        with database.engine.execution_options(begin_immediate=True).begin() as connection:
            if not database.is_sqlite:
                # Those that start at once go one after the other; on SQLite the transaction begins with the writer's
                # lock.
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
            former = MigrationContext.configure(connection).get_current_revision()
            first = ScriptDirectory.from_config(_config()).get_base()
            if former in _BEFORE_THE_INITIAL_ONE or ((former or "").startswith(_INITIAL) and former != first):
                raise Configuration(
                    f"The database is at revision {former}, from before the first release, and cannot be upgraded. "
                    "Export its apps with the code that made it (`afterthought export`), name a new database in "
                    "DATABASE_URL, and import them there (`afterthought import`)."
                )
            config = _config()
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    except CommandError as error:
        raise Configuration(f"The database is not one this release can use: {error}. Is it a newer one's?") from None
    except sa.exc.DBAPIError as error:
        raise Transient(f"DATABASE_URL: the database did not answer ({str(error.orig).splitlines()[0]}).") from error
    finally:
        database.dispose()


def current_revision(database: Database) -> str | None:
    """Return the revision the database is at, or None for an empty one."""
    with database.engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def newest_revision() -> str:
    """Return the revision this release needs."""
    return str(ScriptDirectory.from_config(_config()).get_current_head())


def is_of_models(name: str | None, *_: object) -> bool:
    """Return whether a table found in a database is a model's; those of the word index are of no model."""
    return not (name or "").startswith("message_words")


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(_FOLDER))
    return config
