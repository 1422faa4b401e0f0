"""Whose memory it is: a subject is one user of one app, or the app itself where its conversation names nobody.

Memories, facts and profiles belong to a subject, and so do their caps. Source: decisions of 2026-11-22.
"""

from dataclasses import dataclass

NOBODY = ""
"""The user id of a subject that is the app itself. Not NULL, because NULLs are distinct in a unique constraint."""


@dataclass(frozen=True, slots=True)
class Subject:
    """One user of one app, or the app itself."""

    app_id: str
    user_id: str = NOBODY

    @property
    def named(self) -> str | None:
        """The user as it goes over the wire, and as a conversation holds it; None for nobody."""
        return self.user_id or None


def recalled_for(user_id: str | None, is_shared: bool) -> tuple[str, ...]:
    """Return whose things are recalled for a user: their own alone, with what names nobody where the app shares that.

    Where nobody is named, only what names nobody.
    """
    if not user_id:
        return (NOBODY,)
    return (user_id, NOBODY) if is_shared else (user_id,)


def subject_of(app_id: str, user_id: str | None) -> Subject:
    """Return the subject of a user that may not be named."""
    return Subject(app_id, user_id or NOBODY)
