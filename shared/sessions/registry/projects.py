"""Projects: opened, changed and removed, with their history; what they say of their sessions, and what their app does.

Only what was set is kept: with the app under the names of ``config.json``, with a project under those of its manifest.
What a project does not say is as its app says, and what that does not as the defaults here.
Source: seed 004, "Global Configuration", "Manifest Schema", "Configuration Reference".
"""

import os
import re
from collections.abc import Collection, Mapping
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from inspect import isclass
from pathlib import PurePosixPath
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model
from pydantic.alias_generators import to_camel
from sqlalchemy import update
from sqlalchemy.orm import Session

from shared.apps.models import App
from shared.base.audit import Cause
from shared.base.choices import TierPreset
from shared.base.errors import Conflict, Invalid
from shared.base.settings import Settings
from shared.llm.calls import EXTRACTIVE
from shared.sessions.compress.settings import KeepitDecay
from shared.sessions.models import Project, RecordedSession, SessionChange
from shared.sessions.queries import find_project
from shared.sessions.retention.rules import KEEPS, Retention

_MOST_CHARACTERS = 180
"""So that a folder's name stays below what file systems take, with a hash behind it."""
_HASH_CHARACTERS = 8
_OTHER = re.compile(r"[^A-Za-z0-9-]")


def sanitise(path: str) -> str:
    """Return the project's id of a path, as ``-home-dac-github-myapp``; one too long is cut and gets a hash.

    Raises: Invalid.
    """
    name = _OTHER.sub("-", path.strip())
    # The root has no letter in its name, and is a folder all the same.
    if not name.strip("-") and path.strip() != "/":
        raise Invalid(f"{path[:80]!r} names no folder; give its path, as /home/me/myapp.", code="bad_name")
    return name if len(name) <= _MOST_CHARACTERS else with_hash(name, path)


def with_hash(name: str, path: str) -> str:
    """Return a name told apart from others that look the same, by its path's hash."""
    digest = sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:_HASH_CHARACTERS]
    return f"{name[: _MOST_CHARACTERS - _HASH_CHARACTERS]}-{digest}"


class SessionChangeKind(StrEnum):
    """What was done."""

    CREATED = "created"
    REGISTERED = "registered"
    SYNCED = "synced"
    UNREGISTERED = "unregistered"
    REMOVED = "removed"
    CHANGED = "changed"
    WEIGHED = "weighed"
    """A marker was given another weight, or its own back."""
    COMPRESSED = "compressed"
    COMPOSED = "composed"
    USED = "used"
    FAILED = "failed"
    LINKED = "linked"
    JUDGED = "judged"
    AGED = "aged"
    IMPORTED = "imported"


def touch(project: Project, now: datetime) -> None:
    """Say that what a project's manifest shows has changed."""
    project.revision += 1
    project.last_modified = now


def use_sessions(session: Session, used: Collection[RecordedSession], now: datetime) -> None:
    """Say that sessions were used: they count as recalled then. One that is gone meanwhile stays so."""
    # One by one and in order, so that two uses at once do not wait for each other; projects first, as everywhere.
    for key in sorted({one.project_key for one in used}):
        shown = {"last_accessed": now, "revision": Project.revision + 1}
        session.execute(update(Project).where(Project.key == key).values(shown))
    for key in sorted(one.key for one in used):
        session.execute(update(RecordedSession).where(RecordedSession.key == key).values(last_accessed=now))


def record_change(
    session: Session,
    project: Project,
    subject: str,
    kind: str,
    cause: Cause,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
    *,
    session_id: str | None = None,
) -> SessionChange:
    """Write down a change: ids, counts and settings, never what was said or marked."""
    change = SessionChange(
        app_id=project.app_id,
        project_id=project.project_id,
        session_id=session_id,
        subject=subject[:200],
        kind=kind,
        actor=cause.actor[:200],
        reason=cause.reason[:300],
        before=before or {},
        after=after or {},
        at=cause.at,
    )
    session.add(change)
    return change


