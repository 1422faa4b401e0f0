"""The settings of retrieval, and which of them can change while it runs.

What can is declared here once: setting, body over HTTP, option of the command and field of the page come of it.
``shared.search.tuning`` says what is in force.
"""

from __future__ import annotations

from pydantic import Field

from shared.base.choices import RankingFormula
from shared.base.setting_groups import SettingsGroup


class AppTuning(SettingsGroup):
    """What of retrieval and summaries can change while it runs, for all apps or for one.

    Each field is the setting, what the interface, the command and the page change, and how they say what it is.
    """

    hybrid: bool = Field(
        True, validation_alias="RAG_HYBRID", title="Search words beside vectors",
        description="Whether words are searched beside vectors.",
    )  # fmt: skip
    chunking: bool = Field(
        True, validation_alias="RAG_CHUNKING", title="Hand long messages out in passages",
        description="Whether long messages are searched and handed out in passages.",
    )  # fmt: skip
    token_budget: int = Field(
        1000, ge=100, le=5000, validation_alias="RAG_TOKEN_BUDGET", title="Tokens of retrieved messages",
        description="Most tokens of retrieved messages in a context.",
    )  # fmt: skip
    summary_frequency: int = Field(
        5, ge=0, le=100, validation_alias="RAG_SUMMARY_FREQUENCY", title="Messages of the assistant for a summary",
        description="Messages of the assistant after which a conversation is summarised; 0: only on demand.",
    )  # fmt: skip
    formula: RankingFormula = Field(
        RankingFormula.SIGNALS, validation_alias="RAG_FORMULA", title="Ranked by",
        description="How results are ranked: by several signals, or by the weighted sum of the next three.",
    )  # fmt: skip
    alpha: float = Field(
        0.6, ge=0, le=1, validation_alias="RAG_RERANK_ALPHA", title="Weight of vectors",
        description="Weight of the vectors' likeness in the weighted sum; the three weights add up to 1.",
    )  # fmt: skip
    beta: float = Field(
        0.3, ge=0, le=1, validation_alias="RAG_RERANK_BETA", title="Weight of words",
        description="Weight of the words in the weighted sum.",
    )  # fmt: skip
    gamma: float = Field(
        0.1, ge=0, le=1, validation_alias="RAG_RERANK_GAMMA", title="Weight of identifiers",
        description="Weight of code identifiers in the weighted sum.",
    )  # fmt: skip

    @property
    def is_balanced(self) -> bool:
        """Whether the weights add up to 1, within a hundredth and what binary fractions add to it."""
        return abs(self.alpha + self.beta + self.gamma - 1) <= 0.01 + 1e-9


class Tuning(AppTuning):
    """What can change while it runs, for all apps alone too."""

    metrics_days: int = Field(
        30, ge=1, le=365, validation_alias="RAG_METRICS_DAYS", title="Days that figures of retrievals are kept",
        description="How long figures of single retrievals are kept, days.",
    )  # fmt: skip


def bounds_of(name: str) -> tuple[float, float] | None:
    """Return the least and the greatest value of what can be tuned, where it is a number."""
    parts = Tuning.model_fields[name].metadata
    least = [part.ge for part in parts if hasattr(part, "ge")]
    return (least[0], *(part.le for part in parts if hasattr(part, "le"))) if least else None


def meaning_of(name: str) -> str:
    """Return what a value that can be tuned is, with its bounds, in a sentence without its stop."""
    text, bounds = str(Tuning.model_fields[name].description).removesuffix("."), bounds_of(name)
    return text if bounds is None else f"{text} ({bounds[0]} to {bounds[1]})"


class SearchSettings(Tuning):
    """Retrieval. All but the last three can be changed while it runs, for all apps or for one."""

    search_embed_seconds: float = Field(
        2.0, gt=0, le=86_400, description="Longest a search waits for its query's vector; then it goes by words alone."
    )
    search_cache_mb: int = Field(
        256, ge=8, le=65_536, description="Memory the vectors of searched apps may take in the loop, MB."
    )
    embed_batch: int = Field(64, ge=1, le=1024, description="Messages that are embedded in one call.")
