"""Reads basic-memory projects: Markdown with a `permalink`, observations `- [category] text #tag (context)` and
relations `- type [[Target]]`. Both stay in the text as they are; tags and types also become properties."""

from __future__ import annotations

import re
from typing import Any

from mcp_memory.text.markdown.frontmatter import parse
from mcp_memory.transfer.formats.folder import SourceFile, SourceFolder
from mcp_memory.transfer.formats.markdown import item_of
from mcp_memory.transfer.item import ImportItem, ImportSource, SourceReading

_KINDS = frozenset({"preference", "fact", "decision", "workflow", "fix", "lesson", "reference", "idea", "skill"})
"""Types of notes that mean the same here; others stay under `type`."""

_OBSERVATION = re.compile(r"^\s*[-*] \[([^\[\]\n]{1,100})\]\s+\S", re.MULTILINE)
_TASK = re.compile(r"[ xX-]")


def read(source: ImportSource, folder: SourceFolder) -> SourceReading:
    """Raises StorageFailed where the folder cannot be opened."""
    tree = folder.tree()
    return SourceReading(source, [_item(file) for file in folder.files(tree)], tree.left_out)


def categories(body: str) -> list[str]:
    """Of its observations, in order; a task's box is none."""
    found = (match.strip() for match in _OBSERVATION.findall(body))
    return list(dict.fromkeys(each for each in found if not _TASK.fullmatch(each)))


def _item(file: SourceFile) -> ImportItem:
    document = parse(file.text)
    return item_of(file, kind=_kind(document.meta, document.body), tags_in_text=True)


def _kind(meta: dict[str, Any], body: str) -> str | None:
    """What the note says it is, else what all of its observations are."""
    said = str(meta.get("type")).lower()
    if said in _KINDS:
        return said
    found = {each.lower() for each in categories(body)}
    return found.pop() if len(found) == 1 and found <= _KINDS else None
