"""What was taken in of an archive."""

from __future__ import annotations

from loop.api.schemas.wire import Answer
from shared.sessions.archive.document import ProjectArchive
from shared.sessions.models import Project


class ImportedProject(Answer):
    """A project that was imported, and how much of each it held."""

    project_id: str
    display_name: str
    sessions: int
    versions: int
    compositions: int
    semantic_memories: int

    @classmethod
    def of(cls, project: Project, archive: ProjectArchive) -> ImportedProject:
        """Return what was taken in as it goes over the wire."""
        return cls(
            project_id=project.project_id,
            display_name=project.display_name,
            sessions=len(archive.sessions),
            versions=sum(len(one.versions) for one in archive.sessions),
            compositions=len(archive.compositions),
            semantic_memories=len(archive.semantic_memories),
        )
