"""Reads the memories in ChatGPT's data export. It has no list of them, but its conversations show what was stored: in
messages to the tool `bio`, in the list that the model was given (`model_set_context`), and as custom instructions.

OpenAI publishes no schema; this is the form that several programs which read such exports agree on.
"""

import re
from collections.abc import Iterator

from mcp_memory.text.parsed_values import list_at, table_at, text_at, value_at
from mcp_memory.text.pluralize import counted
from mcp_memory.transfer.memories.export_files import ExportFiles
from mcp_memory.transfer.memories.memory_record import MemoryRecord, key_of, moment

_LISTED = re.compile(r"^\s*\d+\.\s*(?:\[(\d{4}-\d{2}-\d{2})\][.:]?\s*)?(\S.*)$", re.MULTILINE)
_FORGOTTEN = re.compile(r"forget\b|(?:the )?user (?:wants|asked|asks) (?:\w+ )?to forget\b", re.IGNORECASE)
_INSTRUCTIONS = {"user_profile": "About me, as told to ChatGPT", "user_instructions": "How ChatGPT should answer"}
_FENCED = re.compile(r"```(?:\w*\n)?(.*?)```", re.DOTALL)


def read_memories(export: ExportFiles) -> Iterator[MemoryRecord]:
    """Where a conversation shows the whole list, only what was stored after it is taken from `bio`."""
    export.account = next((text_at(user, "id") for user in export.values(r"/user\.json$")), "")
    stored, listed, told = list[MemoryRecord](), list[MemoryRecord](), dict[str, MemoryRecord]()
    number, listed_at = 0, None
    for talk in export.values(r"/conversations[^/]*\.json$"):
        number += 1
        at = moment(value_at(talk, "update_time"), value_at(talk, "create_time")) or export.made
        for message in (table_at(node, "message") for node in table_at(talk, "mapping").values()):
            content = table_at(message, "content")
            if text_at(message, "recipient") == "bio":
                when = moment(message.get("create_time")) or at
                said = [part for part in (*list_at(content, "parts"), content.get("text")) if isinstance(part, str)]
                facts = filter(str.strip, "\n".join(said).splitlines())
                stored += (MemoryRecord(key_of(fact), fact.strip(), when) for fact in facts)
            elif (known := text_at(content, "model_set_context")) and (listed_at is None or at >= listed_at):
                facts = _LISTED.findall(known)
                listed, listed_at = [MemoryRecord(key_of(fact), fact, moment(day) or at) for day, fact in facts], at
            for field, title in _INSTRUCTIONS.items():
                if (text := text_at(content, field)) and (field not in told or at >= told[field].created):
                    fenced = _FENCED.search(text)
                    told[field] = MemoryRecord(field, fenced[1] if fenced else text, at, title, "preference")
    later = [one for one in stored if listed_at is None or one.created > listed_at]
    found = {one.key: one for one in (*reversed(later), *listed) if not _FORGOTTEN.match(one.text)}
    if number:
        export.leave(counted(number, "conversation"), "only memories are imported")
    yield from (*found.values(), *told.values())
