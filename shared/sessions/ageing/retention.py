"""How many versions of a session are kept: all, the newest, or those of some days. Never what is in use or alone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from shared.sessions.ageing.pruning import Decision, Removals, Version
from shared.sessions.ageing.rules import Keep, Retention


def expired(versions: Sequence[Version], retention: Retention, now: datetime) -> Removals:
    """Return what goes of a session's versions."""
    why = f"retention keeps {retention.keep} {retention.count or retention.days or ''}".strip()
    beyond = _beyond(versions, retention, now)
    return Removals.of(Decision(version, why) for version in beyond).but_the_only_one(versions)


def _beyond(versions: Sequence[Version], retention: Retention, now: datetime) -> Sequence[Version]:
    newest_first = sorted(versions, key=lambda one: -one.number)
    if retention.keep is Keep.NEWEST:
        return newest_first[retention.count or 1 :]
    if retention.keep is Keep.DAYS:
        since = now - timedelta(days=retention.days or 1)
        return [one for one in newest_first if one.touched_at <= since]
    return []
