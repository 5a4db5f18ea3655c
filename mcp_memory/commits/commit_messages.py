"""Splits file changes into commits, one per kind of work, and names each of them. Pure."""

import posixpath
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from mcp_memory.errors import ConfigInvalid
from mcp_memory.git.commits import CommitPart, FileChange
from mcp_memory.models import Status
from mcp_memory.projects.session_grants import SESSIONS_FILE, parse_grants
from mcp_memory.text.markdown import frontmatter, logs
from mcp_memory.text.pluralize import counted
from mcp_memory.topics.page import FRESH, TOPICS, is_page, is_topic_name
from mcp_memory.vault.marker import MARKER, README
from mcp_memory.vault.note_file import Layout

_VERBS = ("add", "update", "restore", "forget", "erase")
"""The verbs in the order of their commits."""


@dataclass
class _Filed:
    """A compaction's changes in one top-level topic."""

    arrived: list[FileChange] = field(default_factory=list[FileChange])
    """Notes that are new there, moved from elsewhere or made."""
    departed: list[FileChange] = field(default_factory=list[FileChange])
    """The former places of the moved notes."""
    pages: list[FileChange] = field(default_factory=list[FileChange])


def split_into_commits(changes: Sequence[FileChange], layout: Layout) -> Iterator[CommitPart]:
    """Yield the commits, with every change in exactly one part."""
    first_files = {MARKER, layout.in_home(README)}
    begun = [change for change in changes if change.before is None and change.path in first_files]
    if begun:
        yield CommitPart("memory: begin a vault", begun)
    grants = [change for change in changes if change.path == layout.in_home(SESSIONS_FILE)]
    for change in grants:
        yield CommitPart(f"memory: {_change_of_grants(change)}", [change])
    begun += grants
    filed: dict[str, _Filed] = defaultdict(_Filed)
    moved_back, pages = _Filed(), list[FileChange]()
    by_verb: dict[str, list[FileChange]] = defaultdict(list)
    removed: dict[bytes, list[FileChange]] = defaultdict(list)
    for change in changes:
        if change.before is not None and change.after is None and not _is_page(change, layout):
            removed[change.before].append(change)
    for change in changes:
        top = _top_topic(change.path, layout)
        if change in begun:
            continue
        if _is_page(change, layout):
            (filed[top].pages if top else pages).append(change)
        elif change.after is not None:
            same_bytes = removed.get(change.after) if change.before is None else None
            source = [same_bytes.pop()] if same_bytes else []
            if source or (top and change.before is None):
                place = filed[top] if top else moved_back
                place.arrived.append(change)
                place.departed += source
            else:
                by_verb[_verb(change)].append(change)
    by_verb["erase"] += [change for group in removed.values() for change in group]
    # The pages of topics that lost notes are committed with the notes that left the topics.
    lost_notes = {_top_topic(change.path, layout) for change in moved_back.departed}
    for top in lost_notes & {top for top in filed if not filed[top].arrived}:
        moved_back.pages += filed.pop(top).pages
    yield from _edits(by_verb, layout)
    yield from _compactions(filed, pages, layout)
    if arrived := moved_back.arrived:
        folders = {_shown(change.path, layout).rpartition("/")[0] for change in arrived}
        where = f" to {folders.pop()}/" if len(folders) == 1 else ""
        moved = [*arrived, *moved_back.departed, *moved_back.pages]
        yield CommitPart(f"memory: move {_notes(arrived, layout)}{where}", moved)


def _change_of_grants(change: FileChange) -> str:
    """Return which topics are now shared with sessions, or no longer."""
    told = list[str]()
    with suppress(ConfigInvalid):
        before, after = parse_grants(change.before), parse_grants(change.after)
        for verb, some, others in (("share", after, before), ("stop sharing", before, after)):
            told += [f"{verb} {posixpath.basename(one.topic)} with {one.session}" for one in some if one not in others]
    return ", ".join(told) or f"update {SESSIONS_FILE}"


