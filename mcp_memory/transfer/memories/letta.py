"""Reads Letta's agent files (`.af`): each memory block becomes a note. An agent file has no archival memory. As in the
agents that Letta publishes; of these some are JSON within a JSON string."""

from collections.abc import Iterator

from mcp_memory.text.parsed_values import list_at, text_at, value_at
from mcp_memory.text.pluralize import counted
from mcp_memory.transfer.memories.export_files import ExportFiles
from mcp_memory.transfer.memories.memory_record import MemoryRecord, moment


def read_memories(export: ExportFiles) -> Iterator[MemoryRecord]:
    """Reads the present form, and the older one of a single agent; blocks without an agent, too."""
    for value in export.values():
        agents = list_at(value, "agents") or [value]
        for number, block in enumerate(list_at(value, "blocks") or list_at(value, "core_memory")):
            owners = [agent for agent in agents if value_at(block, "id") in list_at(agent, "block_ids")]
            agent, label = text_at((owners or agents)[0], "name"), text_at(block, "label") or str(number)
            exported = moment(value_at(value, "created_at")) or export.made
            when, updated = moment(value_at(block, "created_at")), moment(value_at(block, "updated_at"))
            kind, title = "reference" if label == "persona" else "fact", f"{label} of {agent}"
            text = text_at(block, "value")
            yield MemoryRecord(f"{agent}/{label}", text, when or exported, title, kind, "", updated, folder=agent)
        if messages := sum(len(list_at(agent, "messages")) for agent in agents):
            export.leave(counted(messages, "message"), "only memory blocks are imported")
