"""Runs migrations on the connection that ``shared.db.schema`` hands over, or, for alembic's own command in a checkout,
on the database that ``DATABASE_URL`` names.
"""

from typing import Any, Literal

from alembic import context
from alembic.autogenerate.api import AutogenContext

from shared.base.settings import read_settings
from shared.db.base import UtcDateTime, models_metadata
from shared.db.engine import Database
from shared.db.schema import is_of_models


def _render(kind: str, item: Any, autogenerate: AutogenContext) -> str | Literal[False]:
    """Render our own column type by its name; False leaves everything else to alembic."""
    if kind == "type" and isinstance(item, UtcDateTime):
        autogenerate.imports.add("from shared.db.base import UtcDateTime")
        return "UtcDateTime()"
    return False


def _run(connection: Any) -> None:
    context.configure(
        connection=connection,
        target_metadata=models_metadata(),
        include_name=is_of_models,
        render_item=_render,
        # SQLite alters a table by building it anew.
        render_as_batch=True,
    )
    context.run_migrations()


if "connection" in context.config.attributes:
    _run(context.config.attributes["connection"])
else:
    with Database(read_settings().database).engine.begin() as connection:
        _run(connection)
