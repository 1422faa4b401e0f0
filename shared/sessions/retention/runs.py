"""Ageing a project by its rules, and removing versions by hand: looked at first, then done.

The first run after the rules changed only writes down what it would do. Versions are made by jobs, under the energy
budget like any other; what is removed goes in one transaction, each with who, why and what it was.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlalchemy.orm import Session

from shared.apps.models import App
from shared.audit import Cause
from shared.errors import Conflict, NotFound
from shared.sessions.compress.queries import names_using
from shared.sessions.compress.settings import CompressionSettings
from shared.sessions.compress.versions import complete_settings, remove_version, request_version
from shared.sessions.models import BuildState, Project, RecordedSession, SessionVersion
from shared.sessions.queries import AGEING, all_versions, last_run, sessions_of
from shared.sessions.registry.configuration import settings_of
from shared.sessions.registry.projects import SessionChangeKind, overlaid, record_change
from shared.sessions.retention.rules import (
    KEEPS,
    AgedVersion,
    Ageing,
    AgeingSession,
    AutoDecay,
    ProposedVersion,
    PruningRules,
    Retention,
    VersionRemoval,
    VersionRemovals,
    decay_session,
    expired_versions,
    prune_versions,
    warnings_of,
)
from shared.sessions.store import Store
from shared.settings import Settings

_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class AgeingSubject:
    """A session that ages, with its rows."""

    recorded: RecordedSession
    compressions: Mapping[int, SessionVersion]
    """Those that are whole, by key."""
    ageing: AgeingSession
    distance: int
    """Its place by age in the project; 1 is the newest."""


def subjects_of(session: Session, project: Project, session_ids: Collection[str] = ()) -> list[AgeingSubject]:
    """Return a project's sessions with their versions, newest first; only some of them where ids are given."""
    recorded = sorted(sessions_of(session, project.key), key=_age_key, reverse=True)
    versions = all_versions(session, [one.key for one in recorded])
    ready = [one.key for some in versions.values() for one in some if one.state == BuildState.READY]
    used = names_using(session, ready)
    return [
        _subject(one, versions[one.key], used, place + 1)
        for place, one in enumerate(recorded)
        if not session_ids or one.session_id in session_ids
    ]


def _age_key(recorded: RecordedSession) -> tuple[datetime, int]:
    return recorded.last_timestamp or _BEGINNING, recorded.key


def _subject(
    recorded: RecordedSession, versions: Sequence[SessionVersion], used: Mapping[int, tuple[str, ...]], distance: int
) -> AgeingSubject:
    ready = {one.key: one for one in versions if one.state == BuildState.READY}
    working = [one for one in versions if one.state == BuildState.WORKING]
    sources = {one.source_number for one in working}
    aged = [_version(recorded, one, used.get(one.key, ()), one.number in sources) for one in ready.values()]
    ageing = AgeingSession(
        session_id=recorded.session_id,
        size_bytes=recorded.size_bytes,
        last_said=recorded.last_timestamp,
        last_used=recorded.used_at,
        versions=tuple(aged),
        is_being_compressed=bool(working),
        failures=_failures(recorded, versions),
    )
    return AgeingSubject(recorded, ready, ageing, distance)


def _version(recorded: RecordedSession, one: SessionVersion, used_in: tuple[str, ...], is_source: bool) -> AgedVersion:
    return AgedVersion(
        key=one.key,
        session_id=recorded.session_id,
        number=one.number,
        made_at=one.finished_at or one.created_at,
        output_tokens=one.output_tokens,
        last_used=one.last_used,
        uses=one.uses,
        covers=one.source_bytes,
        settings=one.settings,
        used_in=used_in,
        is_source=is_source,
    )


def _failures(recorded: RecordedSession, versions: Sequence[SessionVersion]) -> int:
    """Count the versions of all there is that failed since the last that did not."""
    count = 0
    for one in versions:
        if one.state == BuildState.READY:
            count = 0
        elif one.state == BuildState.FAILED and one.source_bytes == recorded.size_bytes:
            count += 1
    return count


DECAY, RETENTION, BY_HAND = "decay", "retention", "by_hand"
"""What versions are removed for; labels the metric."""
ACTORS = {DECAY: "rule:auto_decay", RETENTION: "rule:retention"}
MOST_MADE = 200
"""Versions asked for in one run; the rest in the next."""
MOST_SHOWN = 200
"""Entries of each list of a plan that are kept."""
_AUTO_DECAY = "autoDecay"


@dataclass(frozen=True)
class PlannedRemoval:
    """A version that goes."""

    subject: AgeingSubject
    decision: VersionRemoval
    what_for: str


