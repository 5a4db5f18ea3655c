"""Reads the files of Claude Code: each project's memory folder (`MEMORY.md` and one file per fact), `CLAUDE.md`, rules.

The format of memory folders is not documented; version 2.1 writes a frontmatter with `name`, `description` and `type`
(also as `metadata: type:`), a fact below it, and links between them.
"""

import json
import re
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from mcp_memory.text.markdown.frontmatter import parse
from mcp_memory.text.parsed_values import value_at
from mcp_memory.transfer.formats.folder import SourceFile, SourceFolder, list_files, project_in
from mcp_memory.transfer.formats.markdown import first_of, item_of
from mcp_memory.transfer.item import ImportItem, ImportSource, ProjectOf, SourceReading

INSTRUCTIONS = frozenset({"CLAUDE.md", "CLAUDE.local.md"})

_KINDS = {"user": "fact", "feedback": "preference", "project": "fact", "reference": "reference"}
_IN_FOLDER = (*INSTRUCTIONS, "rules/*.md", "projects/*/memory/*.md")
_WANTED = (*INSTRUCTIONS, *(f".claude/{name}" for name in _IN_FOLDER))
_TRANSCRIPT_BYTES = 256 * 1024
_WORKING_FOLDER = re.compile(rb'"cwd":\s?("(?:[^"\\]|\\.){1,4096}")')


def read(source: ImportSource, folder: SourceFolder, project_of: ProjectOf) -> SourceReading:
    """Read `~/.claude`, its `projects`, one of these projects, a project's memory, or the instructions in a repository.
    Raises StorageFailed if the folder can't be opened."""
    above, tree = list_files(folder, [_above(folder.root)], _WANTED)
    about = cache(partial(_project_of, project_of))
    items: list[ImportItem] = []
    for file in folder.files(tree):
        parts = (above + file.path).split("/")
        is_in_project = parts[:2] == [".claude", "projects"]
        project = about((folder.root / file.path).parents[len(parts) - 4]) if is_in_project else None
        items.append(_item(file, project))
    return SourceReading(source, items, tree.left_out)


def is_memory(folder: Path) -> bool:
    """Return whether a folder is one project's memory."""
    return folder.name == "memory" and folder.parent.parent.name == "projects"


def _project_of(project_of: ProjectOf, folder: Path) -> str | None:
    """Return the name of the project of `~/.claude/projects/<folder>`. The transcripts there name the working folder,
    which can't be derived from the folder's own name."""
    for transcript in sorted(folder.glob("*.jsonl"))[:20]:
        with suppress(OSError, ValueError), transcript.open("rb") as lines:
            if found := _WORKING_FOLDER.search(lines.read(_TRANSCRIPT_BYTES)):
                worked_in = json.loads(found[1])
                return project_in(worked_in, project_of)
    return None


def _above(root: Path) -> str:
    """Return the prefix that makes a path in this folder relative to the folder that holds `.claude`."""
    if is_memory(root):
        return f".claude/projects/{root.parent.name}/memory/"
    if root.parent.name == "projects" and (root / "memory").is_dir():
        return f".claude/projects/{root.name}/"
    if root.name == "projects" and not (root / ".claude").exists():
        return ".claude/projects/"
    is_configuration = (root / "projects").is_dir() and not (root / ".claude").exists()
    return ".claude/" if root.name == ".claude" or is_configuration else ""


def _item(file: SourceFile, project: str | None) -> ImportItem:
    name = file.path.rpartition("/")[2]
    if name in INSTRUCTIONS or "rules" in file.path.split("/")[:-1]:
        return item_of(file, kind="workflow")
    meta = parse(file.text).meta
    if name == "MEMORY.md":
        item = item_of(file, kind="reference")
    else:
        kind = _KINDS.get(str(meta.get("type") or value_at(meta, "metadata", "type")))
        item = item_of(file, kind=kind, title=first_of(meta, "description", "name"))
        item = replace(item, names=[*item.names, *filter(None, [first_of(meta, "name")])])
    return replace(item, properties={**item.properties, "project": project}) if project else item
