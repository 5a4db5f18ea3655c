"""Tells the history of a note from its repository, wherever the note has been; its id identifies it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from mcp_memory.errors import InvalidInput, McpMemoryError, NotFound, Refused
from mcp_memory.git.history import FileTouch, HistoryStep, files_at, find_paths, list_commits, texts_of
from mcp_memory.git.repository import Repository, find_repository
from mcp_memory.index.base import Index
from mcp_memory.models import NoteId, NotePath, NoteState
from mcp_memory.search.note_lookup import named_by
from mcp_memory.storage.path_rules import validate_existing
from mcp_memory.text.markdown import frontmatter
from mcp_memory.text.markdown.logs import is_log_path
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.retirement import remove_entry
from mcp_memory.vault.vault import Vault
from mcp_memory.vault.withheld_pages import quotes_forgotten, sources_of

PAST_S = 60.0
MOST_STEPS = 5000
"""Of one note that are looked at."""
AT_A_TIME = 200
"""Texts of up to some megabytes each."""


@dataclass(frozen=True, slots=True)
class HistoryEvent:
    """One commit. Of a note: `change` is added, changed, moved, moved and changed, or removed, `path` where it is then
    (or was), `before` where it was moved from. Of a folder or the whole vault: `files` is how many it touches."""

    commit: str
    when: str
    who: str
    message: str
    change: str | None = None
    path: str | None = None
    before: str | None = None
    files: int | None = None


@dataclass(frozen=True, slots=True)
class _Note:
    """`paths` are all that it ever had; `id` is None where its path alone names it; `file` is the note now."""

    paths: Sequence[str]
    id: str | None
    file: NoteFile | None


class NoteHistory:
    """Synchronous; reads git, files and the index: for a worker thread."""

    def __init__(self, vault: Vault, index: Index) -> None:
        self._vault = vault
        self._index = index

    def describe(self, target: str | None, at: str | None, limit: int) -> dict[str, Any]:
        """The history of a note, folder or (None) the whole vault as plain values; or a note's text in the commit
        `at`."""
        vault = self._vault
        if not 1 <= limit <= MOST_STEPS:
            raise InvalidInput(f"limit is {limit}", hint=f"1 to {MOST_STEPS}")
        if at is not None:
            if target is None:
                raise InvalidInput("a commit without a note", hint="name a note, too")
            path, text = note_at_commit(vault, self._index, target, at)
            return {"path": path, "text": text}
        return {
            "log": [
                asdict(event) for event in (note_events(vault, target, limit) if target else vault_events(vault, limit))
            ]
        }


def vault_events(vault: Vault, limit: int, folder: str | None = None) -> list[HistoryEvent]:
    """The latest commits that touch the vault or a folder of it, newest first. Raises PathRefused, NotFound for no
    repository, GitUnavailable."""
    if folder:
        validate_existing(folder)
    return [
        HistoryEvent(step.commit, step.when, step.who, step.message, files=len(step.touched))
        for step in list_commits(_repository(vault), (folder,) if folder else (), limit=limit)
    ]


def note_events(vault: Vault, target: str, limit: int) -> list[HistoryEvent]:
    """A note's commits, newest first, by its id or path, or a folder's; none where no commit holds it yet.

    Raises InvalidInput, Refused for a note in a source, NotFound, GitUnavailable.
    """
    if "/" in target and not target.endswith(".md") and "#" not in target:
        return vault_events(vault, limit, target.rstrip("/"))
    repository = _repository(vault)
    note = _named(vault, repository, target)
    alone = note.id is None
    found = list_commits(repository, note.paths, limit=limit if alone else MOST_STEPS, follow=alone)
    if note.id is None:
        events = [_event(step, step.touched) for step in found]
    else:
        oids = [oid for step in found for touch in step.touched for oid in (touch.new, touch.old)]
        ids = _ids_in(repository, list(dict.fromkeys(oids)))
        events = [
            _event(step, [touch for touch in step.touched if note.id in {ids.get(touch.new), ids.get(touch.old)}])
            for step in found
        ]
    return [event for event in events if event][:limit]


def note_at_commit(vault: Vault, index: Index, target: str, commit: str) -> tuple[str, str]:
    """The path and text of a note in that commit. What has been forgotten since is not told. Raises as `of_note`, and
    Refused for a note that is forgotten now or may be, and for a page that quotes such a one."""
    repository = _repository(vault)
    note = _named(vault, repository, target)
    if note.file and note.file.record.state is NoteState.DELETED:
        raise Refused(f"{note.file.record.path} is forgotten", hint=f"mcp-memory restore {note.file.record.id}")
    for path, data in files_at(repository, commit, note.paths).items():
        if path.endswith(".md") and (note.id is None or _id_in(data) == note.id):
            if not _is_kept(note.file, path, _id_in(data), index):
                raise Refused(
                    f"{path} was a note that is not there now: it may have been forgotten",
                    hint=f"git show {commit}:./{path}, in the vault's folder",
                )
            for entry in note.file.forgotten_entries if note.file else ():
                with suppress(NotFound):
                    data = remove_entry(NotePath(path), data, entry)  # noqa: PLW2901 -- less and less of it
            text = frontmatter.decode(data).text or ""
            if sources_of(text) and quotes_forgotten(text, vault, index):
                raise Refused(f"{path} quoted then what is forgotten or gone", hint=f"mcp-memory show {path}")
            return path, text
    raise NotFound(f"{target} is not in the commit {commit}", hint=f"mcp-memory log {target}")


def _is_kept(now: NoteFile | None, path: str, then: str | None, index: Index) -> bool:
    """Whether the vault still has what was at this path with the id `then`. `now`: the file that was asked for."""
    if now and (then is None or then == now.record.id or is_log_path(path)):
        return True
    if then is None or is_log_path(path):
        return False  # only the file itself knows the forgotten entries of a log
    return any(record.state is not NoteState.DELETED for record in index.note_by_id(NoteId(then)))


def _repository(vault: Vault) -> Repository:
    return find_repository(vault.roots()[""], PAST_S)


def _named(vault: Vault, repository: Repository, target: str) -> _Note:
    named = named_by(target)
    path = named[0] if isinstance(named, tuple) else None
    if path and path.startswith("@"):
        raise Refused(f"{path} belongs to a read-only source", hint="look at the history where it comes from")
    if path:
        validate_existing(path)  # the repository may hold more than the vault
    file = _read(vault, path) if path else None
    if path and (file is None or is_log_path(path) or file.record.id == f"path:{path}"):
        return _Note([path], None, file)
    note_id = file.record.id if file else str(named)
    once = (place for place in find_paths(repository, note_id) if not is_log_path(place))  # a log may name any note
    known = [*once, *vault.ledger.places_of(NoteId(note_id))]
    found = list(dict.fromkeys([path, *known] if path else known))
    if not found:
        raise NotFound(f"no commit knows the id {note_id[:100]!r}", hint="mcp-memory log lists commits")
    now = (each for place in found if (each := _read(vault, NotePath(place))) and each.record.id == note_id)
    return _Note(found, note_id, file or next(now, None))


def _read(vault: Vault, path: NotePath) -> NoteFile | None:
    try:
        return vault.read(path)
    except McpMemoryError:
        return None


def _event(step: HistoryStep, touched: Sequence[FileTouch]) -> HistoryEvent | None:
    """Of what a commit did to one note: in one place taken away and in another added, it has moved."""
    now = [touch for touch in touched if touch.path]
    gone = [touch for touch in touched if not touch.path]
    if not touched:
        return None
    touch = (now or gone)[0]
    was = touch if touch.before else gone[0] if now and gone else None
    if not now:
        change = "removed"
    elif was is None:
        change = "added"
    elif was.before == touch.path:
        change = "changed"
    else:
        change = "moved" if was.old == touch.new else "moved and changed"
    before = was.before if was and change.startswith("moved") else None
    return HistoryEvent(step.commit, step.when, step.who, step.message, change, touch.path or touch.before, before)


def _ids_in(repository: Repository, oids: Sequence[str]) -> dict[str, str | None]:
    """By the names of the bytes; not all of these are in memory at a time."""
    ids: dict[str, str | None] = {}
    for start in range(0, len(oids), AT_A_TIME):
        found = texts_of(repository, oids[start : start + AT_A_TIME])
        ids |= {oid: _id_in(data) for oid, data in found.items()}
    return ids


def _id_in(data: bytes) -> str | None:
    said = frontmatter.parse(frontmatter.decode(data).text or "").meta.get("id")
    return str(said) if said is not None else None
