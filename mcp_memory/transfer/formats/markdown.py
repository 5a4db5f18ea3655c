"""Reads folders of Markdown notes, and turns each note's frontmatter, name and text into our own frontmatter.

Reads Obsidian vaults and any other folder: notes with their places, properties, and `#tags` in the text. Attachments
and Obsidian's own files are skipped.
"""

import re
from collections.abc import Mapping
from datetime import date, datetime, time
from typing import Any

from mcp_memory.storage.path_rules import is_note
from mcp_memory.text.dates import as_datetime
from mcp_memory.text.language.sentences import beginning
from mcp_memory.text.markdown.frontmatter import Value, parse
from mcp_memory.text.markdown.tags import head_tags, text_tags
from mcp_memory.transfer.formats.folder import SourceFile, SourceFolder
from mcp_memory.transfer.item import ImportItem, ImportSource, ProjectOf, SourceReading, digest_of

CREATED = ("created", "created_at", "date created", "date_created", "dateCreated", "creation date", "date")
UPDATED = ("updated", "updated_at", "modified", "date modified", "date_modified", "dateModified", "last_updated")
"""Names of these dates in other programs, the most reliable first."""

_DAY = re.compile(r"(?<![0-9])([0-9]{4})-([0-9]{2})-([0-9]{2})(?![0-9])")


def read(source: ImportSource, folder: SourceFolder, _project_of: ProjectOf) -> SourceReading:
    """Read the notes of a folder. Raises StorageFailed if the folder can't be opened."""
    tree = folder.tree()
    items = [item_of(file, tags_in_text=True) for file in folder.files(tree)]
    return SourceReading(source, items, tree.left_out)


def item_of(
    file: SourceFile, *, kind: str | None = None, title: str | None = None, tags_in_text: bool = False
) -> ImportItem:
    """Return a note as an import item. `kind` and `title` apply if the note has none of its own."""
    document = parse(file.text)
    properties: dict[str, Value] = dict(_dates(document.meta, file.path, file.modified_s))
    properties |= {"kind": kind} if kind else {}
    properties |= {"title": title} if title else {}
    tags = [*head_tags(document.meta), *(text_tags(document.body) if tags_in_text else ())]
    added = {"tags": list(dict.fromkeys(tags))} if tags else {}
    title_in_head = first_of(document.meta, "title")
    names = [title_in_head] if title_in_head else []
    path = file.path if is_note(file.path) else f"{file.path.rpartition('.')[0]}.md"
    return ImportItem(file.path, path, file.text, properties, added, names, digest_of(file.data))


def _dates(meta: Mapping[str, Any], path: str, modified_s: float) -> dict[str, datetime]:
    """Take `created` and `updated` from the frontmatter, else from the file's name, else its modification time."""
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
    """Return the day in a file's name, as in `2026-11-21 Standup.md`."""
    for match in _DAY.finditer(path.rpartition("/")[2]):
        try:
            return date(*map(int, match.groups()))
        except ValueError:
            continue
    return None


def first_of(meta: Mapping[str, Any], *names: str) -> str | None:
    """Return the first of these properties that is a text, on one line, cut to a title's length."""
    for name in names:
        value = meta.get(name)
        if isinstance(value, str) and value.strip():
            return beginning(value)
    return None
