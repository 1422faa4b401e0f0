"""Every setting of both processes, read once by the two wirings, and those of retrieval that can change while it runs.

Values come from the environment and from ``.env``; a wrong value stops the start and names the setting.
``.env.example`` and ``docs/reference/settings.md`` are generated. What can change is declared in ``AppTuning`` and
``Tuning``: body over HTTP, option of the command and field of the page come of it; ``shared.search.tuning`` says what
is in force.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Collection, Iterator
from itertools import combinations
from pathlib import Path

from dotenv import dotenv_values
from pydantic import AliasChoices, Field, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from shared.base import setting_groups
from shared.base.addresses import without_credentials
from shared.base.choices import RankingFormula
from shared.base.errors import Configuration


class AppTuning(setting_groups.SettingsGroup):
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


class Settings(
    # The last group first: pydantic takes the fields of the last base first, and problems are told in their order.
    setting_groups.HttpSettings,
    setting_groups.TracingSettings,
    setting_groups.RetentionSettings,
    setting_groups.JobSettings,
    setting_groups.EventSettings,
    setting_groups.ThinkingSettings,
    setting_groups.EnergySettings,
    setting_groups.SessionSettings,
    SearchSettings,
    setting_groups.FactSettings,
    setting_groups.MemorySettings,
    setting_groups.ModelSettings,
    setting_groups.InstallationSettings,
    BaseSettings,
):
    """The settings of one installation: it is each of its groups, so it is handed on where one of them is asked for."""

    model_config = SettingsConfigDict(
        env_prefix="AFTERTHOUGHT_", env_file=".env", env_ignore_empty=True, extra="ignore", frozen=True
    )

    @model_validator(mode="after")
    def _limits_ascend(self) -> Settings:
        if self.model_timeout_seconds >= self.soft_limit_seconds:
            raise ValueError(
                "AFTERTHOUGHT_TASK_SOFT_LIMIT_SECONDS must exceed AFTERTHOUGHT_MODEL_TIMEOUT_SECONDS; unset, it does"
            )
        if not self.is_balanced:
            raise ValueError("RAG_RERANK_ALPHA, RAG_RERANK_BETA and RAG_RERANK_GAMMA must add up to 1")
        # So that one renewal may fail without the job being taken for lost.
        if self.heartbeat_seconds * 2 > self.lease_seconds:
            raise ValueError("AFTERTHOUGHT_HEARTBEAT_SECONDS must be at most half of AFTERTHOUGHT_LEASE_SECONDS")
        return self

    @model_validator(mode="after")
    def _tokens_hold(self) -> Settings:
        given = [
            (environment_name(field), token.get_secret_value())
            for field in ("admin_token", "read_token", "metrics_token")
            if isinstance(token := getattr(self, field), SecretStr)
        ]
        for (name, token), (other, same) in combinations(given, 2):
            if token == same:
                raise ValueError(f"{name} and {other} must differ: whoever holds one would hold the other")
        short = [name for name, token in given if len(token) < _LEAST_TOKEN]
        if short and self.host not in _LOOPBACK:
            raise ValueError(
                f"{short[0]} needs at least {_LEAST_TOKEN} characters where others reach the service"
                " (AFTERTHOUGHT_HOST); `openssl rand -hex 24` makes one"
            )
        return self

    @property
    def sessions_path(self) -> Path:
        return self.sessions_dir or self.home / "sessions"

    @property
    def serves_pages(self) -> bool:
        return self.host in _LOOPBACK if self.pages is None else self.pages

    @property
    def thinks(self) -> bool:
        """Whether the loop thinks about conversations: it may, and there is a model."""
        return self.thinking and self.model is not None


_LEAST_TOKEN = 16
"""Characters; fewer are guessed by whoever can ask often."""
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
GROUPS = tuple(group for group in reversed(Settings.__bases__) if issubclass(group, setting_groups.SettingsGroup))


def environment_name(field: str) -> str:
    """Return the environment variable that sets ``field``."""
    return environment_names(field)[0]


def environment_names(field: str) -> list[str]:
    """Return the environment variables that set ``field``, the one that counts first where several are set."""
    alias = Settings.model_fields[field].validation_alias
    if isinstance(alias, AliasChoices):
        return [str(choice) for choice in alias.choices if choice != field]
    return [alias if isinstance(alias, str) else f"AFTERTHOUGHT_{field.upper()}"]


def values_set(settings: Settings) -> dict[str, str]:
    """Return by environment variable what is not at its default: no secret, and not where the installation lives."""
    elsewhere = Settings.model_fields.keys() - setting_groups.InstallationSettings.model_fields.keys()
    values = {field: getattr(settings, field) for field in sorted(elsewhere)}
    return {
        environment_name(field): _without_secrets(str(value))
        for field, value in values.items()
        if value != Settings.model_fields[field].default and not isinstance(value, SecretStr)
    }


def _without_secrets(value: str) -> str:
    # What follows the path may be a key as well.
    return without_credentials(value).partition("?")[0] if "://" in value else value


_PREFIX = "AFTERTHOUGHT_"
_OF_THE_COMMAND_LINE = {"AFTERTHOUGHT_URL", "AFTERTHOUGHT_TOKEN"}


def names_given() -> set[str]:
    """Return the names of all variables that are set in the environment or in ``.env``."""
    return {*os.environ, *dotenv_values(".env")}


def unread_names(environment: Collection[str]) -> Iterator[tuple[str, str]]:
    """Return variables that are meant for us and that nobody reads, with what to do about each."""
    known = {environment_name(field) for field in Settings.model_fields} | _OF_THE_COMMAND_LINE
    for name in sorted(environment):
        if name.startswith(_PREFIX) and name not in known:
            close = difflib.get_close_matches(name, known, 1)
            yield name, f"Did you mean {close[0]}?" if close else "docs/reference/settings.md lists them all."


def read_settings(**overrides: object) -> Settings:
    """Read the settings from the environment and ``.env``.

    Raises:
        Configuration: naming each wrong setting and what would be right.
    """
    try:
        # What ``.env`` says under our own name where the environment has only the name that others read too.
        there = dotenv_values(".env")
        names = {field: environment_names(field) for field in Settings.model_fields}
        own_names_first = {
            field: there[own]
            for field, (own, *others) in names.items()
            if others and there.get(own) and not os.environ.get(own)
        }
        return Settings(**own_names_first | overrides)  # type: ignore[arg-type]
    except ValidationError as error:
        lines = [_explain(problem["loc"], problem["msg"]) for problem in error.errors()]
        raise Configuration("Wrong settings: " + "; ".join(lines)) from None


def _explain(location: tuple[int | str, ...], message: str) -> str:
    field = str(location[0]) if location else ""
    name = environment_name(field) if field in Settings.model_fields else field
    # Of several names pydantic tells the first, which need not be the one that was set.
    names = next((names for names in map(environment_names, Settings.model_fields) if names[0] == name), [name])
    name = next((one for one in names if one in names_given()), name)
    return f"{name}: {message.removeprefix('Value error, ')}" if name else message.removeprefix("Value error, ")
