"""Pruning versions by hand, and the rules by which they age."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field, StrictInt, model_validator

from loop.api.schemas.wire import Answer, Body, Flag
from shared.contracts.values import FILE_ID_PATTERN
from shared.sessions.models import SessionChange
from shared.sessions.retention.rules import AutoDecay, PruningRules, Retention, VersionRemoval

_SessionId = Annotated[str, Field(pattern=FILE_ID_PATTERN)]


class NamedVersion(Body):
    """A version."""

    session_id: _SessionId
    version_id: str = Field(pattern=r"^v[0-9]{3,9}$", examples=["v002"])


class PruneVersions(Body):
    """Removes versions: those named, or those that meet all the rules given."""

    dry_run: Flag = Field(True, description="Only says what would go.")
    unused: Flag = Field(False, description="Never used, in any composition or otherwise.")
    superseded: Flag = Field(False, description="A newer one was made with the same settings from no less.")
    older_than_days: Annotated[StrictInt, Field(ge=0, le=36_500)] | None = Field(
        None, description="Neither made nor used since."
    )
    session_ids: Annotated[list[_SessionId], Field(max_length=1000)] = Field(
        default_factory=list, description="Only versions of these; of all where none is named."
    )
    versions: Annotated[list[NamedVersion], Field(max_length=1000)] | None = Field(
        None, description="These, instead of rules; one that is in use is refused."
    )

    @model_validator(mode="after")
    def _says_something(self) -> PruneVersions:
        by_rule = self.pruning.says_anything
        if by_rule == (self.versions is not None):
            raise ValueError("give either versions, or at least one of unused, superseded, olderThanDays")
        return self

    @property
    def pruning(self) -> PruningRules:
        """The rules given."""
        return PruningRules(self.unused, self.superseded, self.older_than_days, tuple(self.session_ids))


class VersionDecision(Answer):
    """What becomes of a version, and why."""

    session_id: str
    version_id: str
    tokens: int
    created_at: datetime
    last_used: datetime | None
    uses: int
    used_in: list[str] = Field(description="Names of the compositions that use it.")
    reason: str

    @classmethod
    def of(cls, one: VersionRemoval) -> VersionDecision:
        """Return a decision as it goes over the wire."""
        version = one.version
        return cls(
            session_id=version.session_id,
            version_id=version.version_id,
            tokens=version.output_tokens,
            created_at=version.made_at,
            last_used=version.last_used,
            uses=version.uses,
            used_in=list(version.used_in),
            reason=one.why,
        )


class Pruned(Answer):
    """What went, or would go."""

    dry_run: bool
    removed: list[VersionDecision] = Field(description="What went; of a dry run, what would.")
    kept: list[VersionDecision] = Field(description="What meets the rules and stays, and why.")
    tokens: int = Field(description="Of what went.")
    warnings: list[str]

    @classmethod
    def of(
        cls, go: Iterable[VersionRemoval], stay: Iterable[VersionRemoval], warnings: list[str], dry_run: bool
    ) -> Pruned:
        """Return what went as it goes over the wire."""
        removed = [VersionDecision.of(one) for one in go]
        return cls(
            dry_run=dry_run,
            removed=removed,
            kept=[VersionDecision.of(one) for one in stay],
            tokens=sum(one.tokens for one in removed),
            warnings=warnings,
        )


class ChangeAgeing(Body):
    """Changes the rules of a project; what is left out stays."""

    retention: Retention | None = None
    auto_decay: AutoDecay | None = None


class RunAgeing(Body):
    """Ages a project now."""

    dry_run: Flag = Field(True, description="Only writes the plan down; rules that changed must be run so first.")


class PlanAnswer(Answer):
    """What a run did, or would do."""

    at: datetime
    dry_run: bool
    by: str
    plan: dict[str, Any] = Field(description="compress, remove, keep; each entry with its reason, and counts of all.")

    @classmethod
    def of(cls, change: SessionChange) -> PlanAnswer:
        """Return a run as it goes over the wire."""
        return cls(at=change.at, dry_run=change.after["dryRun"], by=change.actor, plan=change.after["plan"])


class AgeingAnswer(Answer):
    """How a project's versions age."""

    project_id: str
    retention: Retention
    auto_decay: AutoDecay
    shown: bool = Field(description="Whether what these rules would do was shown; the next run then carries it out.")
    last_run: datetime | None = Field(description="When the rules were last followed or tried.")
    last_plan: PlanAnswer | None = Field(description="The last run that had anything to say.")


class AgeingDone(Answer):
    """A run."""

    project_id: str
    dry_run: bool
    plan: dict[str, Any]
