"""Describes the history of a note from its repository, under any path; the id identifies the note."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from mcp_memory.errors import InvalidInput, McpMemoryError, NotFound, Refused
from mcp_memory.git.repository import (
    FileTouch,
    HistoryStep,
    Repository,
    files_at,
    find_paths,
    find_repository,
    list_commits,
    read_blobs,
)
from mcp_memory.index.base import Index
from mcp_memory.models import NoteId, NotePath, NoteState
from mcp_memory.search.note_lookup import named_by
from mcp_memory.storage.path_rules import validate_existing
from mcp_memory.text.markdown import frontmatter
from mcp_memory.text.markdown.logs import is_log_path
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.succession.retirement import remove_entry
from mcp_memory.vault.vault import Vault
from mcp_memory.vault.withheld_pages import quotes_forgotten, sources_of

HISTORY_S = 60.0
MOST_STEPS = 5000
"""The most commits of a note that are read."""
AT_A_TIME = 200
"""The number of texts, of up to some megabytes each, that are read into memory together."""


@dataclass(frozen=True)
class HistoryEvent:
    """One commit. For a note, `change` is added, changed, moved, moved and changed, or removed. `path` is the note's
    path after the commit (or its last path), `before` its path before a move. For a folder or the vault, `files` is the
    number of files that the commit touches."""

    commit: str
    when: str
    who: str
    message: str
    change: str | None = None
    path: str | None = None
    before: str | None = None
    files: int | None = None


class KnownNote(NamedTuple):
    """A note in its repository. `paths` are all that the note ever had; `id` is None if only its path identifies it;
    `file` is the note now."""

    paths: Sequence[str]
    id: str | None
    file: NoteFile | None


def describe_history(vault: Vault, index: Index, target: str | None, at: str | None, limit: int) -> dict[str, Any]:
    """Return the history of a note, a folder or (None) the whole vault as plain values, newest first; or a note's text
    in the commit `at`. Reads git, files and the index, so it needs a worker thread.

    Raises InvalidInput, PathRefused, NotFound, GitUnavailable; Refused for a note in a source or a forgotten text."""
    if not 1 <= limit <= MOST_STEPS:
        raise InvalidInput(f"limit is {limit}", hint=f"1 to {MOST_STEPS}")
    repository = find_repository(vault.roots()[""], HISTORY_S)
    if at is not None:
        if target is None:
            raise InvalidInput("a commit without a note", hint="name a note, too")
        path, text = _text_at(vault, index, repository, target, at)
        return {"path": path, "text": text}
    if target and (target.endswith(".md") or "/" not in target or "#" in target):
        events = _note_events(vault, repository, target, limit)
    else:
        folder = (target or "").rstrip("/")
        if folder:
            validate_existing(folder)
        steps = list_commits(repository, (folder,) if folder else (), limit=limit)
        events = [
            HistoryEvent(step.commit, step.when, step.who, step.message, files=len(step.touched)) for step in steps
        ]
    return {"log": [asdict(event) for event in events]}


def _note_events(vault: Vault, repository: Repository, target: str, limit: int) -> list[HistoryEvent]:
    note = find_note(vault, repository, target)
    if note.id is None:
        found = list_commits(repository, note.paths, limit=limit, follow=True)
        events = [_event(step, step.touched) for step in found]
    else:
        found = list_commits(repository, note.paths, limit=MOST_STEPS)
        oids: dict[str, None] = {}
        for touch in (touch for step in found for touch in step.touched):
            oids |= {touch.new: None, touch.old: None}
        ids = _ids_in(repository, list(oids))
        events: list[HistoryEvent | None] = []
        for step in found:
            touched = [touch for touch in step.touched if note.id in {ids.get(touch.new), ids.get(touch.old)}]
            events.append(_event(step, touched))
    return [event for event in events if event][:limit]


def _text_at(vault: Vault, index: Index, repository: Repository, target: str, commit: str) -> tuple[str, str]:
    """Return the path and text of a note in that commit, without entries forgotten since. Raises Refused for a note
    that is or may be forgotten, and for a page that quotes a forgotten note."""
    note = find_note(vault, repository, target)
    if note.file and note.file.record.state is NoteState.DELETED:
        raise Refused(f"{note.file.record.path} is forgotten", hint=f"mcp-memory restore {note.file.record.id}")
    for path, data in files_at(repository, commit, note.paths).items():
        if path.endswith(".md") and (note.id is None or _id_in(data) == note.id):
            if not _is_kept(note.file, path, _id_in(data), index):
                raise Refused(
                    f"{path} was a note that is gone now: it may have been forgotten",
                    hint=f"git show {commit}:./{path}, in the vault's folder",
                )
            for entry in note.file.forgotten_entries if note.file else ():
                with suppress(NotFound):
                    data = remove_entry(NotePath(path), data, entry)  # noqa: PLW2901 -- one entry after the other
            text = frontmatter.decode(data).text or ""
            if sources_of(text) and quotes_forgotten(text, vault, index):
                raise Refused(f"{path} quoted a note that is forgotten or gone", hint=f"mcp-memory show {path}")
            return path, text
    raise NotFound(f"{target} is not in the commit {commit}", hint=f"mcp-memory changes {target}")


def _is_kept(now: NoteFile | None, path: str, then: str | None, index: Index) -> bool:
    """Return whether the vault still has the note that was at this path with the id `then`. `now`: the requested
    file."""
    if now and (then is None or then == now.record.id or is_log_path(path)):
        return True
    if then is None or is_log_path(path):
        return False  # only the file itself lists a log's forgotten entries
    return any(record.state is not NoteState.DELETED for record in index.note_by_id(NoteId(then)))


def find_note(vault: Vault, repository: Repository, target: str) -> KnownNote:
    """Find a note by id or path. Raises InvalidInput, PathRefused, Refused for a note in a source, NotFound."""
    named = named_by(target)
    path = named[0] if isinstance(named, tuple) else None
    if path and path.startswith("@"):
        raise Refused(f"{path} belongs to a read-only source", hint="its history is where it comes from")
    if path:
        validate_existing(path)  # the repository may contain more than the vault
    file = _read(vault, path) if path else None
    if path and (file is None or is_log_path(path) or file.record.id == f"path:{path}"):
        return KnownNote([path], None, file)
    note_id = file.record.id if file else str(named)
    earlier = (place for place in find_paths(repository, note_id) if not is_log_path(place))  # a log may name any note
    known = [*earlier, *vault.ledger.places_of(NoteId(note_id))]
    paths = list(dict.fromkeys([path, *known] if path else known))
    if not paths:
        raise NotFound(f"no commit knows the id {note_id[:100]!r}", hint="git log lists commits")
    files = (_read(vault, NotePath(place)) for place in paths)
    return KnownNote(paths, note_id, file or next((now for now in files if now and now.record.id == note_id), None))


def _read(vault: Vault, path: NotePath) -> NoteFile | None:
    try:
        return vault.read(path)
    except McpMemoryError:
        return None


def _event(step: HistoryStep, touched: Sequence[FileTouch]) -> HistoryEvent | None:
    """Return a commit's change to one note. A note that was removed in one place and added in another has moved."""
    if not touched:
        return None
    now = [touch for touch in touched if touch.path]
    gone = [touch for touch in touched if not touch.path]
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
    """Return blob → the id in its frontmatter. Reads `AT_A_TIME` blobs into memory at once."""
    ids: dict[str, str | None] = {}
    for start in range(0, len(oids), AT_A_TIME):
        blobs = read_blobs(repository.git, oids[start : start + AT_A_TIME])
        ids |= {oid: _id_in(data) for oid, data in blobs.items()}
    return ids


def _id_in(data: bytes) -> str | None:
    note_id = frontmatter.parse(frontmatter.decode(data).text or "").meta.get("id")
    return None if note_id is None else str(note_id)
