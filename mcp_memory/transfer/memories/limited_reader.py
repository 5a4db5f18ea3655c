"""Reads other programs' exports in a child process, which no zip or database can keep busy or fill the memory of."""

import atexit
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mcp_memory.runtime.limited_child import ChildLimits, LimitedChild, LimitExceeded
from mcp_memory.transfer.item import ImportSource, SkippedItem, SourceKind, SourceReading
from mcp_memory.transfer.memories.memory_record import from_json

LIMITS = ChildLimits(memory_bytes=1 << 30, processor_s=120, answer_bytes=256 << 20)


def detect_memories(root: Path) -> SourceKind | None:
    """Raises StorageFailed, InvalidInput for a damaged zip, LimitExceeded."""
    [answer] = _ask(root)
    return SourceKind(answer["kind"]) if answer["kind"] else None


def read_memories(source: ImportSource) -> SourceReading:
    """Read each key's first memory. Raises StorageFailed, InvalidInput for damage, LimitExceeded."""
    *records, about = _ask(source.root, source.kind)
    items = [from_json(answer["record"]).as_item() for answer in records]
    known = {item.key: item for item in reversed(items)}
    if about["account"]:
        source = replace(source, name="", account=about["account"])
    return SourceReading(source, list(known.values())[::-1], [SkippedItem(*item) for item in about["left_out"]])


def _ask(root: Path, kind: str = "") -> Iterator[dict[str, Any]]:
    with TemporaryDirectory(prefix="mcp-memory-import-") as scratch:
        try:
            yield from _child(LIMITS).ask({"root": str(root), "kind": kind, "scratch": scratch})
        except LimitExceeded as error:
            why = f"{root} was not imported: {error.message}"
            raise LimitExceeded(why, hint="download the export again") from error


@cache
def _child(limits: ChildLimits) -> LimitedChild:
    """Serves until this process ends."""
    child = LimitedChild("mcp_memory.transfer.memories.memory_reader", limits)
    atexit.register(child.close)
    return child
