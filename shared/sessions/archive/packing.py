"""Packs a project into one file, part by part, with a checksum of each.

The rows are read in one short transaction. A file that was replaced while it was packed does not have the digest its
row gave, and the whole is refused rather than handed out wrong.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from shared.db.transactions import Transactions
from shared.errors import Conflict
from shared.sessions.archive.document import (
    CHECKSUMS,
    DOCUMENT,
    ENDINGS,
    ProjectArchive,
    as_document,
    composition_member,
    original_member,
    version_member,
)
from shared.sessions.archive.gathering import gather
from shared.sessions.compositions.record import FILES
from shared.sessions.queries import get_project
from shared.sessions.registry.intake import explained
from shared.sessions.store import Store, as_json, chunks_of

_NO_TIME = (1980, 1, 1, 0, 0, 0)
"""What the format needs; the same project packed twice is the same file."""


@dataclass(frozen=True)
class _Member:
    """A file of the store on its way into an archive."""

    name: str
    path: Path
    sha256: str
    size_bytes: int | None = None
    """How much of it counts; all of it unless said."""


@contextmanager
def packed(database: Transactions, store: Store, app_id: str, project_id: str) -> Iterator[Path]:
    """Pack a project into a file of the cache, which goes with the block. Raises: NotFound, Conflict, Transient."""
    with database.read() as session:
        archive = gather(session, get_project(session, app_id, project_id))
    path = store.unfinished(app_id)
    store.make_folder(path.parent)
    try:
        with explained(path), ZipFile(path, "x", ZIP_DEFLATED) as file:
            path.chmod(0o600)
            _pack(file, archive, _members(store, app_id, archive))
        yield path
    finally:
        path.unlink(missing_ok=True)


def _pack(file: ZipFile, archive: ProjectArchive, members: Iterator[_Member]) -> None:
    text = as_json(as_document(archive)).encode()
    _write(file, DOCUMENT, text)
    checksums = {DOCUMENT: sha256(text).hexdigest()}
    for member in members:
        checksums[member.name] = _copy(file, member)
    _write(file, CHECKSUMS, json.dumps(checksums, indent=1, sort_keys=True).encode())


def _write(file: ZipFile, name: str, text: bytes) -> None:
    file.writestr(_info(name), text)


def _copy(file: ZipFile, member: _Member) -> str:
    digest = sha256()
    try:
        with member.path.open("rb") as source, file.open(_info(member.name), "w", force_zip64=True) as target:
            size = member.path.stat().st_size if member.size_bytes is None else member.size_bytes
            for chunk in chunks_of(source, size):
                digest.update(chunk)
                target.write(chunk)
    except FileNotFoundError:
        raise _changed(member) from None
    if digest.hexdigest() != member.sha256:
        raise _changed(member)
    return member.sha256


def _changed(member: _Member) -> Conflict:
    return Conflict(
        f"{member.name} is not what it was when it was written: it is being replaced at this moment, or the store was "
        "changed by hand. Try again; if it stays so, make it anew.",
        code="store_changed",
        details={"member": member.name},
    )


def _info(name: str) -> ZipInfo:
    info = ZipInfo(name, _NO_TIME)
    info.compress_type = ZIP_DEFLATED
    info.external_attr = 0o600 << 16
    return info


def _members(store: Store, app_id: str, archive: ProjectArchive) -> Iterator[_Member]:
    project_id = archive.project.project_id
    for one in archive.sessions:
        path = store.original(app_id, project_id, one.session_id)
        yield _Member(original_member(one.session_id), path, one.sha256, one.size_bytes)
        folder = store.versions_folder(app_id, project_id, one.session_id)
        for version in one.versions:
            for ending in (one for one in ENDINGS if one in version.digests):
                name = version_member(one.session_id, version.file, ending)
                yield _Member(name, folder / f"{version.file}.{ending}", version.digests[ending])
    for composition in archive.compositions:
        folder = store.composition_folder(app_id, project_id, composition.name)
        for ending in (one for one in ENDINGS if one in composition.digests):
            name = composition_member(composition.name, ending)
            yield _Member(name, folder / FILES[ending], composition.digests[ending])
