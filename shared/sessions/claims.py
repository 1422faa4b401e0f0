"""Which files of an app's folder its rows lay claim to; whatever else lies there is an orphan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class SessionClaim:
    """What a session's rows name."""

    files: frozenset[str]
    """Names of its versions' files, without their endings."""
    is_working: bool
    """Whether a version is being made, whose files may lie there before they are named."""


@dataclass(frozen=True)
class ProjectClaim:
    """What a project's rows name."""

    sessions: Mapping[str, SessionClaim]
    compositions: Mapping[str, bool]
    """By name, whether it is still being made."""


@dataclass(frozen=True)
class Claims:
    """What an app's rows name, by project."""

    projects: Mapping[str, ProjectClaim]

    def cover(self, parts: Sequence[str]) -> bool:
        """Return whether a file is claimed; ``parts`` is its path within the app's folder."""
        match list(parts):
            case ["config.json"]:
                return bool(self.projects)
            case ["projects", project_id, *rest] if project_id in self.projects:
                return _covers(self.projects[project_id], rest)
        return False


def _covers(project: ProjectClaim, rest: list[str]) -> bool:
    match rest:
        case ["manifest.json"]:
            return True
        case ["originals", name]:
            return name.endswith(".jsonl") and name.removesuffix(".jsonl") in project.sessions
        case ["summaries", session_id, name] if session_id in project.sessions:
            claim = project.sessions[session_id]
            return claim.is_working or name == "versions.json" or name.rpartition(".")[0] in claim.files
        case ["composed", composition, name] if composition in project.compositions:
            return project.compositions[composition] or not name.startswith(".")
    return False
