"""Chooses paths for imported notes. The layout is their source's, so that links between them still work; the names are
valid on every system. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from mcp_memory.models import IMPORTED
from mcp_memory.storage.path_rules import beside, fold, is_note, portable, portable_path
from mcp_memory.text.markdown.frontmatter import split_head
from mcp_memory.text.markdown.links import find_links
from mcp_memory.text.text_hash import text_hash
from mcp_memory.transfer.item import ImportItem, ImportSource


def folder_of(source: ImportSource) -> str:
    """Return the import's folder in the managed folder. Another source of that name may have it."""
    name = re.sub(r"[^\w.]+", "-", source.name.lower()).strip("-.")
    label = source.kind if name in {"", source.kind} else f"{source.kind}-{name}"
    return f"{IMPORTED}/{portable(label)}"


def place_items(items: Sequence[ImportItem]) -> dict[str, str]:
    """Return a unique path for each item by its key, also where case makes no difference. Of paths that collide, the
    first by its key stays, and the others get a few digits of their key's hash."""
    wanted = {item.key: portable_path(item.path) for item in items}
    folders: dict[str, str] = {}
    taken: set[str] = set()
    found: dict[str, str] = {}
    for key in sorted(wanted, key=lambda key: (wanted[key], key)):
        *above, path = wanted[key].split("/")
        at = ""
        for folder in above:  # folders whose paths differ only in case are together, under the first spelling
            full = f"{at}{folder}/"
            at = folders.setdefault(fold(full), full)
        path = f"{at}{path}"
        if fold(path) in taken:
            path = beside(path, f"-{text_hash(key, 6)}")
        taken.add(fold(path))
        found[key] = path
    return found


def add_aliases(items: Sequence[ImportItem], places: Mapping[str, str]) -> list[ImportItem]:
    """Add aliases for the names, other than the file's, that wikilinks use, because programs follow such links by
    alias."""
    used = {name for item in items for name in _wikilink_names(item.text)}
    found: list[ImportItem] = []
    for item in items:
        file = _stem(places[item.key])
        names = [name for name in (*item.names, _name(item.path)) if name.casefold() in used and _stem(name) != file]
        if names := list(dict.fromkeys(names)):
            item = replace(item, added={**item.added, "aliases": names})  # noqa: PLW2901 -- the same note, better known
        found.append(item)
    return found


def _wikilink_names(text: str) -> Iterator[str]:
    """Yield the names that the text's wikilinks use, case-folded."""
    for link in find_links(text, split_head(text).body_start):
        if link.kind == "wiki":
            yield link.target.partition("#")[0].strip().casefold()


def _name(path: str) -> str:
    name = path.rpartition("/")[2]
    return (name[:-3] if is_note(name) else name).strip()


def _stem(path: str) -> str:
    return _name(path).casefold()
