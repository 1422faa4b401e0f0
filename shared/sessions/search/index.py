"""Brings sessions and their versions into what they are found by, some passages a transaction.

Files are read and words split with no transaction open. A session counts as findable only with its last passages, so
one whose indexing was killed half-way is done anew; whoever comes late finds that the session has changed and stops.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from sqlalchemy import delete, insert
from sqlalchemy.orm import Session

from shared.apps.queries import lock_app
from shared.base.errors import Invalid, NotFound
from shared.db.base import Transactions
from shared.search.words import words_of
from shared.sessions.blocks import Block, BlockKind
from shared.sessions.models import RecordedSession, SessionPassage, SessionVersion, SessionWord
from shared.sessions.queries import get_session, project_by_key
from shared.sessions.recording import blocks_in
from shared.sessions.store import Store
from shared.sessions.text import passage_pieces
from shared.sessions.transcripts.contents import read_blocks
from shared.telemetry.logging import get_logger
from shared.text.sentences import mask_secrets

_BYTES = 7
"""56 bits: they fit every database's 64-bit integers, and two words of an app hardly ever meet."""


def numbers_of(app_id: str, words: Iterable[str]) -> list[int]:
    """Return a number for each word of an app."""
    keyed = blake2b(key=blake2b(app_id.encode(), digest_size=32).digest(), digest_size=_BYTES)
    numbers = []
    for word in words:
        one = keyed.copy()
        one.update(word.encode("utf-8", "surrogatepass"))
        numbers.append(int.from_bytes(one.digest()))
    return numbers


MOST_OF_A_SESSION = 400
_INFORMATIVE = ("file_path", "notebook_path", "path", "command", "pattern", "query", "url", "description", "prompt")
_LONGEST_LINE = 300


_UNSAID = (BlockKind.THINKING, BlockKind.META, BlockKind.SYSTEM, BlockKind.LEFT, BlockKind.NAMES)


def passages_of(blocks: Iterable[Block]) -> list[SessionPassage]:
    """Return the pieces of an original or of a version: what was asked and answered, and a line for each use of a tool.

    In one pass and bounded memory: of a very long session every second piece that no person wrote is left out, again
    and again, so that what stays is spread over the whole.
    """
    kept: list[SessionPassage] = []
    seen, stride = 0, 1
    for block in blocks:
        for text in _texts(block):
            source = block.sources[0] if block.sources else None
            seen += 1
            # PostgreSQL takes no NUL in a text.
            passage = SessionPassage(
                kind=block.kind.value, text=text.replace("\0", ""), message_uuid=source, said_at=block.at
            )
            if not _is_asked(passage) and seen % stride:
                continue
            kept.append(passage)
            if len(kept) > MOST_OF_A_SESSION:
                others = [at for at, one in enumerate(kept) if not _is_asked(one)]
                # Where people wrote more than there is room for, theirs are thinned as well.
                gone = set(others[::2] if others else range(0, len(kept), 2))
                kept, stride = [one for at, one in enumerate(kept) if at not in gone], stride * 2
    return kept


def _texts(block: Block) -> Iterator[str]:
    call = block.call
    if block.is_sidechain or block.kind in _UNSAID:
        return
    if block.kind is BlockKind.TOOL_USE and call is not None:
        # None of these names announces a secret, so each value stands for itself.
        mentioned = (call.input.get(name) for name in _INFORMATIVE)
        yield " ".join([call.name, *(_line(one) for one in mentioned if isinstance(one, str))])
    elif block.kind is BlockKind.TOOL_RESULT:
        if call is not None and call.is_error:
            yield _line(block.text)
    else:
        yield from passage_pieces(mask_secrets(block.text)[0])


def _line(text: str) -> str:
    # Cut before it is split, as a tool may have given back megabytes.
    return " ".join(mask_secrets(text[: 2 * _LONGEST_LINE])[0].split())[:_LONGEST_LINE]


