"""How often room was made among an app's memories: per day and outcome, from their history."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import Annotated

from fastapi import APIRouter, Query

from loop.api.dependencies import AppInPath, Reads, UserInQuery
from loop.api.routes.memories import CompactionDays
from shared.apps.queries import get_app
from shared.memories.queries import compactions_since

router = APIRouter(prefix="/apps/{appId}/compactions", tags=["Memories"])


@router.get("", summary="Count compactions by day")
def list_compactions(
    desk: Reads,
    app_id: AppInPath,
    days: Annotated[int, Query(ge=1, le=365, description="So many days, today the last.")] = 30,
    user_id: UserInQuery = None,
) -> CompactionDays:
    """Count how often room was made for a memory, day by day (UTC) and by what went. Costs no energy."""
    today = desk.now().astimezone(UTC).date()
    shown = [today - timedelta(days=before) for before in range(days - 1, -1, -1)]
    with desk.read() as session:
        get_app(session, app_id)
        counted = compactions_since(session, app_id, datetime.combine(shown[0], time(), UTC), user_id)
    return CompactionDays.of(app_id, user_id, shown, counted)
