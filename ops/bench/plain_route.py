"""What a message costs without us: FastAPI, one route, one row, one commit; served by ``ops.bench.talking``.

Nothing is looked up, indexed, counted or guarded, so its figures are what the machine, the framework and the database
leave to any service. Run as ``python -m ops.bench.plain_route PORT DATABASE_URL``.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime

import sqlalchemy as sa
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from shared.db.engine import Database


class Base(DeclarativeBase):
    """Of the one table."""


class Row(Base):
    """A message."""

    __tablename__ = "plain_messages"
    key: Mapped[int] = mapped_column(primary_key=True)
    conversation: Mapped[str]
    role: Mapped[str]
    content: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(sa.DateTime(timezone=True))


class Sent(BaseModel):
    """A message as it is sent."""

    role: str
    content: str


def main(port: int, url: str) -> None:
    """Serve until ended."""
    database = Database(url)
    Base.metadata.create_all(database.engine)
    app = FastAPI()

    @app.post("/apps/{app_id}/conversations/{conversation}/messages")
    def add(app_id: str, conversation: str, body: Sent) -> dict[str, object]:
        with database.write() as session:
            row = Row(conversation=conversation, role=body.role, content=body.content, created_at=datetime.now(UTC))
            session.add(row)
            session.flush()
            return {"key": row.key, "app_id": app_id}

    @app.get("/health/ready")
    async def ready() -> dict[str, bool]:
        return {"ready": True}

    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning", access_log=False)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
