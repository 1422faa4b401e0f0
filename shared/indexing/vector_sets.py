"""Which model's vectors an app is searched by, and how another model takes over without a gap.

The first set of an app serves at once. When another model comes into force, a set of its own is filled beside the one
that serves: what is said meanwhile goes into both, what was said before is gone through by message keys. Once complete
it serves, in one transaction, and the former one is cleared away. Making vectors is left to the worker.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete
from sqlalchemy.orm import Session

from shared.db.counting import rows_changed
from shared.db.inserting import insert_all_if_absent
from shared.errors import Configuration
from shared.indexing import queries
from shared.indexing.models import MessageVector, SetState, Unembedded, VectorSet
from shared.indexing.vectors import Floats, pack

CLEARED_AT_ONCE = 2000
"""Vectors of a retired set removed in one transaction."""
_LIVE = (SetState.SERVING, SetState.FILLING)
PartVectors = Mapping[tuple[int, int], Floats]
"""A vector for each place and part."""


@dataclass(frozen=True)
class Change:
    """What is to be done about an app's sets before vectors of the model in force can be kept."""

    serve: bool = False
    """Make its first set."""
    fill: bool = False
    """Fill a set of it beside the one that serves."""
    retire: frozenset[str] = frozenset()
    """Models that were to take over and no longer are."""

    def __bool__(self) -> bool:
        return self.serve or self.fill or bool(self.retire)


def change_for(model: str, states: Mapping[str, SetState]) -> Change:
    """Decide what is to be done so that ``model`` serves, or comes to; ``states``: of the sets there are, by model."""
    filling = {one for one, state in states.items() if state is SetState.FILLING}
    if SetState.SERVING not in states.values():
        return Change(serve=True, retire=frozenset(filling - {model}))
    if states.get(model) is SetState.SERVING:
        return Change(retire=frozenset(filling))
    return Change(fill=model not in filling, retire=frozenset(filling - {model}))


def wanted_change(session: Session, app_id: str, model: str) -> Change:
    """Return what is to be done about an app's sets."""
    return change_for(model, {one.model: SetState(one.state) for one in queries.sets_of(session, app_id)})


def arrange(session: Session, app_id: str, model: str, now: datetime) -> None:
    """Do what is to be done about a locked app's sets."""
    change = wanted_change(session, app_id, model)
    sets = {one.model: one for one in queries.sets_of(session, app_id)}
    for name in change.retire:
        _retire(session, sets[name], sets.get(model))
    if change.serve or change.fill:
        fresh = sets.get(model) or VectorSet(app_id=app_id, model=model, dimensions=0, created_at=now)
        fresh.state = SetState.SERVING if change.serve else SetState.FILLING
        if change.fill:
            _begin_to_fill(session, fresh)
        session.add(fresh)
    session.flush()


def _begin_to_fill(session: Session, fresh: VectorSet) -> None:
    newest = queries.newest_message(session, fresh.app_id)
    fresh.filled_to, fresh.fill_until, fresh.fill_done = 0, newest, 0
    fresh.fill_total = queries.count_messages(session, fresh.app_id, 0, newest)


def _retire(session: Session, given_up: VectorSet, in_force: VectorSet | None) -> None:
    """Give a set up that was being filled; the one in force may lack what was said since, if its model was away."""
    if in_force is not None and in_force.state == SetState.SERVING:
        lacking = queries.places_without_vectors(session, in_force, given_up.fill_until or 0)
        note_unembedded(session, given_up.app_id, lacking)
    given_up.state, given_up.fill_until = SetState.RETIRED, None


def note_unembedded(session: Session, app_id: str, places: Collection[int]) -> None:
    """Note places whose vectors are still to be made, each once."""
    insert_all_if_absent(session, Unembedded, [{"place": place, "app_id": app_id} for place in places])


def live_sets(session: Session, app_id: str) -> Sequence[VectorSet]:
    """Return the set that serves and the one that is being filled, those there are."""
    return [one for one in queries.sets_of(session, app_id) if one.state in _LIVE]


def keep(session: Session, into: VectorSet, vectors: PartVectors) -> None:
    """Put vectors into a set of a locked app; those it has stay. Raises: Configuration."""
    for row in vectors.values():
        into.dimensions = into.dimensions or len(row)
        if len(row) != into.dimensions:
            raise Configuration(
                f"{into.model} now returns {len(row)} dimensions instead of {into.dimensions}; it is another model, so "
                "give it another name (ollama cp) and set AFTERTHOUGHT_EMBEDDING to that."
            )
    rows = [
        {"set_key": into.key, "place": place, "part": part, "vector": pack(row)}
        for (place, part), row in vectors.items()
    ]
    insert_all_if_absent(session, MessageVector, rows)


def move_on(session: Session, filling: VectorSet, to: int, messages: int) -> None:
    """Note how far a set has been filled, in the transaction of its vectors."""
    filling.filled_to, filling.fill_done = to, filling.fill_done + messages
    session.flush()


def take_over(session: Session, filled: VectorSet, now: datetime) -> None:
    """Have a set that is complete serve, and retire the one before."""
    former = queries.serving_set(session, filled.app_id)
    if former is not None:
        former.state = SetState.RETIRED
        session.flush()  # One set serves at any moment, in between as well.
    filled.state, filled.fill_until, filled.completed_at = SetState.SERVING, None, now
    session.flush()


def clear_some(session: Session, app_id: str, limit: int = CLEARED_AT_ONCE) -> bool:
    """Remove some vectors of a locked app's retired set, and the set with the last; False when there is none."""
    retired = next((one for one in queries.sets_of(session, app_id) if one.state == SetState.RETIRED), None)
    if retired is None:
        return False
    keys = queries.first_vectors(session, retired.key, limit)
    rows_changed(session, delete(MessageVector).where(MessageVector.key.in_(keys)))
    if len(keys) < limit:
        session.delete(retired)
        session.flush()
    return True


def serving_model(session: Session, app_id: str) -> str | None:
    """Return the model whose vectors an app is searched by; None while it has none."""
    serving = queries.serving_set(session, app_id)
    return None if serving is None or not serving.dimensions else serving.model