def _edits(by_verb: Mapping[str, Sequence[FileChange]], layout: Layout) -> Iterator[CommitPart]:
    for verb in _VERBS:
        entries = [change for change in by_verb.get(verb, ()) if logs.is_log_path(change.path)]
        notes = [change for change in by_verb.get(verb, ()) if not logs.is_log_path(change.path)]
        if notes:
            yield CommitPart(f"memory: {verb} {_notes(notes, layout)}", notes)
        if entries:
            number = sum(map(_entries_changed, entries))
            yield CommitPart(f"memory: {verb} {counted(number, 'log entry', 'log entries')}", entries)


def _compactions(filed: Mapping[str, _Filed], pages: Sequence[FileChange], layout: Layout) -> Iterator[CommitPart]:
    parts: list[CommitPart] = []
    rewritten: list[FileChange] = []
    for topic in filed.values():
        if topic.arrived:
            folder = posixpath.commonpath([posixpath.dirname(change.path) for change in topic.arrived])
            name = _shown(folder, layout).removeprefix(f"{TOPICS}/")
            message = f"memory: compact {counted(len(topic.arrived), 'note')} into {name}/"
            parts.append(CommitPart(message, [*topic.arrived, *topic.departed, *topic.pages]))
        else:
            rewritten += topic.pages
    if rewritten:
        folders = sorted({_shown(change.path, layout).rpartition("/")[0] for change in rewritten})
        where = f"{folders[0].removeprefix(f'{TOPICS}/')}/" if len(folders) == 1 else f"{len(folders)} topics"
        parts.append(CommitPart(f"memory: re-summarise {where}", rewritten))
    if pages and not parts:
        parts.append(CommitPart("memory: re-summarise the map of topics", pages))
    elif pages:  # the index of topics changed because of the last part
        parts[-1] = CommitPart(parts[-1].message, [*parts[-1].changes, *pages])
    yield from parts


def _verb(change: FileChange) -> str:
    """Return the verb for a file that exists now."""
    if change.before is None:
        return "add"
    before, after = _text(change.before), _text(change.after)
    if logs.is_log_path(change.path):
        hidden_before, hidden_after = _forgotten_entries(before), _forgotten_entries(after)
        if hidden_before != hidden_after:
            return "forget" if hidden_after > hidden_before else "restore"
        return "add" if len(logs.entries(after)) > len(logs.entries(before)) else "update"
    was, now = (frontmatter.parse(text).meta.get("status") == Status.DELETED for text in (before, after))
    return "update" if was == now else "forget" if now else "restore"


def _entries_changed(change: FileChange) -> int:
    before, after = _text(change.before), _text(change.after)
    if change.before is None or change.after is None:
        return max(1, len(logs.entries(after)))
    hidden = abs(_forgotten_entries(after) - _forgotten_entries(before))
    return hidden or max(1, abs(len(logs.entries(after)) - len(logs.entries(before))))


def _forgotten_entries(text: str) -> int:
    return len(frontmatter.parse(text).meta.get("forgotten") or ())


def _text(data: bytes | None) -> str:
    return frontmatter.decode(data or b"").text or ""


def _notes(changes: Sequence[FileChange], layout: Layout) -> str:
    return f"note {_shown(changes[0].path, layout)}" if len(changes) == 1 else f"{len(changes)} notes"


def _shown(path: str, layout: Layout) -> str:
    return layout.below_home(path) or path


def _top_topic(path: str, layout: Layout) -> str:
    """Return the top-level topic that a file is in; empty for a file outside of topics."""
    inside = (layout.below_home(path) or "").split("/")
    is_filed = len(inside) > 2 and inside[0] == TOPICS and inside[1] != FRESH and is_topic_name(inside[1])
    return inside[1] if is_filed else ""


def _is_page(change: FileChange, layout: Layout) -> bool:
    return is_page(layout.below_home(change.path) or "")
