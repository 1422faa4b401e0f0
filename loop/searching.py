"""Builds what searches in the loop: the finder, and what writes down how its retrievals went."""

from __future__ import annotations

from dataclasses import dataclass

from loop.records import Records
from shared.apps.queries import lock_budgets
from shared.clock import Clock
from shared.context.sources import RecallSources
from shared.db.engine import Database
from shared.energy.accounting import Accountant
from shared.energy.budget import prices_of
from shared.energy.ledger import Booking
from shared.llm.embedders import NGRAMS, make_embedder_by_name
from shared.llm.embedding import Embedder
from shared.llm.minilm import is_installed
from shared.llm.word_vectors import WordVectors
from shared.search.search import MessageSearch
from shared.search.statistics import Recorder
from shared.search.tuning import tuning_of
from shared.search.vectors import VectorMatrices
from shared.search.view import QueryEmbedders
from shared.settings import Settings
from shared.telemetry.metrics import Metrics

_MEGABYTE = 1_000_000
_BOOKING_SECONDS = 10.0
"""Beside the longest call; then what was set aside for it is free again."""


@dataclass(frozen=True)
class Searching:
    """What searches, and what writes that down."""

    finder: MessageSearch
    reach: RecallSources
    records: Records
    matrices: VectorMatrices


def make_searching(settings: Settings, database: Database, clock: Clock, metrics: Metrics) -> Searching:
    """Build it for an installation."""
    recorder = Recorder()
    matrices = VectorMatrices(settings.search_cache_mb * _MEGABYTE)
    longest = settings.search_embed_seconds + _BOOKING_SECONDS
    accountant = Accountant(database, clock, prices_of(settings), lock_budgets, metrics, longest)

    def make(model: str) -> Embedder | None:
        return make_embedder_by_name(model, settings.ollama_host, settings.search_embed_seconds)

    finder = MessageSearch(
        database,
        clock,
        QueryEmbedders(make),
        matrices,
        recorder,
        lambda app_id: accountant.meter(Booking(app_id, None, None)),
        tuning_of(settings),
        metrics,
        WordVectors() if is_installed() and settings.embedding != NGRAMS else None,
    )
    reach = RecallSources(database, finder, clock, metrics)
    return Searching(finder, reach, Records(recorder, database, accountant), matrices)
