"""Lists the changes of notes, the latest first, and undoes them."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from typing import Any

from mcp_memory.client.credentials import PERSON
from mcp_memory.core.core import Core
from mcp_memory.core.requests import ChangesRequest, UndoRequest
from mcp_memory.core.verbs.forgetting import forget_note
from mcp_memory.core.verbs.written_notes import index_written
from mcp_memory.engine.history.note_titles import find_titled
from mcp_memory.errors import InvalidInput, McpMemoryError, NotFound, PreconditionFailed
from mcp_memory.git.history import find_version
from mcp_memory.git.repository import find_repository
from mcp_memory.models import Etag, NoteId, NotePath
from mcp_memory.recall.excerpts import ID_CHARS
from mcp_memory.runtime.threads import in_thread
from mcp_memory.search.filters import ANY_PROJECT, moment_of
from mcp_memory.search.note_lookup import Place
from mcp_memory.storage.trash import find_thrown_away
from mcp_memory.text.dates import format_when
from mcp_memory.text.markdown.logs import is_log_path
from mcp_memory.text.pluralize import counted
from mcp_memory.vault.journals.change_journal import DECISION, DISK, IMPORT, ChangeKind, NoteChange, acting
from mcp_memory.vault.journals.tombstones import Caller
from mcp_memory.vault.note_file import MEMORY, read_note

_INVERSE = {
    ChangeKind.STORED: "forget",
    ChangeKind.IMPORTED: "forget",
    ChangeKind.FORGOTTEN: "restore",
    ChangeKind.ARCHIVED: "restore",
    ChangeKind.RESTORED: "forget",
    ChangeKind.SUPERSEDED: "reinstate",
    ChangeKind.EDITED: "put back",
    ChangeKind.MUTED: "put back",
}
"""The ways in which a change is undone."""

_AGAIN = {"archived": "archive", "superseded": "put back"}
"""Maps the status that a restored note had to the action that undoes the restore."""

_NEED_TEXT = {ChangeKind.EDITED, ChangeKind.REMOVED}
"""A change by hand can be undone only if the earlier text was kept somewhere."""

_CHANGED = "it was changed since: undo that first, or change it with mcp-memory edit"
_BY_HAND = "it was {} by hand, and nobody kept the earlier text: a backup may have it, of a log mcp-memory recover"
_MANY = "so many files changed at once that they were not noted one by one: git or a backup may have them"
MOST_LOOKED_FOR = 50
"""The most removed files that are looked for in git and the trash, at some 20 ms each."""


class ChangeHistory:
    """The changes as they are known at one moment. Reads files: make it, and ask it, in a thread."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.changes = core.vault.changes.changes()
        self._looked_for, self._undone = 0, set[str]()
        self._titles: dict[NotePath, dict[str, str]] = {}
        for change in self.changes:
            if change.undoes and not self.is_undone(change):
                self._undone.add(change.undoes)

    def is_undone(self, change: NoteChange) -> bool:
        return change.id in self._undone or change.run in self._undone

    def select(self, wanted: ChangesRequest | UndoRequest, project: str | None = None) -> list[NoteChange]:
        """Raises InvalidInput."""
        client = {"you": PERSON}.get(wanted.client or "", wanted.client)
        session = wanted.session and wanted.session.rpartition("/")[2]
        since = moment_of("since", wanted.since, self._core.vault.layout.tz)
        projects = None if project in (None, ANY_PROJECT) else {project, None}
        return [
            change
            for change in self.changes
            if client in (None, change.client)
            and session in (None, change.session and change.session.rpartition("/")[2])
            and (projects is None or change.project in projects)
            and (since is None or change.at >= since.timestamp())
        ]

    def find(self, target: str) -> list[NoteChange]:
        """Find changes by id (its first characters suffice) or by run, or a note's last change that isn't undone.
        A decision's changes come together. Raises InvalidInput, NotFound."""
        found = [one for one in self.changes if one.run == target or (len(target) >= 4 and one.id.startswith(target))]
        if not found:
            of_note = [one for one in self.changes if _concerns(one, target)]
            found = [one for one in of_note if not one.undoes and not self.is_undone(one)][:1]
            if of_note and not found:
                raise InvalidInput(f"all known changes of {target} are undone", hint="mcp-memory changes lists them")
        decided = {one.run for one in found if _is_decision(one)}
        found += [one for one in self.changes if one.run in decided and one not in found]
        if not found:
            raise NotFound(f"no change {target[:100]!r} is known", hint="mcp-memory changes lists them")
        if len({one.run or one.id for one in found}) > 1:
            raise InvalidInput(f"{target} is the beginning of several changes", hint="pass all 8 characters")
        return found

    def to_undo(self, wanted: UndoRequest) -> list[NoteChange]:
        """Return the latest changes first, without changes that were undone and without their undoing. Raises as
        `find`."""
        if (wanted.target is None) is not any((wanted.client, wanted.session, wanted.since)):
            raise InvalidInput(
                "name one change or note, or which by client, session or since", hint="mcp-memory changes"
            )
        found = self.find(wanted.target) if wanted.target else self.select(wanted)
        stored = {one.target for one in found if one.kind is ChangeKind.STORED}
        ids = {one.id for one in found} | {one.run for one in found}
        return [
            one
            for one in self.changes
            if (one.id in ids or (one.kind is ChangeKind.SUPERSEDED and one.other in stored))
            and not self.is_undone(one)
            and one.undoes not in ids - {None}
            and (wanted.only is None or one.id in wanted.only)
        ]

    def describe(self, change: NoteChange) -> dict[str, Any]:
        """Describe a change, with the path that the note has now, or was moved to, and its title before the change, if
        its text is kept."""
        note, title = find_titled(self._core, change.target, self._titles)
        if note and change.after and not change.entry and change.after != note.etag:
            vault = self._core.vault
            if was := vault.changes.find(change.note, change.after):
                title = read_note(change.path, was, change.after, "", vault.layout, vault.kinds).record.title
        path = note.path if note and not change.entry and change.kind is not ChangeKind.MOVED else change.path
        at = format_when(datetime.fromtimestamp(change.at, self._core.vault.layout.tz))
        facts = {**asdict(change), "at": at, "path": path, "title": title, "undone": self.is_undone(change)}
        if change.kind is ChangeKind.REMOVED and not facts["undone"] and self._looked_for < MOST_LOOKED_FOR:
            self._looked_for += 1
            facts["is_kept"] = _earlier(self._core, change) is not None
        return {"id": change.id, "target": change.target, **facts}

    def steps(self, changes: Sequence[NoteChange]) -> Iterator[tuple[NoteChange, str, str]]:
        """Yield how each change is undone, or why it can't be."""
        runs, before, returning = set[str](), dict[NoteId, Etag | None](), set[str]()
        edits = (one for one in self.changes if one.kind is ChangeKind.EDITED and one.client in {DISK, PERSON})
        edits = (one for one in edits if not (one.run or one.undoes or self.is_undone(one)))
        yours = {one.note for one in edits if one not in changes}
        for change in changes:
            if change.run and not change.run.startswith((IMPORT, DECISION)):
                if change.run not in runs:
                    runs.add(change.run)
                    yield change, "undo run", ""
            elif change.count:
                yield change, "", _MANY
            elif change.client == DISK and change.kind in _NEED_TEXT and _earlier(self._core, change) is None:
                yield change, "", _BY_HAND.format(change.kind)
            elif change.client == DISK and change.kind in {ChangeKind.REMOVED, ChangeKind.MOVED}:
                yield change, "bring back", ""
            elif change.kind is ChangeKind.EDITED and change.entry and is_log_path(change.path):
                stands = self._core.vault.read(change.path).has_entry(change.entry) or change.entry in returning
                returning |= {change.other or ""} if stands else set()
                yield change, "put back" if stands else "", "" if stands else _CHANGED
            elif _INVERSE.get(change.kind) == "forget" and not change.entry and change.note in yours:
                yield change, "", f"you edited it since; to forget it all the same: mcp-memory forget {change.note}"
            elif change.kind is ChangeKind.RESTORED and change.other in _AGAIN:
                yield change, _AGAIN[change.other], ""
            elif change.kind in _INVERSE:
                note = find_titled(self._core, change.target, self._titles).record
                now = before.get(change.note, note and note.etag)
                before[change.note] = change.before
                is_gone = _INVERSE[change.kind] == "put back" and now not in {change.after, change.before}
                yield change, "" if is_gone else _INVERSE[change.kind], _CHANGED if is_gone else ""
            else:
                yield change, "", "compact files notes again, and review --undo takes an accepted candidate back"


