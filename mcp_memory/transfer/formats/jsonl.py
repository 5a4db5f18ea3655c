"""Reads and writes JSONL exports: one object per note, with all its metadata, its etag and its bytes, as `text`, or as
`base64` where they are not UTF-8."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from mcp_memory.errors import PathRefused
from mcp_memory.runtime.os_errors import failed
from mcp_memory.storage.path_rules import is_note, validate_existing
from mcp_memory.transfer.formats.archive import MOST_FILE_BYTES, ArchivedFile
from mcp_memory.transfer.item import SkippedItem

_MOST_LINE_BYTES = 2 * MOST_FILE_BYTES


def line(file: ArchivedFile, facts: Mapping[str, Any]) -> bytes:
    """One object on a line of its own, in ASCII."""
    said: dict[str, Any] = {"path": file.path, "etag": hashlib.sha256(file.data).hexdigest(), **facts}
    try:
        said["text"] = file.data.decode("utf-8")
    except UnicodeDecodeError:
        said["base64"] = base64.b64encode(file.data).decode("ascii")
    return json.dumps(said).encode("ascii") + b"\n"


def names(lines: Iterable[bytes]) -> bool:
    """Whether the first line is one of ours."""
    for first in lines:
        return first.startswith(b'{"path": "') and b'"etag": "' in first
    return False


def files(place: Path, left_out: list[SkippedItem]) -> Iterator[ArchivedFile]:
    """The notes in their order; a line that is not whole is added to `left_out`. Raises StorageFailed."""
    number = 0
    try:
        with place.open("rb") as opened:
            while text := opened.readline(_MOST_LINE_BYTES):
                number += 1
                try:
                    yield _file(text)
                except (ValueError, RecursionError, PathRefused) as error:
                    why = str(error) if isinstance(error, (_Odd, PathRefused)) else "it is no whole JSON"
                    left_out.append(SkippedItem(f"line {number}", why))
    except OSError as error:
        raise failed(error, str(place)) from error


class _Odd(ValueError):
    """JSON, but no note as we write them."""


def _file(text: bytes) -> ArchivedFile:
    said: Any = json.loads(text)
    if not isinstance(said, dict):
        raise _Odd("it is no object")
    note = cast("Mapping[str, Any]", said)
    path, etag, plain, coded = (note.get(key) for key in ("path", "etag", "text", "base64"))
    if not isinstance(path, str) or not isinstance(plain if coded is None else coded, str):
        raise _Odd("it has no path or no text")
    if not is_note(validate_existing(path)):
        raise _Odd(f"{path} is no note")
    data = str(plain).encode("utf-8", "surrogatepass") if coded is None else base64.b64decode(str(coded), validate=True)
    if hashlib.sha256(data).hexdigest() != etag:
        raise _Odd(f"{path} is damaged: its sha256 is not its etag")
    return ArchivedFile(path, data)
