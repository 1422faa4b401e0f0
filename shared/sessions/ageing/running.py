"""Ageing a project: what its rules want now, shown first and carried out the next time.

The first run after the rules changed only writes down what it would do. Versions are made by jobs, under the energy
budget like any other; what is removed goes in one transaction, each with who, why and what it was.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from shared.apps.models import App
from shared.causes import Cause
from shared.errors import Conflict
from shared.sessions.ageing.decay_schedule import Wanted, decay
from shared.sessions.ageing.pruning import Decision, Removals
from shared.sessions.ageing.queries import AGES, SUBJECT, Subject, last_run, subjects_of
from shared.sessions.ageing.retention import expired
from shared.sessions.ageing.rules import Ageing
from shared.sessions.compositions.requesting import Means
from shared.sessions.compressions import finishing, requesting
from shared.sessions.compressions.asking import CompressionSettings
from shared.sessions.models import Project
from shared.sessions.registry.changes import ChangeKind, note
from shared.sessions.registry.projects import ProjectSettings
from shared.sessions.store import Store

DECAY, RETENTION, BY_HAND = "decay", "retention", "by_hand"
"""What versions are removed for; labels the metric."""
ACTORS = {DECAY: "rule:auto_decay", RETENTION: "rule:retention"}
MOST_MADE = 200
"""Versions asked for in one run; the rest in the next."""
MOST_SHOWN = 200
"""Entries of each list of a plan that are kept."""
_RULES = ("retention", "autoDecay")


@dataclass(frozen=True)
class Removal:
    """A version that goes."""

    subject: Subject
    decision: Decision
    what_for: str


@dataclass(frozen=True)
class Plan:
    """What is to be done about a project's versions."""

    make: tuple[tuple[Subject, Wanted], ...] = ()
    remove: tuple[Removal, ...] = ()
    stay: tuple[Decision, ...] = ()
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
        removing = [_shown(one.decision) | {"for": one.what_for} for one in self.remove]
        staying = [_shown(one) for one in self.stay]
        return {
            "compress": making[:MOST_SHOWN],
            "remove": removing[:MOST_SHOWN],
            "keep": staying[:MOST_SHOWN],
            "counts": {"compress": len(making), "remove": len(removing), "keep": len(staying)},
        }


@dataclass
class Done:
    """What was done, for what follows the commit."""

    plan: Plan
    is_dry: bool
    removed: dict[str, int] = field(default_factory=dict)
    """Versions removed, by what for."""
    files: list[tuple[str, str]] = field(default_factory=list)
    """The session and the name of each file that belongs to nothing any more."""

    def clear_away(self, store: Store, app_id: str, project_id: str) -> None:
        """Remove the files, once what removed their rows is committed."""
        for session_id, name in self.files:
            store.remove(store.versions_folder(app_id, project_id, session_id) / name)


def rules_of(project: Project) -> Ageing:
    """Return the rules of a project."""
    return Ageing.model_validate({name: project.settings[name] for name in _RULES if name in project.settings})


def change_rules(session: Session, project: Project, rules: Ageing, cause: Cause) -> None:
    """Give a locked project other rules; the next run only shows what they would do."""
    before = rules_of(project)
    wire = rules.model_dump(mode="json", by_alias=True, exclude_none=True)
    kept = {name: value for name, value in project.settings.items() if name != AGES}
    project.settings = kept | wire | ({AGES: rules.schedule.value} if rules.is_active else {})
    if rules != before:
        project.tended_at = None
        old = before.model_dump(mode="json", by_alias=True, exclude_none=True)
        note(session, project, project.project_id, ChangeKind.CHANGED, cause, old, wire)


def plan_of(session: Session, project: Project, rules: Ageing, now: datetime) -> Plan:
    """Return what the rules want of a project now; nothing is written."""
    make: list[tuple[Subject, Wanted]] = []
    remove: list[Removal] = []
    stay: list[Decision] = []
    for subject in subjects_of(session, project):
        decayed = decay(subject.ageing, rules.auto_decay, now)
        if decayed.make is not None:
            make.append((subject, decayed.make))
        beyond = expired(subject.ageing.versions, rules.retention, now)
        remove += _removals(subject, decayed.removals, beyond)
        stay += [*decayed.removals.stay, *beyond.stay]
    gone = {one.decision.version.key for one in remove}
    return Plan(tuple(make[:MOST_MADE]), tuple(remove), tuple(one for one in stay if one.version.key not in gone))


def has_been_shown(session: Session, project: Project, rules: Ageing) -> bool:
    """Whether what these very rules would do was shown before."""
    last = last_run(session, project)
    return last is not None and last.after.get("rules") == rules.digest


def run(session: Session, app: App, project: Project, cause: Cause, means: Means, is_dry: bool | None = None) -> Done:
    """Age a locked project of a locked app; ``is_dry`` None goes by whether these rules were shown before.

    Raises: Conflict, when rules are to be carried out that were never shown.
    """
    rules = rules_of(project)
    was_shown = has_been_shown(session, project, rules)
    if is_dry is False and not was_shown:
        raise Conflict(
            "What these rules would do was not shown yet; run them with dryRun=true first, and look at the plan.",
            code="dry_run_first",
        )
    done = Done(plan_of(session, project, rules, cause.at), not was_shown if is_dry is None else is_dry)
    if not done.is_dry:
        _carry_out(session, app, project, done, cause.at, means)
    if done.is_dry or not done.plan.is_empty:
        after = {"dryRun": done.is_dry, "rules": rules.digest, "plan": done.plan.shown()}
        note(session, project, SUBJECT, ChangeKind.AGED, cause, {}, after)
    project.tended_at = cause.at
    return done


def remove_all(session: Session, project: Project, removals: Iterable[Removal], cause: Cause, done: Done) -> None:
    """Remove versions of a locked project. Raises: Conflict for one that is in use."""
    for one in removals:
        subject, version = one.subject, one.decision.version
        why = Cause(ACTORS.get(one.what_for, cause.actor), one.decision.why, cause.at)
        compression = subject.compressions[version.key]
        names = finishing.remove(session, project, subject.recorded, compression, ChangeKind.REMOVED, why)
        done.files += [(version.session_id, name) for name in names]
        done.removed[one.what_for] = done.removed.get(one.what_for, 0) + 1


def _removals(subject: Subject, decayed: Removals, beyond: Removals) -> list[Removal]:
    """Return what goes, each once, and never the last of a session's versions."""
    found = {one.version.key: Removal(subject, one, DECAY) for one in decayed.go}
    for one in beyond.go:
        found.setdefault(one.version.key, Removal(subject, one, RETENTION))
    if len(found) == len(subject.ageing.versions) and found:
        del found[max(found.values(), key=lambda one: one.decision.version.number).decision.version.key]
    return list(found.values())


def _carry_out(session: Session, app: App, project: Project, done: Done, now: datetime, means: Means) -> None:
    remove_all(session, project, done.plan.remove, Cause(ACTORS[DECAY], "", now), done)
    for subject, wanted in done.plan.make:
        settings = CompressionSettings(tier_preset=wanted.preset, session_distance=min(1000, subject.distance))
        complete = requesting.check_model(settings, means.model, ProjectSettings.of(project))
        cause = Cause(ACTORS[DECAY], wanted.why, now)
        requesting.ask(
            session, app, subject.recorded, complete, cause, now, reason=wanted.why, max_attempts=means.max_attempts
        )


def _shown(one: Decision) -> dict[str, Any]:
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