def _earlier(core: Core, change: NoteChange) -> bytes | None:
    """Return the bytes from before an edit, or of a file that was removed, as kept or else from the trash or git. None
    if they are nowhere."""
    etag, vault = change.before or Etag(""), core.vault
    with suppress(McpMemoryError):
        kept = vault.changes.find(change.note, etag) or find_thrown_away(vault.roots()[""], change.path, etag)
        return kept or find_version(find_repository(vault.roots()[""], deadline_s=10), change.path, etag)
    return None


def _is_decision(change: NoteChange) -> bool:
    return (change.run or "").startswith(DECISION)


def _concerns(change: NoteChange, target: str) -> bool:
    """Return whether this note was changed, or was kept instead of a note that it contradicted. Undoing such a decision
    leaves this note as it is."""
    kept = change.other if _is_decision(change) else None
    return target == change.path or any(_is_end_of(name, target) for name in (change.target, kept) if name)


def _is_end_of(note: str, target: str) -> bool:
    """Return whether the target is the note's id, or the end of it, as agents and lists name notes."""
    return note.endswith(target) and (len(target) >= ID_CHARS or note == target)


async def list_changes(core: Core, wanted: ChangesRequest) -> dict[str, Any]:
    """List the changes. `since`: the time from which changes are known."""

    def read() -> dict[str, Any]:
        history = ChangeHistory(core)
        found = history.select(wanted, wanted.project)
        known_since = history.changes[-1].at if history.changes else core.clock().timestamp()
        return {
            "changes": list(map(history.describe, found[: wanted.limit])),
            "further": max(0, len(found) - wanted.limit),
            "since": format_when(datetime.fromtimestamp(known_since, core.vault.layout.tz)),
        }

    return await in_thread(read, what="reading the changes")


