"""Reads what any Markdown note says about itself in its frontmatter, name and text, as our own frontmatter. Pure,
except for the local time zone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime, time
from typing import Any, cast

from mcp_memory.text.dates import as_datetime
from mcp_memory.text.markdown.blocks import BlockKind, scan
from mcp_memory.text.markdown.frontmatter import Value, parse
from mcp_memory.transfer.formats.folder import SourceFile
from mcp_memory.transfer.item import ImportItem, digest_of

CREATED = ("created", "created_at", "date created", "date_created", "dateCreated", "creation date", "date")
UPDATED = ("updated", "updated_at", "modified", "date modified", "date_modified", "dateModified", "last_updated")
"""What programs and people call these dates, the surest first."""

_DAY = re.compile(r"(?<![0-9])([0-9]{4})-([0-9]{2})-([0-9]{2})(?![0-9])")
_TAG = re.compile(r"(?<!\S)#([\w/-]+)")
_CODE = re.compile(r"`[^`\n]*`")


def item_of(
    file: SourceFile, *, kind: str | None = None, title: str | None = None, tags_in_text: bool = False
) -> ImportItem:
    """`kind` and `title` where the note has none of its own."""
    document = parse(file.text)
    properties: dict[str, Value] = dict(dates_of(document.meta, file.path, file.modified_s))
    if kind:
        properties["kind"] = kind
    if title:
        properties["title"] = title
    added: dict[str, list[str]] = {}
    tags = tags_of(document.meta.get("tags", document.meta.get("tag")))
    if tags_in_text:
        tags += inline_tags(document.body)
    if tags:
        added["tags"] = list(dict.fromkeys(tags))
    names = [each for name in ("title", "permalink") if (each := first_of(document.meta, name))]
    return ImportItem(file.path, file.path, file.text, properties, added, names, digest_of(file.data))


def dates_of(meta: Mapping[str, Any], path: str, modified_s: float) -> dict[str, datetime]:
    """`created` and `updated`: as the note says, else as its name does, else when its file was last written."""
    zone = datetime.now().astimezone().tzinfo
    assert zone is not None
    created, updated = ((_first(meta, names, zone)) for names in (CREATED, UPDATED))
    if created is None and (day := day_in(path)):
        created = datetime.combine(day, time()).astimezone()
    created = created or updated or datetime.fromtimestamp(modified_s).astimezone()
    found = {"created": created.replace(microsecond=0)}
    return found if updated is None or updated == created else {**found, "updated": updated.replace(microsecond=0)}


def day_in(path: str) -> date | None:
    """The day that a file's name holds, as in `2026-11-21 Standup.md`."""
    for match in _DAY.finditer(path.rpartition("/")[2]):
        try:
            return date(*map(int, match.groups()))
        except ValueError:
            continue
    return None


def tags_of(value: object) -> list[str]:
    """Of a list, or a text with commas or spaces between them; a leading `#` counts for nothing."""
    said: Iterable[object] = cast("list[object]", value) if isinstance(value, list) else re.split(r"[,\s]+", str(value))
    words = (" ".join(str(each).split()).lstrip("#") for each in said if not isinstance(each, (dict, list)))
    return [] if value is None else [word for word in words if word]


def inline_tags(body: str) -> list[str]:
    """Obsidian's `#tag` and `#tag/below` in the text, outside code; a number alone is none."""
    found: list[str] = []
    for block in scan(body):
        if block.kind in {BlockKind.FENCE, BlockKind.RULE}:
            continue
        at = block.start
        for start, end in (*block.fences, (block.end, block.end)):
            found += _TAG.findall(_CODE.sub(" ", body[at:start]))
            at = end
    return list(dict.fromkeys(tag for tag in found if any(each.isalpha() for each in tag)))


def first_of(meta: Mapping[str, Any], *names: str) -> str | None:
    """The first of these that is a text, on one line and no longer than a title may be."""
    for name in names:
        value = meta.get(name)
        if isinstance(value, str) and (plain := " ".join(value.split())):
            return plain if len(plain) <= 200 else plain[:199].rsplit(" ", 1)[0] + "…"
    return None


def _first(meta: Mapping[str, Any], names: Iterable[str], zone: Any) -> datetime | None:
    return next((found for name in names if (found := as_datetime(meta.get(name), zone))), None)
