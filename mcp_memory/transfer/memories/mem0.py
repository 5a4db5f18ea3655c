"""Reads mem0: what `get_all` and the platform's export give as JSON, the library's `~/.mem0/history.db`, and
OpenMemory's `openmemory.db` or the zip that it exports. As written by mem0ai 2.2; OpenMemory as in its source."""

from collections.abc import Iterator
from typing import Any

from mcp_memory.text.parsed_values import list_at, table_at, text_at, value_at
from mcp_memory.transfer.memories.export_files import ExportFiles
from mcp_memory.transfer.memories.memory_record import MemoryRecord, moment


def read_memories(export: ExportFiles) -> Iterator[MemoryRecord]:
    """Leaves out what is deleted, archived or paused there. Raises StorageFailed."""
    for row in _rows(export):
        key, state = str(row.get("id")), row.get("state") or "active"
        texts = (text_at(row, name).strip() for name in ("memory", "content", "text", "data"))
        text, project, tags = next(filter(None, texts), ""), text_at(row, "metadata", "project"), row.get("categories")
        created, updated = moment(row.get("created_at")) or export.made, moment(row.get("updated_at"))
        if state == "active":
            yield MemoryRecord(key, text, created, "", "fact", project, updated, tags or ())
        else:
            export.leave(key, f"it is {state} there")


def _rows(export: ExportFiles) -> Iterator[dict[str, Any]]:
    tables = export.tables()
    if "history" in tables:  # the last words of each memory that was not deleted
        held = dict[str, dict[str, Any]]()
        for row in export.rows("history", "rowid"):
            first = held.pop(row["memory_id"], row)["created_at"]
            if row["event"] != "DELETE" and not row["is_deleted"]:
                held[row["memory_id"]] = {**row, "id": row["memory_id"], "text": row["new_memory"], "created_at": first}
        yield from held.values()
    elif tables:
        yield from export.rows("memories", "created_at, id")
    for value in iter(()) if tables else export.values():
        names = {value_at(one, "id"): text_at(one, "name") for one in list_at(value, "categories") if table_at(one)}
        for row in map(table_at, list_at(value, "results") or list_at(value, "memories") or [value]):
            tags = [names.get(one, "") for one in list_at(row, "category_ids")]
            yield {**row, "categories": tags or list_at(row, "categories")}
