"""The installation itself: its energy, its health, its metrics."""

from __future__ import annotations

from dataclasses import asdict

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST

from loop.api.dependencies import LoopNow, Reads
from loop.api.health import look
from loop.api.schemas.energy import EnergyAnswer
from loop.api.schemas.health import Live, Ready
from loop.api.writes import answer
from loop.gauges import StateGauges
from shared.telemetry.exposition import gathered, scrape

router = APIRouter()


@router.get("/energy", response_model=EnergyAnswer, tags=["Energy"], summary="Show the energy")
def show_energy(desk: Reads) -> EnergyAnswer:
    """Show the energy level and what it holds back."""
    with desk.read() as session:
        return EnergyAnswer(**asdict(desk.loop.regulator.reading(session)))


@router.get("/health/live", response_model=Live, tags=["Health"], summary="Whether the process answers")
async def show_liveness() -> Live:
    """Answer. Asks nothing of anything; needs no token."""
    return Live()


@router.get(
    "/health/ready",
    response_model=Ready,
    responses={503: {"model": Ready, "description": "Something needed is not there; dependencies says what."}},
    tags=["Health"],
    summary="Whether the loop can serve",
)
def show_readiness(loop: LoopNow) -> Response:
    """Look at each dependency. Needs no token."""
    ready = look(loop)
    return answer(ready, 200 if ready.ready else 503)


@router.get(
    "/metrics",
    tags=["Health"],
    summary="Metrics for Prometheus",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Prometheus' text."}},
)
def show_metrics(desk: Reads) -> Response:
    """Add up what all processes counted, and read the present state from the database. Needs the admin token."""
    desk.require_admin("read metrics")
    registry = gathered(desk.loop.settings.metrics_path)
    registry.register(StateGauges(desk.loop))
    return Response(scrape(registry), media_type=CONTENT_TYPE_LATEST)