def _is_asked(passage: SessionPassage) -> bool:
    return passage.kind in (BlockKind.HUMAN, BlockKind.REQUEST, BlockKind.KEEPIT)


_AT_ONCE = 100
"""Passages in one transaction."""
_MOST_WORDS = 200
"""Of one passage."""


@dataclass(frozen=True)
class _IndexTarget:
    """What is indexed: a session as far as it was read, or one of its versions."""

    app_id: str
    session_key: int
    size_bytes: int = 0
    compression_key: int | None = None


def index_session(database: Transactions, store: Store, app_id: str, session_id: str) -> int:
    """Bring what a session's original says up to date; return its passages. Raises: Transient."""
    with database.read() as session:
        recorded = get_session(session, app_id, session_id)
        project = project_by_key(session, recorded.project_key)
        path = store.original(app_id, project.project_id, session_id)
    target = _IndexTarget(app_id, recorded.key, recorded.size_bytes)
    return _index(database, target, read_blocks(path, recorded.size_bytes))


def index_version(database: Transactions, store: Store, app_id: str, compression_key: int) -> int:
    """Make a version that is ready findable; return its passages. Raises: Transient."""
    with database.read() as session:
        version = session.get(SessionVersion, compression_key)
        recorded = None if version is None else session.get(RecordedSession, version.session_key)
        if version is None or recorded is None or recorded.app_id != app_id:
            return 0
        project = project_by_key(session, recorded.project_key)
        folder = store.versions_folder(app_id, project.project_id, recorded.session_id)
    target = _IndexTarget(app_id, recorded.key, compression_key=compression_key)
    return _index(database, target, blocks_in(folder / f"{version.file}.jsonl"))


def _index(database: Transactions, target: _IndexTarget, blocks: Iterable[Block]) -> int:
    try:
        found = passages_of(blocks)
    except (OSError, Invalid) as error:
        # It is not tried again until the session changes.
        why = type(error).__name__
        get_logger().error("session_not_indexed", app_id=target.app_id, session_key=target.session_key, error=why)
        found = []
    rows = [(one, numbers_of(target.app_id, words_of(one.text)[:_MOST_WORDS])) for one in found]
    # Some in each transaction, so that other writers wait for no whole session; once at least, as what was found before
    # has to go even where nothing is found now.
    for at in range(0, max(1, len(rows)), _AT_ONCE):
        with database.write() as session:
            # Looked at anew each time: the app is locked for one transaction, and the session may change between two.
            standing = _standing(session, target)
            if standing is None:
                return 0
            if at == 0:
                of_version = SessionPassage.compression_key.is_not_distinct_from(target.compression_key)
                mine = (SessionPassage.session_key == target.session_key, of_version)
                session.execute(delete(SessionPassage).where(*mine))
            _add(session, target, rows[at : at + _AT_ONCE])
            # Only with the last of them: a pass that was cut off is made anew.
            if at + _AT_ONCE >= len(rows):
                if isinstance(standing, SessionVersion):
                    standing.indexed = True
                else:
                    standing.indexed_bytes = target.size_bytes
    return len(rows)


def _standing(session: Session, target: _IndexTarget) -> RecordedSession | SessionVersion | None:
    """Return the row that says what can be found; None where what was read is no longer what there is."""
    try:
        lock_app(session, target.app_id)
    except NotFound:
        return None
    if target.compression_key is not None:
        return session.get(SessionVersion, target.compression_key)
    recorded = session.get(RecordedSession, target.session_key)
    return recorded if recorded is not None and recorded.size_bytes == target.size_bytes else None


def _add(session: Session, target: _IndexTarget, rows: Sequence[tuple[SessionPassage, Sequence[int]]]) -> None:
    for passage, _ in rows:
        passage.session_key, passage.compression_key = target.session_key, target.compression_key
        session.add(passage)
    session.flush()
    words = [{"word": word, "passage_key": passage.key} for passage, numbers in rows for word in dict.fromkeys(numbers)]
    if words:
        session.execute(insert(SessionWord), words)
