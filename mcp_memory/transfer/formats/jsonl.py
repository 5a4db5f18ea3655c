"""Reads and writes JSONL exports. Each line is an object with a note's metadata, its etag and its bytes, as `text`, or
as `base64` if they aren't UTF-8."""

import base64
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from mcp_memory.errors import InvalidInput, McpMemoryError, NotFound
from mcp_memory.models import NotePath, NoteState, Status, etag_of
from mcp_memory.runtime.private_files import naming_the_cause
from mcp_memory.storage.base import StorageBackend
from mcp_memory.storage.path_rules import is_note, validate_existing
from mcp_memory.text.markdown.frontmatter import decode, parse
from mcp_memory.text.parsed_values import value_at
from mcp_memory.transfer.item import SkippedItem
from mcp_memory.vault.succession.retirement import remove_entry

MOST_FILE_BYTES = 256 << 20
"""Larger notes are skipped in an export."""
_MOST_LINE_BYTES = 2 * MOST_FILE_BYTES


class ExportedFile(NamedTuple):
    """A note of a vault, as its bytes."""

    path: str
    data: bytes


def line(file: ExportedFile, facts: Mapping[str, Any]) -> bytes:
    """Return one object as a line of ASCII."""
    note: dict[str, Any] = {"path": file.path, "etag": "", **facts}
    note["etag"] = etag_of(file.data)  # of these bytes, which may have changed since the catalog
    try:
        note["text"] = file.data.decode("utf-8")
    except UnicodeDecodeError:
        note["base64"] = base64.b64encode(file.data).decode("ascii")
    return json.dumps(note).encode("ascii") + b"\n"


def exported(
    page_after: Callable[[str | None], Mapping[str, Any]],
    storage: StorageBackend,
    left_out: list[SkippedItem],
    *,
    forgotten: bool = False,
) -> Iterator[tuple[ExportedFile, Mapping[str, Any]]]:
    """Yield a vault's notes as they are on disk now, each with its facts; with `forgotten`, also forgotten notes and
    entries. `page_after`: returns a page of the catalog. Files that can't be read are added to `left_out`."""
    page = page_after(None)
    catalog = [*page["notes"]]
    while page["next"]:
        page = page_after(page["next"])
        catalog += page["notes"]
    for facts in catalog:
        path = NotePath(facts["path"])
        if not forgotten and facts["shelf"] == NoteState.DELETED:
            continue
        try:
            data = storage.read(path, limit_bytes=MOST_FILE_BYTES).data
        except McpMemoryError as error:
            left_out.append(SkippedItem(path, error.message))
            continue
        if not forgotten:
            if parse(decode(data).text or "").meta.get("status") == Status.DELETED:
                continue  # forgotten since the catalog was read
            for entry in facts["forgotten"]:
                with suppress(NotFound):  # it is gone already
                    data = remove_entry(path, data, entry)
        yield ExportedFile(path, data), facts


def is_ours(lines: Sequence[bytes]) -> bool:
    """Return whether the first line has our form."""
    return bool(lines) and lines[0].startswith(b'{"path": "') and b'"etag": "' in lines[0]


def files(place: Path, left_out: list[SkippedItem]) -> Iterator[ExportedFile]:
    """Yield the notes in order; add a line that isn't a whole note to `left_out`. Raises StorageFailed."""
    number = 0
    with naming_the_cause(str(place)), place.open("rb") as opened:
        while text := opened.readline(_MOST_LINE_BYTES):
            number += 1
            try:
                yield _file(text)
            except (ValueError, RecursionError, McpMemoryError) as error:
                why = str(error) if isinstance(error, McpMemoryError) else "it is not whole JSON"
                left_out.append(SkippedItem(f"line {number}", why))


def _file(text: bytes) -> ExportedFile:
    """Parse a line. Raises ValueError, RecursionError, InvalidInput, PathRefused."""
    note: object = json.loads(text)
    path, etag, plain, coded = (value_at(note, key) for key in ("path", "etag", "text", "base64"))
    if not isinstance(path, str) or not isinstance(plain if coded is None else coded, str):
        raise InvalidInput("it has no path or no text")
    if not is_note(validate_existing(path)):
        raise InvalidInput(f"{path} is not a note")
    data = str(plain).encode("utf-8", "surrogatepass") if coded is None else base64.b64decode(str(coded), validate=True)
    if etag_of(data) != etag:
        raise InvalidInput(f"{path} is damaged: its sha256 is not its etag")
    return ExportedFile(path, data)