ALREADY_REGISTERED = "already_registered"


def overlaid(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return one object of JSON above another; None takes away what lies below."""
    found = dict(below)
    for name, value in above.items():
        if value is None:
            found.pop(name, None)
        elif isinstance(value, Mapping):
            found[name] = overlaid(found.get(name, {}), value)
        else:
            found[name] = value
    # A group whose last value was taken back goes too, so that it is as if it had never been set.
    return {name: value for name, value in found.items() if value != {}}


def create_project(
    session: Session, app_id: str, path: str, cause: Cause, *, display_name: str | None = None, project_id: str = ""
) -> Project:
    """Open a project of a locked app. Raises: Conflict where the path has one, Invalid."""
    name = project_id or sanitise(path)
    known = find_project(session, app_id, name)
    if known is not None and not project_id and known.original_path != path:
        # Two paths may come to one name, as what cannot stand in a file's name is replaced.
        name = with_hash(name, path)
        known = find_project(session, app_id, name)
    if known is not None:
        raise Conflict(f"{known.original_path} is project {name} already.", code=ALREADY_REGISTERED)
    project = Project(
        app_id=app_id,
        project_id=name,
        original_path=path,
        # What people call a folder: the last part of its path.
        display_name=display_name or (PurePosixPath(path).name or path)[:200],
        settings={},
        refused_files={},
        created_at=cause.at,
        last_accessed=cause.at,
        last_modified=cause.at,
    )
    session.add(project)
    session.flush()
    record_change(session, project, name, SessionChangeKind.CREATED, cause)
    return project


def change_project(session: Session, project: Project, changes: Mapping[str, Any], cause: Cause) -> None:
    """Change a locked project's ``display_name``, ``settings`` and ``source_folder``; what is not named stays.

    Of the settings, by their names on the wire, only those that change; None takes one back, so that its app's is in
    force. A folder that is None is forgotten.
    """
    before = _as_history(project)
    project.display_name = changes.get("display_name") or project.display_name
    if settings := changes.get("settings"):
        project.settings = overlaid(project.settings, settings)
        # Other rules are followed soon, not only when the old ones would have been.
        project.tended_at = None if KEEPS in settings else project.tended_at
    if "source_folder" in changes:
        folder = changes["source_folder"]
        project.source_folder = None if folder is None else led_to(folder)
        project.refused_files, project.scanned_at = {}, None
    after = _as_history(project)
    if after != before:
        touch(project, cause.at)
        record_change(session, project, project.project_id, SessionChangeKind.CHANGED, cause, before, after)


def _as_history(project: Project) -> dict[str, Any]:
    folder = {"sourceFolder": project.source_folder is not None}
    return {"displayName": project.display_name, "settings": dict(project.settings)} | folder


def led_to(folder: str) -> str:
    """Return where a folder lies once all links are followed, as they lead at this moment; they may be changed later by
    somebody who may not name folders."""
    return os.path.realpath(folder)


EVERY_PROJECT = "*"
"""Stands for the project of a change that is about all of an app's; no project can be called so."""
_MB = 2**20
_UNITS = {"B": 1, "KB": 2**10, "MB": _MB, "GB": 2**30, "TB": 2**40}
_SIZE = re.compile(rf"([0-9]{{1,15}}) ?({'|'.join(_UNITS)})", re.IGNORECASE)


def bytes_of(size: str | int) -> int:
    """Return the bytes of a size as ``1GB``; a GB is 2**30. Raises: ValueError."""
    found = re.fullmatch(_SIZE, str(size) if isinstance(size, str) else f"{size}B")
    number = int(found[1]) * _UNITS[found[2].upper()] if found else 0
    if number < _MB:
        raise ValueError("write a size as 500MB or 1GB, or give its bytes; at least 1MB")
    return number


def _checked_size(size: str | int) -> str | int:
    bytes_of(size)
    return size


def _checked_retention(kept: str | int) -> str | int:
    Retention.of(kept)
    return kept


def _not_custom(preset: TierPreset) -> TierPreset:
    if preset is TierPreset.CUSTOM:
        raise ValueError("custom has tiers of its own for each version; say gentle, standard or aggressive")
    return preset


CacheSize = Annotated[
    Annotated[str, Field(strict=True)] | Annotated[int, Field(strict=True)], AfterValidator(_checked_size)
]
VersionsKept = Annotated[
    Annotated[str, Field(strict=True)] | Annotated[int, Field(strict=True)], AfterValidator(_checked_retention)
]
Preset = Annotated[TierPreset, AfterValidator(_not_custom)]
ModelName = Annotated[str, Field(min_length=1, max_length=200)]
_Flag = Annotated[bool, Field(strict=True)]


class BrowserView(StrEnum):
    """What a browser of sessions opens with."""

    TIMELINE = "timeline"
    SESSIONS = "sessions"
    KEEPITS = "keepits"
    STORAGE = "storage"


class _Group(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)


class StorageConfiguration(_Group):
    """What is kept, and how much."""

    max_cache_size: CacheSize = Field("1GB", description="Of uploads and archives under way.", examples=["1GB"])
    compression_retention: VersionsKept = Field(
        "all", description="`all`, so many newest versions of a session, or `30 days`.", examples=["all", 5]
    )

    @property
    def cache_bytes(self) -> int:
        return bytes_of(self.max_cache_size)


class DefaultsConfiguration(_Group):
    """What holds where a request or a project does not say."""

    compression_preset: Preset = TierPreset.STANDARD
    keepit_decay_enabled: _Flag = Field(True, description="False: marked parts all survive.")
    auto_register_sessions: _Flag = Field(False, description="Whether projects' folders are looked through.")
    model: ModelName = Field(EXTRACTIVE, description="Who compresses.")


class BrowserConfiguration(_Group):
    """How pages show sessions."""

    default_view: BrowserView = BrowserView.TIMELINE
    show_token_estimates: _Flag = True
    confirm_destructive_actions: _Flag = True


class SessionsConfiguration(_Group):
    """What holds for all sessions of an app, in the groups and names of ``config.json``."""

    storage: StorageConfiguration = StorageConfiguration()
    defaults: DefaultsConfiguration = DefaultsConfiguration()
    keepit_decay: KeepitDecay = KeepitDecay()
    ui: BrowserConfiguration = BrowserConfiguration()


class ProjectSettings(_Group):
    """What holds for all sessions of a project."""

    default_compression_preset: Preset = TierPreset.STANDARD
    auto_register_new_sessions: _Flag = Field(False, description="Whether its folder is looked through for sessions.")
    keepit_decay_enabled: _Flag = True
    model: ModelName | None = Field(None, description="Who compresses; null: what is set up.")
    compression_retention: VersionsKept = "all"
    keepit_decay: KeepitDecay = KeepitDecay()


def patch_of(model: type[BaseModel]) -> Any:
    """Return the model of what changes another: a field that is left out stays, null takes a value or a group back."""
    fields: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        annotation: Any = field.annotation
        annotation = patch_of(annotation) if isclass(annotation) and issubclass(annotation, BaseModel) else annotation
        # Bounds and validators lie there: pydantic takes them out of the annotation.
        annotation = Annotated[annotation, *field.metadata] if field.metadata else annotation
        fields[name] = (annotation | None, Field(None, description=field.description, examples=field.examples))
    config = ConfigDict(alias_generator=to_camel, extra="forbid", frozen=True)
    return create_model(f"Change{model.__name__}", __config__=config, __doc__=f"Changes: {model.__doc__}", **fields)


_OF_THE_APP = {
    "defaultCompressionPreset": ("defaults", "compressionPreset"),
    "autoRegisterNewSessions": ("defaults", "autoRegisterSessions"),
    "keepitDecayEnabled": ("defaults", "keepitDecayEnabled"),
    "model": ("defaults", "model"),
    KEEPS: ("storage", KEEPS),
}
"""Under which name an app says what a project says under its own; keepitDecay has the same."""
DECAY = "keepitDecay"


def configuration_of(app: App, settings: Settings) -> SessionsConfiguration:
    """Return what is in force for an app; a model that is gone and a cache too large count for nothing."""
    below = SessionsConfiguration(
        storage=StorageConfiguration(max_cache_size=f"{settings.sessions_cache_mb}MB"),
        defaults=DefaultsConfiguration(model=settings.model or EXTRACTIVE),
    )
    found = _above(below, app.session_settings)
    if found.defaults.model not in (EXTRACTIVE, below.defaults.model):
        found = _above(found, {"defaults": {"model": below.defaults.model}})
    if found.storage.cache_bytes > below.storage.cache_bytes:
        found = _above(found, {"storage": {"maxCacheSize": below.storage.max_cache_size}})
    return found


def _above(below: SessionsConfiguration, chosen: Mapping[str, Any]) -> SessionsConfiguration:
    return SessionsConfiguration.model_validate(overlaid(below.model_dump(mode="json", by_alias=True), chosen))


def own_settings(project: Project) -> dict[str, Any]:
    """Return what a project says itself, by its names on the wire."""
    return {name: project.settings[name] for name in (*_OF_THE_APP, DECAY) if name in project.settings}


def settings_of(session: Session, project: Project) -> ProjectSettings:
    """Return the settings in force for a project."""
    chosen = session.get_one(App, project.app_id).session_settings
    below = {
        name: chosen[group][field] for name, (group, field) in _OF_THE_APP.items() if field in chosen.get(group, {})
    }
    below |= {DECAY: chosen[DECAY]} if DECAY in chosen else {}
    return ProjectSettings.model_validate(overlaid(below, own_settings(project)))


def refuse_unknown_model(model: str | None, settings_model: str | None) -> None:
    """Raises: Invalid for a model other than the one of the settings and the built-in agent."""
    present = settings_model or EXTRACTIVE
    if model not in (None, EXTRACTIVE, present):
        others = f"{EXTRACTIVE} or {present}" if settings_model else f"{EXTRACTIVE}; set AFTERTHOUGHT_MODEL for a model"
        raise Invalid(f"No agent {model} is set up here; say {others}.", code="unknown_model")


def change_configuration(
    session: Session, app: App, changes: Mapping[str, Any], settings: Settings, cause: Cause
) -> None:
    """Change what a locked app says; None takes a value or a whole group back. Raises: Invalid."""
    refuse_unknown_model((changes.get("defaults") or {}).get("model"), settings.model)
    size = (changes.get("storage") or {}).get("maxCacheSize")
    if size is not None and bytes_of(size) > settings.sessions_cache_mb * _MB:
        raise Invalid(
            f"maxCacheSize can be {settings.sessions_cache_mb}MB at most, which all apps share; raise "
            "AFTERTHOUGHT_SESSIONS_CACHE_MB for more.",
            code="cache_too_large",
        )
    before, after = dict(app.session_settings), overlaid(app.session_settings, changes)
    if after == before:
        return
    app.session_settings = after
    # Manifests show what is in force, so the loop writes them anew; other rules are followed soon.
    stale: dict[Any, Any] = {Project.revision: Project.revision + 1}
    if before.get("storage", {}).get(KEEPS) != after.get("storage", {}).get(KEEPS):
        stale[Project.tended_at] = None
    session.execute(update(Project).where(Project.app_id == app.app_id).values(stale))
    change = SessionChange(
        app_id=app.app_id,
        project_id=EVERY_PROJECT,
        subject="configuration",
        kind=SessionChangeKind.CHANGED,
        actor=cause.actor[:200],
        reason=cause.reason[:300],
        before=before,
        after=after,
        at=cause.at,
    )
    session.add(change)
