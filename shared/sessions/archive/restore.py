"""Checks that a file is a whole archive of a project, and gives it its place: all of it, or nothing.

Sizes are looked at before a byte is unpacked; then every part must be expected, of the size and with the checksum it
should have, and every transcript readable. Files come first, then every row in one transaction. What is registered
already is never written over: the project must have a name of its own, and no session of it may be known to the app.
"""

import io
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TypeVar
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import orjson
from pydantic import ValidationError
from sqlalchemy import insert
from sqlalchemy.orm import Session

from shared.base.audit import Cause
from shared.base.errors import Conflict, Invalid, Limit
from shared.base.ids import new_id
from shared.base.setting_groups import SessionSettings
from shared.db.base import Transactions, row_of
from shared.sessions import models
from shared.sessions.archive import document
from shared.sessions.compose.compositions import composition_id
from shared.sessions.queries import AGEING, find_project, markers_of, registered_in
from shared.sessions.registry.intake import Intake, check_lines, check_size, explained
from shared.sessions.registry.projects import ALREADY_REGISTERED, SessionChangeKind, create_project, record_change
from shared.sessions.registry.registration import SessionPlace, insert_session, lock_place
from shared.sessions.retention.runs import change_rules
from shared.sessions.semantic.memories import normal_of
from shared.sessions.store import Store
from shared.sessions.transcripts.contents import refuse_foreign
from shared.sessions.transcripts.overview import overview_of
from shared.sessions.transcripts.records import complete_bytes
from shared.text.gate import refuse_secret
from shared.text.lines import read_json
from shared.text.sentences import SECRET_MARK, without_secrets

