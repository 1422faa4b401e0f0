"""Values of the tuning that were changed while it runs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, String
from sqlalchemy.orm import Mapped, mapped_column

from shared.db.base import Base
from shared.db.types import UtcDateTime

EVERYWHERE = "*"
"""The scope of all apps; no app can be called so."""


class Override(Base):
    """What was changed for one app, or for all of them, in place of the settings."""

    __tablename__ = "tuning_overrides"

    scope: Mapped[str] = mapped_column(String(100), primary_key=True)
    """An app's id, or ``EVERYWHERE``."""
    chosen: Mapped[dict[str, Any]] = mapped_column("values", JSON)
    changed_by: Mapped[str] = mapped_column(String(200))
    changed_at: Mapped[datetime] = mapped_column(UtcDateTime)
