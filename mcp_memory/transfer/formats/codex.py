"""Reads Codex's `AGENTS.md`, and the memories that its own pipeline writes (as version 0.169 does)."""

import re
from dataclasses import replace
from datetime import UTC
from fnmatch import fnmatchcase

from mcp_memory.text.dates import as_datetime
from mcp_memory.text.markdown.frontmatter import Value
from mcp_memory.transfer.formats.folder import SourceFile, SourceFolder, list_files, project_in
from mcp_memory.transfer.formats.markdown import item_of
from mcp_memory.transfer.item import ImportItem, ImportSource, ProjectOf, SourceReading

_KINDS = {
    ".codex/AGENTS.md": "workflow",
    ".codex/memories*/MEMORY.md": "reference",
    ".codex/memories*/memory_summary.md": "reference",
    ".codex/memories*/rollout_summaries/*.md": "log",
    ".codex/memories*/extensions/*/notes/*.md": "fact",
    ".codex/memories*/skills/*.md": "skill",
}
"""Patterns of paths → kinds of notes."""

_ABOVE = ("", ".codex/", ".codex/memories/")
"""Possible paths to the source from the folder that contains `.codex`."""

_FIELD = re.compile(r"^(updated_at|cwd): (.+)$", re.MULTILINE)
_HEAD_CHARS = 2000


def read(source: ImportSource, folder: SourceFolder, project_of: ProjectOf) -> SourceReading:
    """Read Codex's notes. `project_of`: returns the project of a folder. Raises StorageFailed if the folder can't be
    opened."""
    above, tree = list_files(folder, _ABOVE, _KINDS)
    items: list[ImportItem] = []
    for file in folder.files(tree):
        kind = next(kind for pattern, kind in _KINDS.items() if fnmatchcase(above + file.path, pattern))
        item = item_of(file, kind=kind)
        if kind == "log":
            item = replace(item, properties={**item.properties, **_session_facts(file, project_of)})
        items.append(item)
    return SourceReading(source, items, tree.left_out)


def _session_facts(file: SourceFile, project_of: ProjectOf) -> dict[str, Value]:
    """Read the time and project of the session that a summary describes."""
    fields = dict(_FIELD.findall(file.text[:_HEAD_CHARS]))
    project = project_in(fields.get("cwd", ""), project_of)
    created = as_datetime(fields.get("updated_at"), UTC)
    facts: dict[str, Value] = {}
    if project:
        facts["project"] = project
    if created:
        facts["created"] = created
    return facts
