"""Ageing a project by its rules, and removing versions by hand: looked at first, then done.

The first run after the rules changed only writes down what it would do. Versions are made by jobs, under the energy
budget like any other; what is removed goes in one transaction, each with who, why and what it was.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlalchemy.orm import Session

from shared.apps.models import App
from shared.base.audit import Cause
from shared.base.errors import Conflict, NotFound
from shared.base.settings import Settings
from shared.db.base import Transactions
from shared.sessions import manifest
from shared.sessions.compress.queries import names_using
from shared.sessions.compress.settings import CompressionSettings
from shared.sessions.compress.versions import complete_settings, remove_version, request_version
from shared.sessions.models import BuildState, Project, RecordedSession, SessionVersion
from shared.sessions.queries import AGEING, last_run, sessions_of, versions_by_session
from shared.sessions.registry.projects import SessionChangeKind, overlaid, record_change, settings_of
from shared.sessions.retention.rules import (
    DECAY,
    KEEPS,
    RETENTION,
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
from shared.telemetry.metrics import Metrics

_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


def sessions_that_age(session: Session, project: Project, session_ids: Collection[str] = ()) -> list[AgeingSession]:
    """Return a project's sessions with their versions, newest first; only some of them where ids are given."""
    recorded = sorted(
        sessions_of(session, project.key), key=lambda one: (one.last_timestamp or _BEGINNING, one.key), reverse=True
    )
    versions = versions_by_session(session, [one.key for one in recorded])
    ready = [one.key for some in versions.values() for one in some if one.state == BuildState.READY]
    used = names_using(session, ready)
    return [
        _ageing_session(one, versions[one.key], used, distance)
        for distance, one in enumerate(recorded, 1)
        if not session_ids or one.session_id in session_ids
    ]


def _ageing_session(
    recorded: RecordedSession, rows: Sequence[SessionVersion], used: Mapping[int, tuple[str, ...]], distance: int
) -> AgeingSession:
    sources = {one.source_number for one in rows if one.state == BuildState.WORKING}
    versions = tuple(
        AgedVersion(one, recorded, used.get(one.key, ()), one.number in sources)
        for one in rows
        if one.state == BuildState.READY
    )
    # Count the versions of all there is that failed since the last that did not.
    count = 0
    for one in rows:
        if one.state == BuildState.READY:
            count = 0
        elif one.state == BuildState.FAILED and one.source_bytes == recorded.size_bytes:
            count += 1
    return AgeingSession(recorded, versions, bool(sources), count, distance)


ACTORS = {DECAY: "rule:auto_decay", RETENTION: "rule:retention"}
MOST_MADE = 200
"""Versions asked for in one run; the rest in the next."""
MOST_SHOWN = 200
"""Entries of each list of a plan that are kept."""
_AUTO_DECAY = "autoDecay"


@dataclass(frozen=True)
class AgeingPlan:
    """What is to be done about a project's versions."""

    make: tuple[ProposedVersion, ...] = ()
    remove: tuple[VersionRemoval, ...] = ()
    stay: tuple[VersionRemoval, ...] = ()
    """What was to go, and why it stays."""
    warnings: tuple[str, ...] = ()
    """What a person should know before it is done."""

    def shown(self) -> dict[str, Any]:
        """Return it as it is kept and shown: ids and numbers."""
        lists = {
            "compress": [
                {"sessionId": one.session.recorded.session_id, "preset": one.preset.value, "reason": one.why}
                for one in self.make
            ],
            "remove": [one.shown() | {"for": one.what_for} for one in self.remove],
            "keep": [one.shown() for one in self.stay],
        }
        counts = {name: len(entries) for name, entries in lists.items()}
        return {name: entries[:MOST_SHOWN] for name, entries in lists.items()} | {"counts": counts}


@dataclass
class AgeingResult:
    """What was done, for what follows the commit."""

    plan: AgeingPlan
    is_dry: bool
    removed: Counter[str] = field(default_factory=Counter)
    """Versions removed, by what for."""
    files: list[tuple[str, str]] = field(default_factory=list)
    """The session and the name of each file that belongs to nothing any more."""

    def settle(self, database: Transactions, store: Store, metrics: Metrics, app_id: str, project_id: str) -> None:
        """Count what was removed, remove its files and show it, once what removed their rows is committed."""
        for what_for, count in self.removed.items():
            metrics.versions_removed.labels(what_for).inc(count)
        for session_id, name in self.files:
            store.remove(store.versions_folder(app_id, project_id, session_id) / name)
        if self.removed:
            manifest.write(database, store, app_id, project_id)


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
        # Only what was said: a preset that was not named follows the project's.
        own[_AUTO_DECAY] = None if decay is None else decay.model_dump(mode="json", by_alias=True, exclude_unset=True)
    project.settings = {name: value for name, value in own.items() if value is not None}
    after = rules_of(session, project)
    if after != before:
        # Looked at soon, so that what the new rules would do is shown.
        project.tended_at = None
        record_change(
            session, project, project.project_id, SessionChangeKind.CHANGED, cause,
            *(one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in (before, after)),
        )  # fmt: skip


