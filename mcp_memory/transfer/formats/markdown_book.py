"""Renders the whole memory as one Markdown file to read from the start. Pure.

`MEMORY.md` and `_always-load/` come first, then the topic tree, then notes by kind and folder, and finally the days.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_memory.text.markdown.blocks import BlockKind, scan
from mcp_memory.text.markdown.frontmatter import parse
from mcp_memory.text.markdown.links import find_links, resolve
from mcp_memory.text.markdown.logs import is_log_path

DEEPEST = 6
"""The deepest level of headings in Markdown."""

_FIRST = ("MEMORY.md", "_always-load/", "topics/", "notes/")


@dataclass(frozen=True, slots=True)
class Chapter:
    """A note. `facts` are the catalog's: title, kind, dates, source."""

    path: str
    text: str
    facts: Mapping[str, Any]


def ordered(paths: Iterable[str], home: str) -> list[str]:
    """Sort the paths in the order of the book."""
    return sorted(paths, key=lambda path: _rank(path, home))


def opening(title: str, notes: int) -> str:
    """Return the text before the first chapter."""
    return f"# {title}\n\n{notes} notes.\n"


def chapters(found: Iterable[Chapter], home: str, inside: Sequence[str]) -> Iterator[str]:
    """Render each chapter, after the headings of the folders that begin there. Its own headings go below its title, and
    its links to notes `inside` lead to their place in the book."""
    open_folders: list[str] = []
    names = {path: f"note-{number}" for number, path in enumerate(inside, start=1)}
    for chapter in found:
        folders = _inner(chapter.path, home).split("/")[:-1]
        shared = 0
        while shared < len(folders) and folders[: shared + 1] == open_folders[: shared + 1]:
            shared += 1
        for depth in range(shared, len(folders)):
            yield f"\n{'#' * min(depth + 1, DEEPEST)} {folders[depth]}\n"
        open_folders = folders
        yield _chapter(chapter, min(len(folders) + 1, DEEPEST), names)


def _chapter(chapter: Chapter, level: int, names: Mapping[str, str]) -> str:
    body = _linked(parse(chapter.text).body, chapter.path, names)
    body = _lowered(body, level).strip("\n")
    facts = chapter.facts
    about = [facts.get("kind"), _date(facts), facts.get("project"), ", ".join(facts.get("tags") or ())]
    about += [f"from {facts['source']}" if facts.get("source") else None, chapter.path]
    line = " · ".join(str(fact) for fact in about if fact)
    title = str(facts.get("title") or chapter.path)
    if body.partition("\n")[0].lstrip("#").strip() == title and body.startswith("#"):
        body = body.partition("\n")[2].strip("\n")
    head = f'\n<a id="{names[chapter.path]}"></a>\n\n{"#" * level} {title}\n\n*{line}*\n'
    return f"{head}\n{body}\n" if body else head


def _date(facts: Mapping[str, Any]) -> str | None:
    created, updated = (str(facts.get(key) or "")[:10] for key in ("created", "updated"))
    return f"{created} to {updated}" if created and updated and created != updated else created or updated or None


def _lowered(body: str, by: int) -> str:
    """Move headings down by the given number of levels, at most to the deepest level."""
    pieces: list[str] = []
    done = 0
    for block in scan(body):
        if block.kind is BlockKind.HEADING and body.startswith("#", block.start):
            pieces += [body[done : block.start], "#" * (min(block.level + by, DEEPEST) - block.level)]
            done = block.start
    return "".join([*pieces, body[done:]])


def _linked(body: str, path: str, names: Mapping[str, str]) -> str:
    pieces: list[str] = []
    done = 0
    for link in find_links(body):
        target = resolve(link.target, path) if link.kind == "markdown" else None
        if target and target in names and link.target_start >= done:
            pieces += [body[done : link.target_start], f"#{names[target]}"]
            done = link.target_end
    return "".join([*pieces, body[done:]])


def _rank(path: str, home: str) -> tuple[int, tuple[tuple[int, str], ...]]:
    inner = _inner(path, home)
    place = next((at for at, first in enumerate(_FIRST) if inner == first or inner.startswith(first)), len(_FIRST))
    if is_log_path(path):
        place = len(_FIRST) + 1
    *folders, name = inner.split("/")
    # A page precedes the notes of its topic, and these precede the topics below it.
    within = tuple((1, folder) for folder in folders)
    return place, (*within, (0, "" if name == "_summary.md" else name))


def _inner(path: str, home: str) -> str:
    return path.removeprefix(f"{home}/") if home else path
