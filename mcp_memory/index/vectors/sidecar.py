"""Writes the vectors of one generation to a file that is mapped into memory and scanned.

The file is a cache that is only appended to. If its header, length or checksum is wrong, it is discarded and made anew
from the database.

Layout: header (little-endian, 128 bytes), then records of chunk id (int64) and vector (int8 × dimension). Bytes after
the last counted record were left by an interrupted append. Computing the checksum also brings the file into the page
cache.
"""

import struct
import zlib
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mcp_memory.index.vectors.vector_block import VectorBlock

_MAGIC = b"mmemvec1"
_FIELDS = struct.Struct("<8s32sqqqqI")
_SEAL = struct.Struct("<I")
_HEADER_BYTES = 128
_CHUNK_BYTES = 1 << 22


@dataclass(frozen=True)
class SidecarHeader:
    """`uid` and `generation` identify the owner of the vectors, `slot` the last vector; `checksum` covers the
    records."""

    uid: str
    generation: int
    dimension: int
    count: int = 0
    slot: int = 0
    checksum: int = 0


@dataclass(frozen=True)
class MappedVectors(VectorBlock):
    """A block whose vectors lie in the mapped file."""

    header: SidecarHeader


def load(path: Path, uid: str, generation: int, dimension: int) -> MappedVectors | None:
    """Return the content of the file, or None if it does not exist or cannot be trusted."""
    try:
        header = _read(path)
        if header is None or (header.uid, header.generation, header.dimension) != (uid, generation, dimension):
            return None
        return _map(path, header)
    except (OSError, ValueError):
        return None


def slot_of(path: Path, uid: str, generation: int) -> int | None:
    """Return the last slot in the file; None if it is not this database's. Reads only the header."""
    try:
        header = _read(path)
    except OSError:
        return None
    return header.slot if header is not None and (header.uid, header.generation) == (uid, generation) else None


def append(
    path: Path, header: SidecarHeader, ids: NDArray[np.int64], vectors: NDArray[np.int8], slot: int
) -> MappedVectors | None:
    """Append records to a file whose header is `header` (count 0: start over). Return None if another process changed
    the file.

    The header is written last, so that an interrupted append leaves the file as it was. Raises OSError."""
    records = np.empty(len(ids), dtype=_record(header.dimension))
    records["id"], records["vector"] = ids, vectors
    data = records.tobytes()
    after = replace(header, count=header.count + len(ids), slot=slot, checksum=zlib.crc32(data, header.checksum))
    if header.count == 0:
        _write_new(path, after, data)
    else:
        if _read(path) != header:
            return None
        with path.open("r+b") as file:
            file.seek(_HEADER_BYTES + header.count * records.dtype.itemsize)
            file.write(data)
            file.truncate()
            file.flush()
            file.seek(0)
            file.write(_sealed(after))
    return _map(path, after, verify=False)


def _write_new(path: Path, header: SidecarHeader, data: bytes) -> None:
    """Replace the file by renaming, so that a map of the old one stays valid."""
    fresh = path.with_name(f"{path.name}.new")
    fresh.unlink(missing_ok=True)
    with fresh.open("xb") as file:
        file.write(_sealed(header))
        file.write(data)
    fresh.chmod(0o600)
    fresh.replace(path)


def _read(path: Path) -> SidecarHeader | None:
    with path.open("rb") as file:
        raw = file.read(_HEADER_BYTES)
    if len(raw) < _HEADER_BYTES:
        return None
    (seal,) = _SEAL.unpack_from(raw, _FIELDS.size)
    magic, uid, generation, dimension, count, slot, checksum = _FIELDS.unpack_from(raw)
    if magic != _MAGIC or seal != zlib.crc32(raw[: _FIELDS.size]) or count <= 0 or dimension <= 0:
        return None
    return SidecarHeader(uid.decode("ascii", "replace"), generation, dimension, count, slot, checksum)


def _map(path: Path, header: SidecarHeader, *, verify: bool = True) -> MappedVectors | None:
    record = _record(header.dimension)
    if path.stat().st_size < _HEADER_BYTES + header.count * record.itemsize:
        return None
    if verify and _checksum(path, header.count * record.itemsize) != header.checksum:
        return None
    records = np.memmap(path, dtype=record, mode="r", offset=_HEADER_BYTES, shape=(header.count,))
    return MappedVectors(np.ascontiguousarray(records["id"]), np.asarray(records["vector"]), header)


def _checksum(path: Path, length: int) -> int:
    checksum = 0
    with path.open("rb") as file:
        file.seek(_HEADER_BYTES)
        while length > 0 and (block := file.read(min(_CHUNK_BYTES, length))):
            checksum = zlib.crc32(block, checksum)
            length -= len(block)
    return checksum


def _sealed(header: SidecarHeader) -> bytes:
    uid = header.uid.encode("ascii")
    fields = (_MAGIC, uid, header.generation, header.dimension, header.count, header.slot, header.checksum)
    raw = _FIELDS.pack(*fields)
    return (raw + _SEAL.pack(zlib.crc32(raw))).ljust(_HEADER_BYTES, b"\0")


def _record(dimension: int) -> np.dtype[np.void]:
    return np.dtype([("id", "<i8"), ("vector", "i1", (dimension,))])