def plan_of(session: Session, project: Project, rules: Ageing, now: datetime) -> AgeingPlan:
    """Return what the rules want of a project now; nothing is written."""
    make: list[ProposedVersion] = []
    remove: list[VersionRemoval] = []
    stay: list[VersionRemoval] = []
    for one in sessions_that_age(session, project):
        proposed, decayed = decay_session(one, rules.auto_decay, now)
        make += [] if proposed is None else [proposed]
        beyond = expired_versions(one.versions, rules.retention, now)
        removals = decayed.joined(beyond).but_the_only_one(one.versions)
        remove += removals.go
        stay += removals.stay
    return AgeingPlan(tuple(make[:MOST_MADE]), tuple(remove), tuple(stay))


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
    # Planned anew, and not taken from what was shown: what is in use by now has to stay.
    done = AgeingResult(plan_of(session, project, rules, cause.at), not was_shown if is_dry is None else is_dry)
    if not done.is_dry:
        _remove(session, project, done, cause)
        for one in done.plan.make:
            _request(session, app, project, one, cause.at, settings)
    if done.is_dry or done.plan.make or done.plan.remove:
        after = {"dryRun": done.is_dry, "rules": rules.digest, "plan": done.plan.shown()}
        record_change(session, project, AGEING, SessionChangeKind.AGED, cause, {}, after)
    project.tended_at = cause.at
    return done


def _remove(session: Session, project: Project, done: AgeingResult, cause: Cause) -> None:
    """Remove what a plan for a locked project says. Raises: Conflict for a version that is in use."""
    for one in done.plan.remove:
        recorded = one.version.recorded
        why = Cause(ACTORS.get(one.what_for, cause.actor), one.why, cause.at)
        names = remove_version(session, project, recorded, one.version.row, SessionChangeKind.REMOVED, why)
        done.files += [(recorded.session_id, name) for name in names]
        done.removed[one.what_for] += 1


def _request(
    session: Session, app: App, project: Project, proposed: ProposedVersion, now: datetime, settings: Settings
) -> None:
    # No farther than a setting can say.
    wished = CompressionSettings(tier_preset=proposed.preset, session_distance=min(1000, proposed.session.distance))
    complete = complete_settings(wished, settings.model, settings_of(session, project))
    cause, attempts = Cause(ACTORS[DECAY], proposed.why, now), settings.job_max_attempts
    recorded = proposed.session.recorded
    request_version(session, app, recorded, complete, cause, now, reason=proposed.why, max_attempts=attempts)


def by_rules(session: Session, project: Project, rules: PruningRules, now: datetime) -> AgeingPlan:
    """Return what goes by rules; what is in use stays."""
    sessions = sessions_that_age(session, project, rules.session_ids)
    return _by_hand((one, prune_versions(one.versions, rules, now)) for one in sessions)


def by_name(session: Session, project: Project, named: Sequence[tuple[str, str]]) -> AgeingPlan:
    """Return versions that were named, by session and version. Raises: NotFound."""
    sessions = {one.recorded.session_id: one for one in sessions_that_age(session, project)}
    known = {(name, one.row.version_id): one for name, of in sessions.items() for one in of.versions}
    removals: defaultdict[str, list[VersionRemoval]] = defaultdict(list)
    for session_id, version_id in dict.fromkeys(named):
        version = known.get((session_id, version_id))
        if version is None:
            raise NotFound(
                f"Project {project.project_id} has no version {version_id} of session {session_id}.",
                details={"sessionId": session_id, "versionId": version_id},
            )
        removals[session_id].append(VersionRemoval(version, "named by hand"))
    return _by_hand((sessions[session_id], VersionRemovals.of(found)) for session_id, found in removals.items())


def remove_chosen(session: Session, project: Project, plan: AgeingPlan, cause: Cause) -> AgeingResult:
    """Remove what a person chose, of a locked project. Raises: Conflict."""
    done = AgeingResult(plan, is_dry=False)
    _remove(session, project, done, cause)
    return done


def _by_hand(found: Iterable[tuple[AgeingSession, VersionRemovals]]) -> AgeingPlan:
    chosen = list(found)
    return AgeingPlan(
        remove=tuple(removal for _, removals in chosen for removal in removals.go),
        stay=tuple(removal for _, removals in chosen for removal in removals.stay),
        warnings=tuple(one for of, removals in chosen for one in warnings_of(removals, of.versions)),
    )
