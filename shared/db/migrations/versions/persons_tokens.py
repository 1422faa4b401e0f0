"""A token may be one user's own."""

import sqlalchemy as sa
from alembic import op

from shared.db.migrations.versions.logins import revision as down_revision

__all__ = ["down_revision"]
revision = "persons_tokens"


def upgrade() -> None:
    """Add whose own a token is; those there are belong to their apps."""
    op.add_column("tokens", sa.Column("user_id", sa.String(200)))
