"""Reads the files of Claude Code: its memory folder of each project (`MEMORY.md` and a file a fact), `CLAUDE.md`,
and rules.

The form of its memory folders is not documented; this is what version 2.1 writes: a head with `name`, `description` and
`type` (also as `metadata: type:`), a fact below it, and links between them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, cast

from mcp_memory.text.markdown.frontmatter import parse
from mcp_memory.transfer.formats.folder import SourceFile, SourceFolder
from mcp_memory.transfer.formats.markdown import first_of, item_of
from mcp_memory.transfer.item import ImportItem, ImportSource, SourceReading

SHOWN = frozenset({".claude"})
INSTRUCTIONS = frozenset({"CLAUDE.md", "CLAUDE.local.md"})

_KINDS = {"user": "fact", "feedback": "preference", "project": "fact", "reference": "reference"}
_WANTED = re.compile(r"(?:\.claude/)?CLAUDE(?:\.local)?\.md|\.claude/(?:rules/.+|projects/[^/]+/memory/.+)")
_ON_THE_WAY = re.compile(r"\.claude(?:/rules(?:/.*)?|/projects(?:/[^/]+(?:/memory(?:/.*)?)?)?)?")
_TRANSCRIPT_BYTES = 256 * 1024
_WORKING_FOLDER = re.compile(rb'"cwd":\s?("(?:[^"\\]|\\.){1,4096}")')


def read(source: ImportSource, folder: SourceFolder) -> SourceReading:
    """Of `~/.claude`, its `projects`, one of them, one's memory, or a repository: its instructions, not its other
    files. Raises StorageFailed where the folder cannot be opened."""
    above = _above(folder.root)
    tree = folder.tree(lambda path: _ON_THE_WAY.fullmatch(above + path) is not None)
    tree.notes = [path for path in tree.notes if _WANTED.fullmatch(above + path)]
    tree.left_out = [each for each in tree.left_out if _WANTED.fullmatch(above + each.path)]
    about = cache(project_of)
    items: list[ImportItem] = []
    for file in folder.files(tree):
        home = _folder_of_project(file.path, folder.root, above)
        items.append(_item(file, about(home) if home else None))
    return SourceReading(source, items, tree.left_out)


def read_file(source: ImportSource, file: SourceFile) -> SourceReading:
    """Of one `CLAUDE.md`."""
    return SourceReading(source, [_item(file, None)])


def is_memory(folder: Path) -> bool:
    """Whether a folder is one project's memory."""
    return folder.name == "memory" and folder.parent.parent.name == "projects"


def project_of(folder: Path) -> str | None:
    """The name of the project that `~/.claude/projects/<folder>` is about: of the working folder that its transcripts
    tell of, since the folder's own name cannot be read back."""
    for transcript in sorted(folder.glob("*.jsonl"))[:20]:
        try:
            with transcript.open("rb") as lines:
                found = _WORKING_FOLDER.search(lines.read(_TRANSCRIPT_BYTES))
            if found:
                return PurePosixPath(json.loads(found[1])).name or None
        except (OSError, ValueError):
            continue
    return None


def _above(root: Path) -> str:
    """What stands before a path in this folder, so that it begins at the folder that holds `.claude`."""
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
        item = item_of(file, kind=_kind(meta), title=first_of(meta, "description", "name"))
        item = replace(item, names=[*item.names, *filter(None, [first_of(meta, "name")])])
    return replace(item, properties={**item.properties, "project": project}) if project else item


def _kind(meta: Mapping[str, Any]) -> str | None:
    below: Any = meta.get("metadata")
    said = meta.get("type") or (cast("Mapping[str, Any]", below).get("type") if isinstance(below, dict) else None)
    return _KINDS.get(str(said))


def _folder_of_project(path: str, root: Path, above: str) -> Path | None:
    """Which of Claude Code's folders of projects the file lies in, if in any."""
    parts = (above + path).split("/")
    return (root / path).parents[len(parts) - 4] if parts[:2] == [".claude", "projects"] else None