@dataclass(frozen=True)
class AgeingPlan:
    """What is to be done about a project's versions."""

    make: tuple[tuple[AgeingSubject, ProposedVersion], ...] = ()
    remove: tuple[PlannedRemoval, ...] = ()
    stay: tuple[VersionRemoval, ...] = ()
    """What the rules would take, and why it stays."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not self.make and not self.remove

    def shown(self) -> dict[str, Any]:
        """Return it as it is kept and shown: ids and numbers."""
        making = [
            {"sessionId": wanted.session_id, "preset": wanted.preset.value, "reason": wanted.why}
            for _, wanted in self.make
        ]
        removing = [_removal_entry(one.decision) | {"for": one.what_for} for one in self.remove]
        staying = [_removal_entry(one) for one in self.stay]
        return {
            "compress": making[:MOST_SHOWN],
            "remove": removing[:MOST_SHOWN],
            "keep": staying[:MOST_SHOWN],
            "counts": {"compress": len(making), "remove": len(removing), "keep": len(staying)},
        }


@dataclass
class AgeingResult:
    """What was done, for what follows the commit."""

    plan: AgeingPlan
    is_dry: bool
    removed: dict[str, int] = field(default_factory=dict)
    """Versions removed, by what for."""
    files: list[tuple[str, str]] = field(default_factory=list)
    """The session and the name of each file that belongs to nothing any more."""

    def clear_away(self, store: Store, app_id: str, project_id: str) -> None:
        """Remove the files, once what removed their rows is committed."""
        for session_id, name in self.files:
            store.remove(store.versions_folder(app_id, project_id, session_id) / name)


def own_rules(project: Project) -> dict[str, Any]:
    """Return what a project says of its rules itself."""
    return {name: project.settings[name] for name in (KEEPS, _AUTO_DECAY) if name in project.settings}


def rules_of(session: Session, project: Project) -> Ageing:
    """Return the rules in force for a project: its own above what its app says."""
    settings = settings_of(session, project)
    preset = {"rules": {"createPreset": settings.default_compression_preset.value}}
    decay = overlaid({_AUTO_DECAY: preset}, {_AUTO_DECAY: project.settings.get(_AUTO_DECAY, {})})
    return Ageing(
        retention=Retention.of(settings.compression_retention), auto_decay=AutoDecay.model_validate(decay[_AUTO_DECAY])
    )


def change_rules(
    session: Session, project: Project, cause: Cause, changed: Mapping[str, Retention | AutoDecay | None]
) -> None:
    """Give a locked project other rules, ``retention``, ``auto_decay`` or both; None takes its own back.

    The next run only shows what they would do.
    """
    before = rules_of(session, project)
    own = dict(project.settings)
    if "retention" in changed:
        retention = changed["retention"]
        own[KEEPS] = retention.short if isinstance(retention, Retention) else None
    if "auto_decay" in changed:
        decay = changed["auto_decay"]
        own[_AUTO_DECAY] = None if decay is None else decay.model_dump(mode="json", by_alias=True, exclude_unset=True)
    project.settings = {name: value for name, value in own.items() if value is not None}
    after = rules_of(session, project)
    if after != before:
        project.tended_at = None
        record_change(
            session, project, project.project_id, SessionChangeKind.CHANGED, cause,
            *(one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in (before, after)),
        )  # fmt: skip


def plan_of(session: Session, project: Project, rules: Ageing, now: datetime) -> AgeingPlan:
    """Return what the rules want of a project now; nothing is written."""
    make: list[tuple[AgeingSubject, ProposedVersion]] = []
    remove: list[PlannedRemoval] = []
    stay: list[VersionRemoval] = []
    for subject in subjects_of(session, project):
        decayed = decay_session(subject.ageing, rules.auto_decay, now)
        if decayed.make is not None:
            make.append((subject, decayed.make))
        beyond = expired_versions(subject.ageing.versions, rules.retention, now)
        remove += _removals(subject, decayed.removals, beyond)
        stay += [*decayed.removals.stay, *beyond.stay]
    gone = {one.decision.version.key for one in remove}
    return AgeingPlan(tuple(make[:MOST_MADE]), tuple(remove), tuple(one for one in stay if one.version.key not in gone))


def has_been_shown(session: Session, project: Project, rules: Ageing) -> bool:
    """Whether what these very rules would do was shown before."""
    last = last_run(session, project)
    return last is not None and last.after.get("rules") == rules.digest


def run_ageing(
    session: Session, app: App, project: Project, cause: Cause, settings: Settings, is_dry: bool | None = None
) -> AgeingResult:
    """Age a locked project of a locked app; ``is_dry`` None goes by whether these rules were shown before.

    Raises: Conflict, when rules are to be carried out that were never shown.
    """
    rules = rules_of(session, project)
    was_shown = has_been_shown(session, project, rules)
    if is_dry is False and not was_shown:
        raise Conflict(
            "What these rules would do was not shown yet; run them with dryRun=true first, and look at the plan.",
            code="dry_run_first",
        )
    done = AgeingResult(plan_of(session, project, rules, cause.at), not was_shown if is_dry is None else is_dry)
    if not done.is_dry:
        _carry_out(session, app, project, done, cause.at, settings)
    if done.is_dry or not done.plan.is_empty:
        after = {"dryRun": done.is_dry, "rules": rules.digest, "plan": done.plan.shown()}
        record_change(session, project, AGEING, SessionChangeKind.AGED, cause, {}, after)
    project.tended_at = cause.at
    return done


def remove_all(
    session: Session, project: Project, removals: Iterable[PlannedRemoval], cause: Cause, done: AgeingResult
) -> None:
    """Remove versions of a locked project. Raises: Conflict for one that is in use."""
    for one in removals:
        subject, version = one.subject, one.decision.version
        why = Cause(ACTORS.get(one.what_for, cause.actor), one.decision.why, cause.at)
        compression = subject.compressions[version.key]
        names = remove_version(session, project, subject.recorded, compression, SessionChangeKind.REMOVED, why)
        done.files += [(version.session_id, name) for name in names]
        done.removed[one.what_for] = done.removed.get(one.what_for, 0) + 1


def _removals(subject: AgeingSubject, decayed: VersionRemovals, beyond: VersionRemovals) -> list[PlannedRemoval]:
    """Return what goes, each once, and never the last of a session's versions."""
    found = {one.version.key: PlannedRemoval(subject, one, DECAY) for one in decayed.go}
    for one in beyond.go:
        found.setdefault(one.version.key, PlannedRemoval(subject, one, RETENTION))
    if len(found) == len(subject.ageing.versions) and found:
        del found[max(found.values(), key=lambda one: one.decision.version.number).decision.version.key]
    return list(found.values())


