"""Browsers stay logged in when the service restarts: a login is kept as the SHA-256 of its secret and of its token."""

import sqlalchemy as sa
from alembic import op

from shared.db.base import UtcDateTime
from shared.db.migrations.versions.fact_mentions import revision as down_revision

__all__ = ["down_revision"]
revision = "logins"


def upgrade() -> None:
    """Make the table; nobody is logged in across a restart before it is there."""
    op.create_table(
        "logins",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("token_digest", sa.String(64), nullable=False),
        sa.Column("ends_at", UtcDateTime, nullable=False, index=True),
    )
