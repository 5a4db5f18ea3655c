"""Reads the memories in claude.ai's data export: `memories.json` has the summary of all chats and one of each project,
`projects.json` the projects' names and instructions. Newer ones have a file for each, in `memories/` and `projects/`.

Anthropic publishes no schema; this is the form that several programs which read such exports agree on.
"""

from collections.abc import Iterator

from mcp_memory.text.parsed_values import table_at, text_at, value_at
from mcp_memory.text.pluralize import counted
from mcp_memory.transfer.memories.export_files import ExportFiles
from mcp_memory.transfer.memories.memory_record import MemoryRecord, moment


def read_memories(export: ExportFiles) -> Iterator[MemoryRecord]:
    """A summary has no date: it is as old as the export."""
    names = dict[str, str]()
    for project in export.values(r"/projects\.json$|^projects/"):
        uuid, name = text_at(project, "uuid"), text_at(project, "name")
        names[uuid], title = name, f"Instructions of {name}"
        when = moment(value_at(project, "updated_at"), value_at(project, "created_at")) or export.made
        if text := text_at(project, "prompt_template"):
            yield MemoryRecord(f"project/{uuid}", text, when, title, "workflow", name)
    when = export.made
    for memory in export.values(r"/memories\.json$|^memories/"):
        export.account = export.account or text_at(memory, "account_uuid")
        if text := text_at(memory, "conversations_memory"):
            yield MemoryRecord("memory", text, when, "What claude.ai remembers of all chats")
        for uuid, text in table_at(memory, "project_memories").items():
            name = names.get(uuid, "")
            title = f"What claude.ai remembers of {name or 'a project'}"
            yield MemoryRecord(f"memory/{uuid}", str(text), when, title, "fact", name)
    if number := sum(1 for _ in export.values(r"/conversations[^/]*\.json$")):
        export.leave(counted(number, "conversation"), "only memories are imported")