def _carry_out(
    session: Session, app: App, project: Project, done: AgeingResult, now: datetime, settings: Settings
) -> None:
    remove_all(session, project, done.plan.remove, Cause(ACTORS[DECAY], "", now), done)
    for subject, wanted in done.plan.make:
        wished = CompressionSettings(tier_preset=wanted.preset, session_distance=min(1000, subject.distance))
        complete = complete_settings(wished, settings.model, settings_of(session, project))
        cause = Cause(ACTORS[DECAY], wanted.why, now)
        request_version(
            session,
            app,
            subject.recorded,
            complete,
            cause,
            now,
            reason=wanted.why,
            max_attempts=settings.job_max_attempts,
        )


def _removal_entry(one: VersionRemoval) -> dict[str, Any]:
    version = one.version
    return {
        "sessionId": version.session_id,
        "versionId": version.version_id,
        "tokens": version.output_tokens,
        "createdAt": version.made_at.isoformat(),
        "lastUsed": None if version.last_used is None else version.last_used.isoformat(),
        "usedIn": list(version.used_in),
        "reason": one.why,
    }


NAMED = "named by hand"


@dataclass(frozen=True)
class RemovalChoice:
    """What goes and what stays, with what a person should know."""

    remove: tuple[PlannedRemoval, ...]
    stay: tuple[VersionRemoval, ...]
    warnings: tuple[str, ...]


def by_rules(session: Session, project: Project, wanted: PruningRules, now: datetime) -> RemovalChoice:
    """Return what goes by rules; what is in use stays."""
    subjects = subjects_of(session, project, wanted.sessions)
    return _choice((subject, prune_versions(subject.ageing.versions, wanted, now)) for subject in subjects)


def by_name(session: Session, project: Project, named: Sequence[tuple[str, str]]) -> RemovalChoice:
    """Return versions that were named, by session and version. Raises: NotFound."""
    subjects = {one.recorded.session_id: one for one in subjects_of(session, project)}
    wanted: dict[str, list[VersionRemoval]] = {}
    for session_id, version_id in dict.fromkeys(named):
        wanted.setdefault(session_id, []).append(
            _named_removal(project, subjects.get(session_id), session_id, version_id)
        )
    return _choice((subjects[session_id], VersionRemovals.of(found)) for session_id, found in wanted.items())


def remove_chosen(session: Session, project: Project, choice: RemovalChoice, cause: Cause) -> AgeingResult:
    """Remove what was chosen, of a locked project. Raises: Conflict."""
    done = AgeingResult(AgeingPlan(remove=choice.remove, stay=choice.stay), is_dry=False)
    remove_all(session, project, choice.remove, cause, done)
    return done


def _choice(found: Iterable[tuple[AgeingSubject, VersionRemovals]]) -> RemovalChoice:
    remove: list[PlannedRemoval] = []
    stay: list[VersionRemoval] = []
    warnings: list[str] = []
    for subject, removals in found:
        remove += [PlannedRemoval(subject, one, BY_HAND) for one in removals.go]
        stay += removals.stay
        warnings += warnings_of(removals, subject.ageing.versions)
    return RemovalChoice(tuple(remove), tuple(stay), tuple(warnings))


def _named_removal(project: Project, subject: AgeingSubject | None, session_id: str, version_id: str) -> VersionRemoval:
    versions = () if subject is None else subject.ageing.versions
    found = next((one for one in versions if one.version_id == version_id), None)
    if found is None:
        raise NotFound(
            f"Project {project.project_id} has no version {version_id} of session {session_id}.",
            details={"sessionId": session_id, "versionId": version_id},
        )
    return VersionRemoval(found, NAMED)
