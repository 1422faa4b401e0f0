"""Searching what was said in an app."""

from __future__ import annotations

from fastapi import APIRouter, Response

from loop.api.dependencies import AppInPath, Reads
from loop.api.schemas.search import AskSearch, SearchAnswer
from loop.api.writes import answer
from shared.search.models import Asker
from shared.search.search import SearchRequest

router = APIRouter(prefix="/apps/{appId}", tags=["Search"])


@router.post("/search", response_model=SearchAnswer, summary="Search old messages")
def search_messages(desk: Reads, app_id: AppInPath, body: AskSearch) -> Response:
    """Find messages, and passages of long ones, by their words and their meaning; never any of another app.

    Where neither a user nor a conversation is named, all of the app's are searched, and each result says whose it is.
    """
    wanted = SearchRequest(
        text=body.query,
        limit=body.limit,
        conversation_id=body.conversation_id,
        user_id=body.user_id,
        is_of_everybody=True,
        filters=body.filters.as_filters(),
    )
    finder = desk.loop.searching.finder
    findings = finder.find(app_id, wanted)
    finder.record(app_id, findings, Asker.SEARCH)
    return answer(SearchAnswer.of(findings, body.explain))
