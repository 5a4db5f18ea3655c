"""Detects which program a JSON file, a database, or a data export is of, and reads its memories.

A hostile one takes hours or gigabytes: `limited_reader` runs this module in a limited child process.
"""

from collections.abc import Iterator, Set
from dataclasses import astuple
from itertools import islice
from pathlib import Path
from typing import Any

from mcp_memory.runtime.limited_child import serve
from mcp_memory.text.parsed_values import table_at
from mcp_memory.transfer.item import SourceKind
from mcp_memory.transfer.memories import chatgpt, claude_ai, claude_mem, letta, mem0
from mcp_memory.transfer.memories.export_files import ExportFiles
from mcp_memory.transfer.memories.memory_record import as_json

READERS = {
    SourceKind.CHATGPT: chatgpt.read_memories,
    SourceKind.CLAUDE_AI: claude_ai.read_memories,
    SourceKind.CLAUDE_MEM: claude_mem.read_memories,
    SourceKind.LETTA: letta.read_memories,
    SourceKind.MEM0: mem0.read_memories,
}
_MARKS: tuple[tuple[SourceKind, Set[str]], ...] = (
    (SourceKind.CHATGPT, {"mapping"}),
    (SourceKind.CLAUDE_AI, {"chat_messages"}),
    (SourceKind.CLAUDE_AI, {"conversations_memory"}),
    (SourceKind.CLAUDE_MEM, {"observations", "session_summaries"}),
    (SourceKind.LETTA, {"agents", "blocks"}),
    (SourceKind.LETTA, {"core_memory"}),
    *((SourceKind.MEM0, marks) for marks in ({"history", "messages"}, {"memory", "id"}, {"results"}, {"memories"})),
)
"""Keys of a value in JSON, or tables in a database."""
_LOOKED_AT = 1000
"""Values of JSON; the first conversation of an export is enough."""


def detect_memories(export: ExportFiles) -> SourceKind | None:
    """Raises StorageFailed."""
    tables = export.tables()
    names = [tables] if tables else (table_at(value).keys() for value in islice(export.values(), _LOOKED_AT))
    return next((kind for found in names for kind, marks in _MARKS if marks <= found), None)


def _answer(request: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Yields the records, or the kind if the request names none, and then what the export says of itself. Raises
    StorageFailed, and InvalidInput for a damaged zip."""
    export = ExportFiles(Path(request["root"]), Path(request["scratch"]))
    if not request["kind"]:
        yield {"kind": detect_memories(export)}
        return
    for record in READERS[SourceKind(request["kind"])](export):
        if record.text.strip():
            yield {"record": as_json(record)}
    yield {"account": export.account, "left_out": [astuple(item) for item in export.left_out]}


if __name__ == "__main__":
    serve(_answer)
