"""Merges two versions of a daily log, entry by entry. Pure."""

from mcp_memory.errors import InvalidInput
from mcp_memory.text.markdown import frontmatter, logs
from mcp_memory.text.markdown.frontmatter import Value
from mcp_memory.text.markdown.logs import LogEntry


def merge_logs(text: str, other: str) -> str | None:
    """Return `text` with the entries and marks that only `other` has, each entry at its time; None if `other` has more
    that would be lost, such as a note above its entries."""
    document = frontmatter.parse(other)
    others = logs.entries(other, document.body_start)
    above = other[document.body_start : others[0].start if others else len(other)]
    if document.problem or any(line.strip() not in text for line in above.splitlines()):
        return None
    merged = text
    for entry in others:
        written = other[entry.start : entry.end].strip().replace("\r\n", "\n")
        found = logs.entries(merged, frontmatter.parse(merged).body_start)
        lines = f"\n{merged}\n".replace("\r\n", "\n")
        if f"\n{written}\n" not in lines and all(entry.hash != known.hash for known in found):
            merged = _inserted(merged, found, entry.time, f"{written}\n")
    return _with_marks(merged, document)


def _inserted(text: str, entries: list[LogEntry], time: str, entry: str) -> str:
    """Insert an entry before the first later one, so that two devices that merge the same versions get the same
    bytes."""
    at = next((later.start for later in entries if later.time > time), None)
    if at is None:
        return logs.append_entry(text, entry)
    newline = frontmatter.newline_of(text)
    return text[:at] + f"{entry}\n".replace("\n", newline) + text[at:]


def _with_marks(text: str, other: frontmatter.Document) -> str | None:
    """Add the marks of entries in the other log's head, such as `forgotten`; None for a value that differs."""
    own = frontmatter.parse(text).meta
    changes: dict[str, Value | None] = {}
    for key, value in other.meta.items():
        known = own.get(key)
        if isinstance(value, list) and isinstance(known, list | None):
            changes[key] = list(dict.fromkeys([*map(str, known or []), *map(str, value)]))
        elif known is None:
            changes[key] = value
        elif known != value:
            return None
    try:
        return frontmatter.patch(text, changes)
    except InvalidInput:
        return None