async def undo_changes(core: Core, wanted: UndoRequest) -> dict[str, Any]:
    """Undo changes if you are `sure`, else only list the `steps`. A step that wasn't done has the reason. A step that
    fails doesn't stop the others."""

    def read() -> list[tuple[NoteChange, str, str, dict[str, Any]]]:
        history = ChangeHistory(core)
        return [(*step, history.describe(step[0])) for step in history.steps(history.to_undo(wanted))]

    steps: list[dict[str, Any]] = []
    for change, action, why, facts in await in_thread(read, what="reading the changes"):
        steps.append({**facts, "action": action, "why": why})
        if wanted.sure and action:
            try:
                await _undo(core, change, action)
            except McpMemoryError as error:
                steps[-1]["why"] = str(error)
    return {"sure": wanted.sure, "steps": steps}


async def _undo(core: Core, change: NoteChange, action: str) -> None:
    """Undo a step. Raises the errors of the vault and the compactor."""
    by = Caller(PERSON, is_person=True, undoes=change.id)

    async def work(places: Sequence[Place]) -> None:
        path, entry = places[0][0], change.entry
        if entry and path == MEMORY and action == "put back":  # an entry of MEMORY.md that was replaced
            with suppress(NotFound):
                await forget_note(core, path, entry, restore=True, by=by)
                return
        if action in {"put back", "reinstate"}:
            put_back = core.vault.editing.put_back
            earlier = await in_thread(lambda: _earlier(core, change), deadline_s=30, what="reading it")
            file = await in_thread(lambda: put_back(path, change, earlier), deadline_s=30, what="writing it")
            await index_written(core, file)
        else:
            restore, archive = action == "restore", action == "archive"
            await forget_note(core, path, entry, restore=restore, archive=archive, reason="undone", by=by)

    if action == "undo run" and change.run:
        report = await core.runs.undo(change.run)
        if report.left:
            raise PreconditionFailed(f"{counted(len(report.left), 'file')} had to stay: {report.left[0]}")
        return
    if action == "bring back":
        bring_back = core.vault.editing.bring_back
        with acting(by):
            kept = await in_thread(lambda: _earlier(core, change), deadline_s=30, what="reading it")
            file = await in_thread(lambda: bring_back(change, kept), deadline_s=30, what="writing it")
        await index_written(core, file)
        if change.kind is ChangeKind.MOVED:
            await core.indexing.writer.remove_deleted(change.path)
        core.search.model.wake()
        return
    with acting(by):
        target = change.target if change.entry or not change.note.startswith("path:") else NotePath(change.path)
        await core.search.lookup.reach([target], work, deleted=action == "restore")
    core.search.model.wake()
