"""Every setting of both processes, read once by the two wirings.

Values come from the environment and from ``.env``. A wrong value stops the start and names the setting.
``.env.example`` and ``docs/reference/settings.md`` are generated from this module and from the groups.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Collection, Iterator
from pathlib import Path

from dotenv import dotenv_values
from pydantic import AliasChoices, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from shared.base.addresses import without_credentials
from shared.base.errors import Configuration
from shared.base.search_settings import SearchSettings
from shared.base.setting_groups import (
    EnergySettings,
    EventSettings,
    FactSettings,
    HttpSettings,
    InstallationSettings,
    JobSettings,
    MemorySettings,
    ModelSettings,
    RetentionSettings,
    SessionSettings,
    SettingsGroup,
    ThinkingSettings,
    TracingSettings,
)


class Settings(
    # The last group first: pydantic takes the fields of the last base first, and problems are told in their order.
    HttpSettings,
    TracingSettings,
    RetentionSettings,
    JobSettings,
    EventSettings,
    ThinkingSettings,
    EnergySettings,
    SessionSettings,
    SearchSettings,
    FactSettings,
    MemorySettings,
    ModelSettings,
    InstallationSettings,
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
        if self.heartbeat_seconds * 2 > self.lease_seconds:
            raise ValueError("AFTERTHOUGHT_HEARTBEAT_SECONDS must be at most half of AFTERTHOUGHT_LEASE_SECONDS")
        return self

    @property
    def sessions_path(self) -> Path:
        """The root of the store of sessions in force."""
        return self.sessions_dir or self.home / "sessions"

    @property
    def serves_pages(self) -> bool:
        """Whether the pages are served."""
        return self.host in _LOOPBACK if self.pages is None else self.pages


_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
GROUPS = tuple(group for group in reversed(Settings.__bases__) if issubclass(group, SettingsGroup))


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
    elsewhere = Settings.model_fields.keys() - InstallationSettings.model_fields.keys()
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
