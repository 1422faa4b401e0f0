"""Whether a file is a whole archive of a project, found out before anything of it is kept.

Sizes are looked at before a byte is unpacked; then every part must be expected, of the size and with the checksum it
should have, and every transcript readable. What is unpacked lies in the cache until it is given its place.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from zipfile import BadZipFile, ZipFile, ZipInfo

import orjson
from pydantic import ValidationError

from shared.errors import Invalid, Limit
from shared.sessions.archive.document import CHECKSUMS, DOCUMENT, ArchivedSession, ProjectArchive, original_member
from shared.sessions.registry.intake import Bounds, Intake, explained
from shared.sessions.store import Store
from shared.sessions.transcripts.foreign import refuse_foreign
from shared.sessions.transcripts.lines import complete_bytes
from shared.sessions.transcripts.overview import overview_of

MOST_MEMBERS = 50_000
_MOST_DOCUMENT_BYTES = 64 * 2**20
_MOST_READ_BYTES = 32 * 2**20
"""At once; the list of all parts is, and takes a multiple of it in memory."""
_ENCRYPTED = 0x1
BAD_ARCHIVE = "bad_archive"
_BROKEN = (BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
"""What the format's reader raises for a file that is damaged, encrypted or compressed in a way it does not know."""


@dataclass(frozen=True)
class Checked:
    """An archive that is whole, unpacked in the cache."""

    archive: ProjectArchive
    files: Mapping[str, Path]
    """Where each part lies, by its name in the archive."""
    intakes: Mapping[str, Intake]
    """What was read in each session's copy, by the session's id."""


@contextmanager
def checked(store: Store, app_id: str, path: Path, bounds: Bounds, most_bytes: int) -> Iterator[Checked]:
    """Check an archive and unpack it into the cache; what is left there at the end goes.

    Raises: Invalid, naming the part and what is wrong with it; Limit; Transient for a full disk.
    """
    files: dict[str, Path] = {}
    try:
        with explained(path), _opened(path) as file:
            infos = _infos(file, most_bytes)
            archive = _document(file, infos)
            _unpack(store, app_id, file, infos, _expected(file, infos, archive), files)
            intakes = {one.session_id: _intake(one, files, bounds) for one in archive.sessions}
            _agree(archive, intakes)
        yield Checked(archive, files, intakes)
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


def _infos(file: ZipFile, most_bytes: int) -> dict[str, ZipInfo]:
    """Return the parts by their names. Raises: Invalid, Limit."""
    listed = file.infolist()
    if len(listed) > MOST_MEMBERS or sum(info.file_size for info in listed) > most_bytes:
        raise Limit(
            f"The archive unpacks to more than {most_bytes} bytes or {MOST_MEMBERS} files; raise "
            "AFTERTHOUGHT_SESSIONS_CACHE_MB to take it in.",
            code="too_large",
            details={"limit": most_bytes},
        )
    infos = {info.filename: info for info in listed}
    if len(infos) < len(listed):
        raise _bad("the file", "a name is there twice")
    for info in listed:
        if info.flag_bits & _ENCRYPTED:
            raise _bad(info.filename, "it is encrypted")
    return infos


def _document(file: ZipFile, infos: Mapping[str, ZipInfo]) -> ProjectArchive:
    try:
        return ProjectArchive.model_validate(orjson.loads(_small(file, infos, DOCUMENT)))
    except orjson.JSONDecodeError:
        raise _bad(DOCUMENT, "it is not JSON") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise _bad(DOCUMENT, f"{where or 'it'}: {first['msg'].removeprefix('Value error, ')}") from None


def _expected(file: ZipFile, infos: Mapping[str, ZipInfo], archive: ProjectArchive) -> dict[str, str]:
    """Return what is to be unpacked, with the SHA-256 of each. Raises: Invalid."""
    expected = dict(archive.members())
    for name in (*expected, CHECKSUMS):
        if name not in infos:
            raise _bad(name, "it is missing")
    for name in infos.keys() - expected.keys() - {DOCUMENT, CHECKSUMS}:
        raise _bad(name, "nothing in the archive speaks of it")
    try:
        checksums = orjson.loads(_small(file, infos, CHECKSUMS))
    except orjson.JSONDecodeError:
        raise _bad(CHECKSUMS, "it is not JSON") from None
    own = expected | {DOCUMENT: sha256(_small(file, infos, DOCUMENT)).hexdigest()}
    if checksums != own:
        wrong = next((name for name, digest in own.items() if _of(checksums, name) != digest), CHECKSUMS)
        raise _bad(wrong, "its checksum is not the one that stands in checksums.json")
    return expected


def _of(checksums: object, name: str) -> object:
    return checksums.get(name) if isinstance(checksums, dict) else None


def _small(file: ZipFile, infos: Mapping[str, ZipInfo], name: str) -> bytes:
    if name not in infos:
        raise _bad(name, "it is missing")
    if infos[name].file_size > _MOST_DOCUMENT_BYTES:
        raise _bad(name, f"it is larger than {_MOST_DOCUMENT_BYTES} bytes")
    return file.read(infos[name])


def _unpack(
    store: Store,
    app_id: str,
    file: ZipFile,
    infos: Mapping[str, ZipInfo],
    expected: Mapping[str, str],
    files: dict[str, Path],
) -> None:
    """Unpack what is expected into the cache, noting each file before it is written."""
    store.make_folder(store.cache(app_id))
    for name, digest in expected.items():
        files[name] = store.unfinished(app_id)
        try:
            with file.open(infos[name]) as member:
                found = store.copy(member, files[name], infos[name].file_size + 1)
        except _BROKEN as error:
            raise _bad(name, f"it is damaged ({type(error).__name__})") from None
        if found != digest:
            raise _bad(name, "its content does not have the checksum it should have")


def _intake(one: ArchivedSession, files: Mapping[str, Path], bounds: Bounds) -> Intake:
    """Read a session's copy, which was unpacked with the digest that stands in the archive."""
    name = original_member(one.session_id)
    path = files[name]
    size = path.stat().st_size
    bounds.check(size, name)
    refuse_foreign(path, name)
    if complete_bytes(path) != size:
        raise _bad(name, "its last line is cut off")
    return Intake(path, size, one.sha256, overview_of(path, one.session_id), None)


def _agree(archive: ProjectArchive, intakes: Mapping[str, Intake]) -> None:
    """Raises: Invalid, where the archive says of a session what its copy does not bear out."""
    for one in archive.sessions:
        intake = intakes[one.session_id]
        if one.size_bytes != intake.size_bytes:
            raise _bad(original_member(one.session_id), "it is not as long as the archive says")
        marked = {placed.marker_id for placed in intake.overview.markers}
        named = {weight.marker_id for weight in one.weights}
        named.update(marker_id for version in one.versions for marker_id in version.fates)
        if not named <= marked:
            raise _bad(original_member(one.session_id), "it lacks marked parts that the archive speaks of")


def _bad(name: str, why: str) -> Invalid:
    return Invalid(
        f"This is not a whole archive of a project: {name[:200]}: {why}. Export it once more.",
        code=BAD_ARCHIVE,
        details={"member": name[:200]},
    )
