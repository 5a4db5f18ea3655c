"""Read the values in a note's head, and the properties that the index keeps in addition to a record's own fields.
Pure."""

from datetime import datetime, timedelta, timezone, tzinfo
from typing import Any, cast

from mcp_memory.models import EVERYWHERE, Meta, NotePath
from mcp_memory.text import dates
from mcp_memory.text.dates.due import due_from
from mcp_memory.text.markdown import logs, properties
from mcp_memory.text.markdown.frontmatter import Document
from mcp_memory.text.markdown.tags import text_tags
from mcp_memory.vault.config import TRANSCRIPTS
from mcp_memory.vault.marks import privacy

MAX_TEXT_TAGS = 200
MAX_WHEN, MAX_PHRASE = 3, 80
"""The most phrases under `when`, and the most characters of one."""


def marks_of(path: NotePath, text: str, document: Document, *, is_curated: bool) -> dict[str, Any]:
    """Return the marks that the index keeps, as JSON values: tags in the text, private parts, other properties."""
    if path.startswith(f"@{TRANSCRIPTS}/"):
        return {}
    found = privacy.marks(path, text, document, is_curated=is_curated)
    if tags := text_tags(text, document.body_start):
        found["text_tags"] = tags[:MAX_TEXT_TAGS]
    if not logs.is_log_path(path) and (said := properties.words(document.meta)):
        found["properties"] = said
    if slips := dict(properties.nearly_ours(document.meta)):
        found["slips"] = slips
    return found


def kept_of(meta: Meta, document: Document, zone: tzinfo, *, is_log: bool) -> dict[str, Any]:
    """Return the frontmatter that the index keeps in addition to the record's own fields, as JSON values."""
    kept = dict[str, Any]()
    if meta.get("forgotten"):
        kept["forgotten"] = words_of(meta["forgotten"])
    if meta.get("superseded"):
        marks = words_of(meta["superseded"])
        kept["superseded"] = logs.follow_edits(marks, logs.entries(document.body)) if is_log else marks
    if aliases := meta.get("aliases"):
        kept["aliases"] = words_of(aliases)
    if muted := meta.get("muted"):
        kept["muted"] = [EVERYWHERE] if muted is True else words_of(muted)  # or the entries in `muted_projects`
    kept |= {flag: True for flag in ("stale", "provisional") if meta.get(flag) is True}
    lists = ("contests", "contradicts", "compatible_with", "confirmed", "refs")
    kept |= {name: words_of(meta[name]) for name in lists if meta.get(name)}
    if (when := meta.get("when")) and not is_log:
        kept["when"] = [phrase[:MAX_PHRASE] for phrase in words_of(when)[:MAX_WHEN]]
    if covers := text_of(meta.get("covers")):
        kept["covers"] = covers
        kept["derived_from"] = words_of(meta.get("derived_from"))
    if voice := text_of(meta.get("voice")):
        kept["voice"] = voice
        if by := text_of(meta.get("by")):
            kept["by"] = by
    if due := due_from(meta.get("due"), zone):
        kept["due"] = (due.moment(zone) if due.at else due.day).isoformat()
    for name in ("earliest_at", "latest_at", "done_at"):
        if when := when_of(meta.get(name), zone):
            kept[name] = when.isoformat()
    return kept


def text_of(value: object) -> str | None:
    """Return a scalar as one line of text; YAML makes numbers and dates of some words."""
    if value is None or isinstance(value, (list, dict, bool)):
        return None
    return " ".join(str(value).replace("\0", " ").split()) or None


def words_of(value: object) -> list[str]:
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    return [word for item in items if (word := text_of(item))]


def when_of(value: object, zone: tzinfo) -> datetime | None:
    moment = dates.as_datetime(value, zone)
    return moment and fixed(moment)


def fixed(moment: datetime) -> datetime:
    """Return the moment with a fixed offset: Python compares two times of the same zone by local time."""
    return moment.replace(tzinfo=timezone(moment.utcoffset() or timedelta()), fold=0)
