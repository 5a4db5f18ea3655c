"""Reads folders of Markdown notes, and what a note's frontmatter, name and text say about it, as our own frontmatter.

Obsidian vaults, and any other folder: notes where they are, properties, and `#tags` in the text; attachments and
Obsidian's own files stay behind. OpenClaw workspaces: `MEMORY.md`, daily files in `memory/`, and other notes.
basic-memory projects: notes with a `permalink`, observations `- [category] text #tag (context)` and relations
`- type [[Target]]`, which stay in the text; tags and types also become properties.
"""

import re
from collections.abc import Mapping
from datetime import date, datetime, time
from typing import Any

from mcp_memory.storage.path_rules import is_note
from mcp_memory.text.dates import as_datetime
from mcp_memory.text.markdown.frontmatter import Value, parse
from mcp_memory.text.markdown.tags import head_tags, text_tags
from mcp_memory.transfer.formats.folder import SourceFile, SourceFolder
from mcp_memory.transfer.item import ImportItem, ImportSource, SourceKind, SourceReading, digest_of

CREATED = ("created", "created_at", "date created", "date_created", "dateCreated", "creation date", "date")
UPDATED = ("updated", "updated_at", "modified", "date modified", "date_modified", "dateModified", "last_updated")
"""Names of these dates in other programs, the most reliable first."""

_DAY = re.compile(r"(?<![0-9])([0-9]{4})-([0-9]{2})-([0-9]{2})(?![0-9])")

_OPENCLAW_KINDS = {
    "MEMORY.md": "fact",
    "USER.md": "preference",
    "AGENTS.md": "workflow",
    "TOOLS.md": "reference",
    "SOUL.md": "reference",
    "IDENTITY.md": "reference",
    "HEARTBEAT.md": "workflow",
}

_KINDS = frozenset({"preference", "fact", "decision", "workflow", "fix", "lesson", "reference", "idea", "skill"})
"""basic-memory's types that mean the same here; others stay under `type`."""
_OBSERVATION = re.compile(r"^\s*[-*] \[([^\[\]\n]{1,100})\]\s+\S", re.MULTILINE)
_TASK = re.compile(r"[ xX-]")


def read(source: ImportSource, folder: SourceFolder) -> SourceReading:
    """Raises StorageFailed if the folder can't be opened."""
    tree = folder.tree()
    return SourceReading(source, [_item(file, source.kind) for file in folder.files(tree)], tree.left_out)


def _item(file: SourceFile, kind: SourceKind) -> ImportItem:
    if kind is SourceKind.OPENCLAW:
        return item_of(file, kind=_openclaw_kind(file.path))
    return item_of(file, kind=_basic_kind(file.text) if kind is SourceKind.BASIC_MEMORY else None, tags_in_text=True)


def _openclaw_kind(path: str) -> str | None:
    if path.startswith("memory/") and day_in(path):
        return "log"
    return "skill" if path.startswith("skills/") and path.endswith("/SKILL.md") else _OPENCLAW_KINDS.get(path)


def _basic_kind(text: str) -> str | None:
    """Returns the note's type, else the category that all its observations share; the box of a task is none."""
    document = parse(text)
    stated = str(document.meta.get("type")).lower()
    if stated in _KINDS:
        return stated
    categories = (match.strip() for match in _OBSERVATION.findall(document.body))
    found = {category.lower() for category in categories if not _TASK.fullmatch(category)}
    return found.pop() if len(found) == 1 and found <= _KINDS else None


def item_of(
    file: SourceFile, *, kind: str | None = None, title: str | None = None, tags_in_text: bool = False
) -> ImportItem:
    """`kind` and `title` are used if the note has none of its own."""
    document = parse(file.text)
    properties: dict[str, Value] = dict(_dates(document.meta, file.path, file.modified_s))
    properties |= {"kind": kind} if kind else {}
    properties |= {"title": title} if title else {}
    tags = [*head_tags(document.meta), *(text_tags(document.body) if tags_in_text else ())]
    added = {"tags": list(dict.fromkeys(tags))} if tags else {}
    names = [name for key in ("title", "permalink") if (name := first_of(document.meta, key))]
    path = file.path if is_note(file.path) else f"{file.path.rpartition('.')[0]}.md"
    return ImportItem(file.path, path, file.text, properties, added, names, digest_of(file.data))


def _dates(meta: Mapping[str, Any], path: str, modified_s: float) -> dict[str, datetime]:
    """Takes `created` and `updated` from the frontmatter, else from the file's name, else its modification time."""
    zone = datetime.now().astimezone().tzinfo
    assert zone is not None
    created, updated = (
        next((found for name in names if (found := as_datetime(meta.get(name), zone))), None)
        for names in (CREATED, UPDATED)
    )
    if created is None and (day := day_in(path)):
        created = datetime.combine(day, time()).astimezone()
    created = created or updated or datetime.fromtimestamp(modified_s).astimezone()
    found = {"created": created.replace(microsecond=0)}
    return found if updated is None or updated == created else {**found, "updated": updated.replace(microsecond=0)}


def day_in(path: str) -> date | None:
    """Returns the day in a file's name, as in `2026-11-21 Standup.md`."""
    for match in _DAY.finditer(path.rpartition("/")[2]):
        try:
            return date(*map(int, match.groups()))
        except ValueError:
            continue
    return None


def first_of(meta: Mapping[str, Any], *names: str) -> str | None:
    """Returns the first of these that is a text, on one line and no longer than a title may be."""
    for name in names:
        value = meta.get(name)
        if isinstance(value, str) and (plain := " ".join(value.split())):
            return plain if len(plain) <= 200 else plain[:199].rsplit(" ", 1)[0] + "…"
    return None
