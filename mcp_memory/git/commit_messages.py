"""Splits file changes into commits, one per kind of work, and names each of them. Pure."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from mcp_memory.git.file_changes import FileChange
from mcp_memory.git.make_commits import CommitPart
from mcp_memory.models import Status
from mcp_memory.text.markdown import frontmatter, logs
from mcp_memory.topics.page import TOPICS, is_page
from mcp_memory.topics.plan import FRESH, is_topic_name
from mcp_memory.vault.marker import MARKER
from mcp_memory.vault.note_file import Layout

_VERBS = ("add", "update", "restore", "forget", "erase")
"""In the order of their commits."""


@dataclass(slots=True)
class _Filed:
    """What a compaction has done to one topic at the top."""

    leaves: list[FileChange] = field(default_factory=list[FileChange])
    """Now in it, and before elsewhere or nowhere."""
    left: list[FileChange] = field(default_factory=list[FileChange])
    """Where these were."""
    pages: list[FileChange] = field(default_factory=list[FileChange])


def split_into_commits(changes: Sequence[FileChange], layout: Layout) -> Iterator[CommitPart]:
    """Every change in exactly one part."""
    begun = [
        change for change in changes if change.old is None and change.path in {MARKER, layout.in_home("README.md")}
    ]
    if begun:
        yield CommitPart("memory: begin a vault", begun)
    yield from _parts_of([change for change in changes if change not in begun], layout)


def _parts_of(changes: Sequence[FileChange], layout: Layout) -> Iterator[CommitPart]:
    filed: dict[str, _Filed] = defaultdict(_Filed)
    back, others, pages = _Filed(), dict[str, list[FileChange]](), list[FileChange]()
    gone = _by_bytes(change for change in changes if change.new is None and not _is_page(change, layout))
    for change in changes:
        top = _top(change.path, layout)
        if _is_page(change, layout):
            (filed[top].pages if top else pages).append(change)
        elif change.old is None and change.new:
            same = gone.get(change.new.oid)
            before = [same.pop()] if same else []
            kept = filed[top] if top else back if before else None
            if kept:
                kept.leaves.append(change)
                kept.left += before
            else:
                others.setdefault(_verb(change), []).append(change)
        elif change.new:
            others.setdefault(_verb(change), []).append(change)
    for change in (change for some in gone.values() for change in some):
        others.setdefault("erase", []).append(change)
    # The pages of topics that were left go with the notes that left them.
    for top in {_top(change.path, layout) for change in back.left} & {top for top in filed if not filed[top].leaves}:
        back.pages += filed.pop(top or "").pages
    yield from _told_others(others, layout)
    yield from _told_filed(filed, pages, layout)
    yield from _told_back(back, layout)


def _told_others(others: dict[str, list[FileChange]], layout: Layout) -> Iterator[CommitPart]:
    for verb in _VERBS:
        some = others.get(verb, ())
        entries = [change for change in some if logs.is_log_path(change.path)]
        leaves = [change for change in some if not logs.is_log_path(change.path)]
        if leaves:
            yield CommitPart(f"memory: {verb} {_leaves(leaves, layout)}", leaves)
        if entries:
            number = sum(_entries_changed(change) for change in entries)
            what = "1 log entry" if number == 1 else f"{number} log entries"
            yield CommitPart(f"memory: {verb} {what}", entries)


def _told_filed(filed: dict[str, _Filed], pages: Sequence[FileChange], layout: Layout) -> Iterator[CommitPart]:
    parts: list[CommitPart] = []
    renewed: list[FileChange] = []
    for each in filed.values():
        if each.leaves:
            folder = posixpath.commonpath([posixpath.dirname(change.path) for change in each.leaves])
            name = (layout.below_home(folder) or folder).removeprefix(f"{TOPICS}/")
            number = "1 leaf" if len(each.leaves) == 1 else f"{len(each.leaves)} leaves"
            parts.append(CommitPart(f"memory: compact {number} into {name}/", [*each.leaves, *each.left, *each.pages]))
        else:
            renewed += each.pages
    if renewed:
        folders = sorted({(layout.below_home(change.path) or change.path).rpartition("/")[0] for change in renewed})
        told = f"{folders[0].removeprefix(f'{TOPICS}/')}/" if len(folders) == 1 else f"{len(folders)} topics"
        parts.append(CommitPart(f"memory: re-summarise {told}", renewed))
    if pages and not parts:
        parts.append(CommitPart("memory: re-summarise the map of topics", pages))
    elif pages:  # the map that tells of it, too
        parts[-1] = CommitPart(parts[-1].message, [*parts[-1].changes, *pages])
    yield from parts


def _told_back(back: _Filed, layout: Layout) -> Iterator[CommitPart]:
    if back.leaves:
        places = {(layout.below_home(change.path) or change.path).rpartition("/")[0] for change in back.leaves}
        where = f" to {places.pop()}/" if len(places) == 1 else ""
        yield CommitPart(f"memory: move {_leaves(back.leaves, layout)}{where}", [*back.leaves, *back.left, *back.pages])


def _verb(change: FileChange) -> str:
    """Of a file that is there now."""
    if change.old is None:
        return "add"
    before, after = _text(change.before), _text(change.after)
    if logs.is_log_path(change.path):
        hidden, hiding = len(_forgotten(before)), len(_forgotten(after))
        if hidden != hiding:
            return "forget" if hiding > hidden else "restore"
        return "add" if _entries(change.after) > _entries(change.before) else "update"
    was, now = (frontmatter.parse(text).meta.get("status") == Status.DELETED for text in (before, after))
    return "update" if was == now else "forget" if now else "restore"


def _entries_changed(change: FileChange) -> int:
    if change.old is None or change.new is None:
        return max(1, _entries(change.after))
    hidden = abs(len(_forgotten(_text(change.after))) - len(_forgotten(_text(change.before))))
    return hidden or max(1, abs(_entries(change.after) - _entries(change.before)))


def _entries(data: bytes) -> int:
    return len(logs.entries(_text(data)))


def _forgotten(text: str) -> Sequence[object]:
    return frontmatter.parse(text).meta.get("forgotten") or ()


def _text(data: bytes) -> str:
    return frontmatter.decode(data).text or ""


def _leaves(changes: Sequence[FileChange], layout: Layout) -> str:
    if len(changes) == 1:
        path = changes[0].path
        return f"leaf {layout.below_home(path) or path}"
    return f"{len(changes)} leaves"


def _top(path: str, layout: Layout) -> str:
    """The topic at the top that a file is in; empty where it is in none."""
    inside = (layout.below_home(path) or "").split("/")
    is_filed = len(inside) > 2 and inside[0] == TOPICS and inside[1] != FRESH and is_topic_name(inside[1])
    return inside[1] if is_filed else ""


def _is_page(change: FileChange, layout: Layout) -> bool:
    return is_page(layout.below_home(change.path) or "")


def _by_bytes(changes: Iterable[FileChange]) -> dict[str, list[FileChange]]:
    found: dict[str, list[FileChange]] = defaultdict(list)
    for change in changes:
        if change.old:
            found[change.old.oid].append(change)
    return found
