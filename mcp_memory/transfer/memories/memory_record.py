"""A memory of another program as a note to import. Pure."""

import hashlib
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from mcp_memory.storage.path_rules import portable
from mcp_memory.text.dates import as_datetime
from mcp_memory.text.markdown.frontmatter import Value
from mcp_memory.transfer.item import ImportItem, digest_of

MOST_TITLE_CHARS = 80

_NO_TEXT = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f\ud800-\udfff]")
_MARKUP = re.compile(r"^[\s>#*_-]+|[*_`]+")
_MILLISECONDS_FROM = 1e11  # as seconds this would be the year 5138


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """`key` always names it within its source; the title is that of its first line if it has none. `created` is when
    the other program stored it."""

    key: str
    text: str
    created: datetime
    title: str = ""
    kind: str = "fact"
    project: str = ""
    updated: datetime | None = None
    tags: Sequence[str] = ()
    folder: str = ""

    def as_item(self) -> ImportItem:
        text = clean_text(self.text).replace("\r\n", "\n").strip("\n") + "\n"
        title = _on_one_line(self.title or next(filter(str.strip, text.splitlines()), self.key))
        created = self.created.replace(microsecond=0)
        properties: dict[str, Value] = {"kind": self.kind, "title": title, "created": created}
        properties |= {"project": self.project} if self.project else {}
        properties |= {"updated": self.updated.replace(microsecond=0)} if self.updated else {}
        folder = portable(self.folder or self.project) + "/" if self.folder or self.project else ""
        tags = [tag for tag in map(_on_one_line, self.tags) if tag]
        digest = digest_of(f"{title}\0{self.project}\0{text}".encode())
        path = f"{folder}{portable(title)}.md"
        return ImportItem(self.key, path, text, properties, {"tags": tags} if tags else {}, digest=digest)


def as_json(record: MemoryRecord) -> dict[str, Any]:
    times = {name: value.isoformat() for name in ("created", "updated") if (value := getattr(record, name))}
    return asdict(record) | times | {"tags": list(map(str, record.tags))}


def from_json(fields: dict[str, Any]) -> MemoryRecord:
    """Raises ValueError, TypeError for what `as_json` didn't make."""
    times: dict[str, Any] = {
        name: datetime.fromisoformat(fields[name]) for name in ("created", "updated") if fields[name]
    }
    return MemoryRecord(**fields | times)


def clean_text(text: str) -> str:
    """Replaces characters that don't belong into a Markdown file."""
    return _NO_TEXT.sub("\ufffd", text)


def moment(*values: object) -> datetime | None:
    """Returns the first that is a time: ISO 8601, in UTC unless it says otherwise, or seconds or milliseconds since the
    epoch."""
    for value in values:
        if isinstance(value, (int, float)) and value > 0:
            with suppress(OverflowError, ValueError, OSError):
                return datetime.fromtimestamp(value / 1000 if value > _MILLISECONDS_FROM else value, UTC)
        elif found := as_datetime(value, UTC):
            return found
    return None


def key_of(text: str) -> str:
    """Returns a key for a memory that has none: the same for the same words."""
    return hashlib.sha256(" ".join(text.split()).casefold().encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _on_one_line(text: object) -> str:
    plain = " ".join(_MARKUP.sub("", clean_text(str(text))).split())
    return plain if len(plain) <= MOST_TITLE_CHARS else plain[: MOST_TITLE_CHARS - 1].rsplit(" ", 1)[0] + "…"
