"""Reads and writes archives. An archive is a plain tar that unpacks to a vault. Its last member `SHA256SUMS` (as
`sha256sum -c` reads it) names every file. The same vault gives the same bytes: sorted, and without owners and times.

Reading trusts nothing in it. Links, folders, devices, sparse files, names that lead out and duplicate names are
refused. Every byte is compared with its sum before the first one is used.
"""

import hashlib
import io
import os
import re
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from mcp_memory.errors import PathRefused, Refused
from mcp_memory.runtime.private_files import failed
from mcp_memory.storage.path_rules import is_note, validate_existing

SUMS = "SHA256SUMS"
MARKER, PROJECTS = ".mcp-memory/vault.toml", ".mcp-memory/projects.toml"

MOST_FILES = 1_000_000
MOST_FILE_BYTES = 256 << 20
"""Larger notes are skipped in an archive."""

_MOST_SUMS_BYTES = 512 << 20
_PIECE_BYTES = 1 << 20
_MOST_READ_BYTES = 2 << 20
"""The largest single read, so that no header can request more memory."""

_SUM = re.compile(r"([0-9a-f]{64})  (.+)")
_HINT = "export the vault again; nothing was read from this file"


class ArchivedFile(NamedTuple):
    """A note of a vault, as its bytes."""

    path: str
    data: bytes


def write(out: BinaryIO, marker: bytes, files: Iterable[ArchivedFile], projects: bytes | None = None) -> int:
    """Write the files in order of their paths, and return their number. `projects`: the vault's list of them. Raises
    OSError."""
    sums: list[str] = []
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT, encoding="utf-8") as tar:
        first = [ArchivedFile(MARKER, marker), *([ArchivedFile(PROJECTS, projects)] if projects else [])]
        for file in chain(first, files):
            _add(tar, file.path, file.data)
            sums.append(f"{hashlib.sha256(file.data).hexdigest()}  {file.path}\n")
        _add(tar, SUMS, "".join(sums).encode())
    return len(sums) - len(first)


def is_archive(place: Path) -> bool:
    """Return whether the file starts like a tar. Raises OSError."""
    with place.open("rb") as file:
        return file.read(512)[257:262] == b"ustar"


class Archive(NamedTuple):
    """A checked archive. `sums` are the sha256 of its notes by path; `marker` and `projects` are the vault's."""

    place: Path
    marker: bytes
    sums: Mapping[str, str]
    projects: bytes | None = None

    def files(self) -> Iterator[ArchivedFile]:
        """Yield the notes in order, each compared with its sum again. Raises Refused, StorageFailed."""
        for path, data in _members(self.place):
            if path in self.sums:
                if hashlib.sha256(data).hexdigest() != self.sums[path]:
                    raise _refused(self.place, f"{path} changed while it was read")
                yield ArchivedFile(path, data)


def checked(place: Path) -> Archive:
    """Check a whole archive. Raises Refused for anything that `write` wouldn't have made, StorageFailed."""
    found: dict[str, str] = {}
    marker = sums = projects = None
    for path, data in _members(place):
        if path in found or sums is not None:
            raise _refused(place, f"{path} occurs twice, or after {SUMS}")
        if path == SUMS:
            sums = data
            continue
        found[path] = hashlib.sha256(data).hexdigest()
        if path == MARKER:
            marker = data
        elif path == PROJECTS:
            projects = data
    if sums is None or marker is None:
        raise _refused(place, f"it is cut off, or not an export of ours: {SUMS if sums is None else MARKER} is missing")
    named = dict(_sums(place, sums))
    if named.keys() != found.keys():
        other = min(named.keys() ^ found.keys())
        raise _refused(place, f"{other} is missing in the archive or in {SUMS}")
    for path, digest in found.items():
        if named[path] != digest:
            raise _refused(place, f"{path} is damaged: its sha256 differs from {SUMS}")
    del found[MARKER]
    found.pop(PROJECTS, None)
    return Archive(place, marker, found, projects)


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(data), 0o600
    tar.addfile(member, io.BytesIO(data))


def _members(place: Path) -> Iterator[tuple[str, bytes]]:
    try:
        with _SparingFile(place) as raw:
            tar = tarfile.open(fileobj=raw, mode="r:")  # noqa: SIM115 -- it owns nothing
            last, number = -1, 0
            while member := tar.next():
                number += 1
                if number > MOST_FILES + 2:
                    raise _refused(place, f"it holds more than {MOST_FILES:,} files")
                if member.offset <= last:
                    raise _refused(place, "its headers lead backwards")
                last = member.offset
                yield member.name, _content(place, tar, member)
                cast("Any", tar).members.clear()  # otherwise it remembers every member
    except (tarfile.TarError, EOFError, UnicodeError, ValueError, RecursionError) as error:
        raise _refused(place, f"it is not a whole tar ({type(error).__name__})") from error
    except OSError as error:
        raise failed(error, str(place)) from error


def _content(place: Path, tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    _check_name(place, member.name)
    if not member.isreg() or member.issparse() or member.type not in {tarfile.REGTYPE, tarfile.AREGTYPE}:
        raise _refused(place, f"{member.name!r} is not a plain file")
    most = _MOST_SUMS_BYTES if member.name == SUMS else MOST_FILE_BYTES
    if not 0 <= member.size <= min(most, os.stat(place).st_size):  # noqa: PTH116 -- the same file, by its name
        raise _refused(place, f"{member.name!r} claims {member.size:,} bytes")
    opened = tar.extractfile(member)
    assert opened is not None, "it is a regular file"
    data = b"".join(iter(lambda: opened.read(_PIECE_BYTES), b""))
    if len(data) != member.size:
        raise _refused(place, f"{member.name!r} is cut off")
    return data


def _check_name(place: Path, name: str) -> None:
    if name in {SUMS, MARKER, PROJECTS}:
        return
    try:
        validate_existing(name)
    except PathRefused as error:
        raise _refused(place, error.message) from error
    if not is_note(name):
        raise _refused(place, f"{name!r} is not a note")


def _sums(place: Path, data: bytes) -> Iterator[tuple[str, str]]:
    for line in data.decode("utf-8").removesuffix("\n").split("\n"):
        match = _SUM.fullmatch(line)
        if match is None:
            raise _refused(place, f"{SUMS} has a line that is not a sum")
        yield match[2], match[1]


def _refused(place: Path, why: str) -> Refused:
    return Refused(f"{place} was not imported: {why}", hint=_HINT)


class _SparingFile(io.FileIO):
    """A file that refuses large reads."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or not 0 <= size <= _MOST_READ_BYTES:
            raise tarfile.ReadError(f"{size} bytes at once")
        return super().read(size) or b""
