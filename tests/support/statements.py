"""Statements compiled once for all tests of a process, as a service compiles them once for all its requests.

SQLAlchemy keeps what it compiled with an engine, and each test has an engine of its own: half of a test's time went
into compiling the same statements anew. None of this is public in SQLAlchemy: where it changed, tests get slower, no
more.
"""

from __future__ import annotations

from sqlalchemy.engine import Dialect, Engine
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.util import LRUCache

_MOST = 3000
_compiled: dict[type[Dialect], LRUCache[object, object]] = {}


def share_compiled_statements() -> None:
    """Let all engines of a kind of database in this process share what they compile, from now on."""
    # The key of what was compiled begins with the engine's dialect.
    DefaultDialect.__hash__ = lambda self: hash(type(self))  # type: ignore[method-assign]
    DefaultDialect.__eq__ = lambda self, other: type(self) is type(other)  # type: ignore[method-assign]
    Engine._compiled_cache = property(_cache_of, lambda engine, own: None)  # type: ignore[assignment]


def _cache_of(engine: Engine) -> LRUCache[object, object]:
    return _compiled.setdefault(type(engine.dialect), LRUCache(_MOST))