MOST_MEMBERS = 50_000
_MOST_DOCUMENT_BYTES = 64 * 2**20
_MOST_EXPANSION, _FREE_BYTES = 100, 32 * 2**20
"""An archive unpacks to so many times its size, beyond what any may: transcripts pack to a fifth or a twentieth."""
_MOST_READ_BYTES = 32 * 2**20
"""At once; the list of all parts is, and takes a multiple of it in memory."""
_ENCRYPTED = 0x1
BAD_ARCHIVE = "bad_archive"
_BROKEN = (BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
"""What the format's reader raises for a file that is damaged, encrypted or compressed in a way it does not know."""


@dataclass(frozen=True)
class CheckedArchive:
    """An archive that is whole, unpacked in the cache."""

    archive: document.ProjectArchive
    files: Mapping[str, Path]
    """Where each part lies, by its name in the archive."""
    intakes: Mapping[str, Intake]
    """What was read in each session's copy, by the session's id."""


@contextmanager
def check_archive(
    store: Store, app_id: str, path: Path, settings: SessionSettings, most_bytes: int
) -> Iterator[CheckedArchive]:
    """Check an archive and unpack it into the cache; what is left there at the end goes.

    Raises: Invalid, naming the part and what is wrong with it; Limit; Transient for a full disk.
    """
    files: dict[str, Path] = {}
    try:
        with explained(path), _opened(path) as file:
            infos = _infos(file, path.stat().st_size, most_bytes)
            archive = _document(file, infos)
            expected = _expected_members(file, infos, archive)
            store.make_folder(store.cache(app_id))
            for name, digest in expected.items():
                # Noted before it is written: what fails half way through is taken away again.
                files[name] = store.unfinished(app_id)
                try:
                    with file.open(infos[name]) as member:
                        found = store.copy(member, files[name], infos[name].file_size + 1)
                except _BROKEN as error:
                    raise _bad(name, f"it is damaged ({type(error).__name__})") from None
                if found != digest:
                    raise _bad(name, "its content does not have the checksum it should have")
            intakes = {one.session_id: _intake(one, files, settings) for one in archive.sessions}
            _agree(archive, intakes)
        yield CheckedArchive(archive, files, intakes)
    finally:
        for one in files.values():
            one.unlink(missing_ok=True)


class _Sparing(io.FileIO):
    """A file that is not read in one piece where that would fill the memory."""

    def read(self, size: int | None = -1, /) -> bytes:
        """Return some bytes. Raises: BadZipFile."""
        if size is not None and size > _MOST_READ_BYTES:
            raise BadZipFile("its list of parts is too long")
        return super().read(size)


@contextmanager
def _opened(path: Path) -> Iterator[ZipFile]:
    try:
        with _Sparing(path) as source, ZipFile(source) as file:
            yield file
    except _BROKEN as error:
        raise _bad("the file", f"it is no zip file, or a damaged one ({type(error).__name__})") from None


def _infos(file: ZipFile, packed_bytes: int, most_bytes: int) -> dict[str, ZipInfo]:
    """Return the parts by their names. Raises: Invalid, Limit."""
    listed = file.infolist()
    unpacked_bytes = sum(info.file_size for info in listed)
    if len(listed) > MOST_MEMBERS or unpacked_bytes > most_bytes:
        raise Limit(
            f"The archive unpacks to more than {most_bytes} bytes or {MOST_MEMBERS} files; raise "
            "AFTERTHOUGHT_SESSIONS_CACHE_MB to take it in.",
            code="too_large",
            details={"limit": most_bytes},
        )
    expanded_bytes = _FREE_BYTES + _MOST_EXPANSION * packed_bytes
    if unpacked_bytes > expanded_bytes:
        raise Limit(
            f"The archive unpacks to more than {_MOST_EXPANSION} times its size, as no export does; import its "
            "transcripts one by one.",
            code="too_large",
            details={"limit": expanded_bytes},
        )
    infos = {info.filename: info for info in listed}
    if len(infos) < len(listed):
        raise _bad("the file", "a name is there twice")
    for info in listed:
        if info.flag_bits & _ENCRYPTED:
            raise _bad(info.filename, "it is encrypted")
        if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise _bad(info.filename, "it is packed as no export is; pack it with deflate")
    return infos


def _document(file: ZipFile, infos: Mapping[str, ZipInfo]) -> document.ProjectArchive:
    try:
        return document.ProjectArchive.model_validate(
            _parsed(document.DOCUMENT, _small(file, infos, document.DOCUMENT))
        )
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise _bad(document.DOCUMENT, f"{where or 'it'}: {first['msg'].removeprefix('Value error, ')}") from None


def _expected_members(file: ZipFile, infos: Mapping[str, ZipInfo], archive: document.ProjectArchive) -> dict[str, str]:
    """Return what is to be unpacked, with the SHA-256 of each. Raises: Invalid."""
    expected = dict(archive.members())
    for name in (*expected, document.CHECKSUMS):
        if name not in infos:
            raise _bad(name, "it is missing")
    for name in infos.keys() - expected.keys() - {document.DOCUMENT, document.CHECKSUMS}:
        raise _bad(name, "nothing in the archive speaks of it")
    checksums = _parsed(document.CHECKSUMS, _small(file, infos, document.CHECKSUMS))
    own = expected | {document.DOCUMENT: sha256(_small(file, infos, document.DOCUMENT)).hexdigest()}
    if checksums != own:
        found = checksums if isinstance(checksums, dict) else {}
        wrong = next((name for name, digest in own.items() if found.get(name) != digest), document.CHECKSUMS)
        raise _bad(wrong, "its checksum is not the one that stands in checksums.json")
    return expected


def _parsed(name: str, text: bytes) -> object:
    try:
        return read_json(text)
    except orjson.JSONDecodeError:
        raise _bad(name, "it is not JSON") from None


def _small(file: ZipFile, infos: Mapping[str, ZipInfo], name: str) -> bytes:
    if name not in infos:
        raise _bad(name, "it is missing")
    if infos[name].file_size > _MOST_DOCUMENT_BYTES:
        raise _bad(name, f"it is larger than {_MOST_DOCUMENT_BYTES} bytes")
    return file.read(infos[name])


def _intake(one: document.ArchivedSession, files: Mapping[str, Path], settings: SessionSettings) -> Intake:
    """Read a session's copy, which was unpacked with the digest that stands in the archive."""
    name = document.original_member(one.session_id)
    path = files[name]
    size = path.stat().st_size
    check_size(size, name, settings)
    check_lines(path, name, settings)
    refuse_foreign(path, name)
    if complete_bytes(path) != size:
        raise _bad(name, "its last line is cut off")
    return Intake(path, size, one.sha256, overview_of(path, one.session_id), None)


def _agree(archive: document.ProjectArchive, intakes: Mapping[str, Intake]) -> None:
    """Raises: Invalid, where the archive says of a session what its copy does not bear out."""
    for one in archive.sessions:
        intake = intakes[one.session_id]
        if one.size_bytes != intake.size_bytes:
            raise _bad(document.original_member(one.session_id), "it is not as long as the archive says")
        marked = {marker.marker_id for marker in intake.overview.markers}
        named = {weight.marker_id for weight in one.weights}
        named.update(marker_id for version in one.versions for marker_id in version.fates)
        if not named <= marked:
            raise _bad(document.original_member(one.session_id), "it lacks marked parts that the archive speaks of")


def _bad(name: str, why: str) -> Invalid:
    return Invalid(
        f"This is not a whole archive of a project: {name[:200]}: {why}. Export it once more.",
        code=BAD_ARCHIVE,
        details={"member": name[:200]},
    )


_Answer = TypeVar("_Answer")
ProjectWork = Callable[[Session], models.Project]


def restore_archive(
    database: Transactions,
    store: Store,
    destination: SessionPlace,
    checked: CheckedArchive,
    cause: Cause,
    carry: Callable[[ProjectWork], _Answer],
    keeps_origins: bool = False,
) -> _Answer:
    """Give an archive its place, which names no session. ``carry`` writes its rows in a transaction.

    ``keeps_origins``: sessions may be synced from the files they say they come from. Only where an admin says so, as
    anybody can write the path of any file into an archive. Raises: Conflict, Purged, Transient.
    """
    app_id, project_id = destination.app_id, destination.project_id
    with store.app_lock(app_id):
        with database.read() as session:
            _refuse_known(session, destination, checked.archive)
        committed = []
        for name, _ in checked.archive.members():
            committed.append(store.project_file(app_id, project_id, name))
            store.commit(checked.files[name], committed[-1])
        try:
            return carry(lambda session: _write_rows(session, destination, checked, cause, keeps_origins))
        finally:
            with database.read() as session:
                was_written = find_project(session, app_id, project_id) is not None
            for path in () if was_written else committed:
                store.remove(path)


def _refuse_known(session: Session, to: SessionPlace, archive: document.ProjectArchive) -> None:
    if find_project(session, to.app_id, to.project_id) is not None:
        raise Conflict(
            f"App {to.app_id} has a project {to.project_id} already; import under another name: ?projectId=NAME.",
            code=ALREADY_REGISTERED,
            details={"projectId": to.project_id},
        )
    known = sorted({one.session_id for one in archive.sessions} & registered_in(session, to.app_id).keys())
    if known:
        raise Conflict(
            f"App {to.app_id} has registered {len(known)} of the archive's sessions already, {known[0]} among them; "
            "unregister them first. Nothing was taken in.",
            code=ALREADY_REGISTERED,
            details={"sessions": known[:100]},
        )


def _write_rows(
    session: Session, to: SessionPlace, checked: CheckedArchive, cause: Cause, keeps_origins: bool
) -> models.Project:
    archive = checked.archive
    lock_place(session, to)
    _refuse_known(session, to, archive)
    kept, settings = archive.project, archive.project.settings
    project = create_project(
        session, to.app_id, kept.original_path, cause, display_name=kept.display_name, project_id=to.project_id
    )
    rules = {"retention": settings.retention, "auto_decay": settings.auto_decay}
    project.settings = settings.model_dump(
        mode="json", by_alias=True, exclude=set(rules), exclude_unset=True, exclude_none=True
    )
    change_rules(session, project, cause, rules)
    sessions: dict[str, models.RecordedSession] = {}
    versions: dict[tuple[str, int], models.SessionVersion] = {}
    for one in archive.sessions:
        intake = checked.intakes[one.session_id]
        if keeps_origins:
            intake = replace(intake, original_file=one.original_file)
        recorded = insert_session(session, replace(to, session_id=one.session_id), intake, cause)
        recorded.registered_at, recorded.next_version = one.registered_at, one.next_version
        recorded.last_accessed = min(one.last_accessed or one.registered_at, cause.at)
        markers = {marker.marker_id: marker for marker in markers_of(session, recorded.key)}
        for weight in one.weights:
            marker = markers[weight.marker_id]
            marker.override_weight, marker.overridden_by = weight.weight, weight.overridden_by
            marker.overridden_at = weight.overridden_at
        sessions[one.session_id] = recorded
        for version in one.versions:
            versions[one.session_id, version.number] = _insert_version(session, recorded, version, markers)
    for composition in archive.compositions:
        _insert_composition(session, project, composition, sessions, versions)
    for memory in archive.semantic_memories:
        _insert_memory(session, project, memory, sessions, cause)
    # What was done where it came from; how it aged there decides nothing here.
    for change in (one for one in archive.changes if one.subject != AGEING):
        session.add(row_of(models.SessionChange, change, app_id=project.app_id, project_id=project.project_id))
    after = {"sessions": len(archive.sessions), "compositions": len(archive.compositions)}
    record_change(session, project, project.project_id, SessionChangeKind.IMPORTED, cause, after=after)
    session.flush()
    return project


def _insert_version(
    session: Session,
    recorded: models.RecordedSession,
    one: document.ArchivedVersion,
    markers: Mapping[str, models.KeepitMarker],
) -> models.SessionVersion:
    row = row_of(models.SessionVersion, one, session_key=recorded.key, state=models.BuildState.READY)
    session.add(row)
    session.flush()
    outcomes = [
        {"compression_key": row.key, "marker_key": markers[marker_id].key, "survived": survived}
        for marker_id, survived in one.fates.items()
    ]
    if outcomes:
        session.execute(insert(models.MarkerOutcome), outcomes)
    return row


def _insert_composition(
    session: Session,
    project: models.Project,
    one: document.ArchivedComposition,
    sessions: Mapping[str, models.RecordedSession],
    versions: Mapping[tuple[str, int], models.SessionVersion],
) -> None:
    row = row_of(
        models.Composition,
        one,
        composition_id=composition_id(
            project, one.name, one.request.model_dump(mode="json", by_alias=True, exclude_none=True)
        ),
        app_id=project.app_id,
        project_key=project.key,
        state=models.BuildState.READY,
    )
    session.add(row)
    session.flush()
    for position, part in enumerate(one.components):
        component = row_of(
            models.CompositionComponent,
            part,
            composition_key=row.key,
            position=position,
            session_key=sessions[part.session_id].key,
            compression_key=None if part.number is None else versions[part.session_id, part.number].key,
        )
        session.add(component)


def _insert_memory(
    session: Session,
    project: models.Project,
    one: document.ArchivedSemanticMemory,
    sessions: Mapping[str, models.RecordedSession],
    cause: Cause,
) -> None:
    refuse_secret(one.content, f"A {one.kind} of the archive")
    row = row_of(
        models.SemanticMemory,
        one,
        memory_id=new_id("sem", cause.at),
        app_id=project.app_id,
        project_key=project.key,
        normal=normal_of(one.content),
    )
    session.add(row)
    session.flush()
    for source in (source for source in one.sources if source.session_id in sessions):
        key = sessions[source.session_id].key
        excerpt = without_secrets(source.excerpt) or SECRET_MARK
        session.add(row_of(models.SemanticSource, source, memory_key=row.key, session_key=key, excerpt=excerpt))
