"""Takes changes back: one change, the last change of a note, all of a session, a client or a time, or a whole run."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Literal, NamedTuple

from mcp_memory.client.credentials import PERSON
from mcp_memory.core.core import Core
from mcp_memory.core.requests import UndoRequest
from mcp_memory.core.serializers import Payload
from mcp_memory.core.verbs.forgetting import forget_note
from mcp_memory.core.verbs.storing import index_written
from mcp_memory.engine.history.change_history import ChangeHistory, find_earlier
from mcp_memory.errors import McpMemoryError, NotFound
from mcp_memory.models import Etag, NoteId, NotePath
from mcp_memory.runtime.threads import in_thread
from mcp_memory.search.note_lookup import Place
from mcp_memory.text.markdown.logs import is_log_path
from mcp_memory.text.pluralize import counted
from mcp_memory.vault.journals.change_journal import DECISION, DISK, DREAM, IMPORT, NoteChange, acting
from mcp_memory.vault.journals.tombstones import Caller
from mcp_memory.vault.note_file import NoteFile, is_memory

UndoAction = Literal["forget", "restore", "archive", "reinstate", "put back", "bring back", "undo run"]
"""The ways in which a change is undone. `reinstate` the note that another note had superseded, `put back` the earlier
text, `bring back` a file that was moved or removed, `undo run` with everything that the run changed."""

_INVERSE: Mapping[str, UndoAction] = {
    "stored": "forget",
    "imported": "forget",
    "forgotten": "restore",
    "archived": "restore",
    "restored": "forget",
    "superseded": "reinstate",
    "edited": "put back",
    "muted": "put back",
    "moved": "bring back",
    "removed": "bring back",
}

_AGAIN: Mapping[str, UndoAction] = {"archived": "archive", "superseded": "put back", "deleted": "forget"}
"""Maps the status that a restored note had to the action that undoes the restore."""
_RESTORING = {"restored", "archived", "superseded"}
"""A note that was archived or superseded before it was forgotten is so again after a restore."""

_NEED_TEXT = {"edited", "removed"}
"""A change by hand can be undone only if the earlier text was kept somewhere."""

_CHANGED = "it was changed since: undo that first, or change it with mcp-memory edit"
_BY_HAND = "it was {} by hand, and nobody kept the earlier text: a backup may have it, of a log mcp-memory doctor"
_MANY = "so many files changed at once that they were not noted one by one: git or a backup may have them"
_FILED = "notes and links go back with their whole run, while its journal is kept: mcp-memory changes names the run"


class UndoStep(NamedTuple):
    """A change, and how it is undone; without an action, `why` it can't be."""

    change: NoteChange
    action: UndoAction | None
    why: str = ""


class UndoPlan:
    """The plan to undo these changes, the latest first. Reads files: make it, and ask it, in a thread."""

    def __init__(self, core: Core, history: ChangeHistory, changes: Sequence[NoteChange]) -> None:
        self._core = core
        self._history = history
        self._changes = changes
        self._etags: dict[NoteId, Etag | None] = {}
        """The etag that each note has once the steps so far are done."""
        self._returning: set[str] = set()
        """The entries of logs that these steps put back."""
        runs = {one.run for one in history.changes if one.run}
        self._filing_runs = {run for run in runs if not run.startswith((IMPORT, DECISION, DREAM))}

    def steps(self) -> Iterator[UndoStep]:
        """Yield how each change is undone, and each run once."""
        whole = self._core.runs.undoable({one.run for one in self._changes if one.run})
        seen, yours = set[str](), self._notes_of_yours()
        for change in self._changes:
            if change.run not in whole or change.client == DREAM:
                yield self._step(change, yours)
            elif change.run not in seen:
                seen.add(change.run)
                yield UndoStep(change, "undo run")

    def _notes_of_yours(self) -> set[NoteId]:
        """Return the notes that you have edited and that these changes don't take back."""
        edits = [one for one in self._history.changes if one.kind == "edited" and one.client in {DISK, PERSON}]
        own = [one for one in edits if not (one.run or one.undoes or self._history.is_undone(one))]
        return {one.note for one in own if one not in self._changes}

    def _step(self, change: NoteChange, yours: set[NoteId]) -> UndoStep:
        if change.count:
            return UndoStep(change, None, _MANY)
        if change.client == DISK and change.kind in _NEED_TEXT and find_earlier(self._core, change) is None:
            return UndoStep(change, None, _BY_HAND.format(change.kind))
        if change.kind in {"moved", "edited"} and self._filing_runs & {change.run, change.undoes}:
            return UndoStep(change, None, _FILED)
        if change.kind == "edited" and change.entry and is_log_path(change.path):
            return self._step_of_entry(change, change.entry)
        action = _INVERSE[change.kind]
        if change.kind in _RESTORING:
            action = _AGAIN.get(change.other or "", action)
        if _INVERSE[change.kind] == "forget" and not change.entry and change.note in yours:
            why = f"you edited it since; to forget it all the same: mcp-memory forget {change.note}"
            return UndoStep(change, None, why)
        if action != "bring back":
            note = self._history.note(change)
            now = self._etags.get(change.note, note and note.etag)
            self._etags[change.note] = change.before
            if _INVERSE[change.kind] == "put back" and now not in {change.after, change.before}:
                return UndoStep(change, None, _CHANGED)
        return UndoStep(change, action)

    def _step_of_entry(self, change: NoteChange, entry: str) -> UndoStep:
        if not (self._core.vault.read(change.path).has_entry(entry) or entry in self._returning):
            return UndoStep(change, None, _CHANGED)
        self._returning.add(change.other or "")
        return UndoStep(change, "put back")


async def undo_changes(core: Core, wanted: UndoRequest) -> Payload:
    """Undo changes if you are `sure`, else only list the `steps`, and the moment that `since` means. A step that wasn't
    done, or not all of it, has the reason. A step that fails doesn't stop the others."""

    def read() -> list[tuple[UndoStep, Payload]]:
        history = ChangeHistory(core)
        steps = UndoPlan(core, history, history.to_undo(wanted)).steps()
        return [(step, history.describe(step.change)) for step in steps]

    found: list[Payload] = []
    for step, facts in await in_thread(read, what="reading the changes"):
        described = {**facts, "action": step.action or "", "why": step.why}
        found.append(described)
        if wanted.sure and step.action:
            try:
                described |= await _undo(core, step.change, step.action)
            except McpMemoryError as error:
                described["why"] = str(error)
    return {"sure": wanted.sure, "steps": found, "since": wanted.since}


async def _undo(core: Core, change: NoteChange, action: UndoAction) -> Payload:
    """Undo a change, and return the report of a run. Raises the errors of the vault and of `JournaledRuns.undo`."""
    if action == "undo run" and change.run:
        report = await core.runs.undo(change.run)
        why = f"{counted(len(report.left), 'file')} had to stay: {'; '.join(report.left)}" if report.left else ""
        return {"why": why, "report": asdict(report)}
    by = Caller(PERSON, is_person=True, undoes=change.id)
    with acting(by):
        if action == "bring back":
            await _bring_back(core, change)
        else:
            target = change.target if change.entry or not change.note.startswith("path:") else NotePath(change.path)

            async def work(places: Sequence[Place]) -> None:
                await _change_note(core, change, action, places[0][0], by)

            await core.search.lookup.reach([target], work, deleted=action == "restore")
    core.search.model.wake()
    return {}


async def _change_note(core: Core, change: NoteChange, action: UndoAction, path: NotePath, by: Caller) -> None:
    entry = change.entry
    if entry and is_memory(path) and action == "put back":  # an entry of MEMORY.md that was replaced
        with suppress(NotFound):
            await forget_note(core, path, entry, restore=True, by=by)
            return
    if action in {"put back", "reinstate"}:

        def put_back() -> NoteFile:
            earlier = find_earlier(core, change)
            if action == "reinstate":
                return core.vault.reinstate(path, change, earlier)
            return core.vault.editing.put_back(path, change, earlier)

        await index_written(core, await in_thread(put_back, deadline_s=30, what="writing it"))
    else:
        restore, archive = action == "restore", action == "archive"
        now = await forget_note(core, path, entry, restore=restore, archive=archive, reason="undone", by=by)
        written = [(one.before, one.after) for one in core.vault.changes.since(0)]
        if is_memory(path) and (change.after, now.etag) in written:
            if change.before is None and change.client == DREAM:  # the entry began the file
                await in_thread(core.vault.filing.remove_page, path, now.etag, what="removing it")
                await core.indexing.writer.remove_deleted(path)
                return
            back = replace(change, entry=None, after=now.etag)
            with suppress(NotFound):  # with the heading that the entry began
                await _change_note(core, back, "put back", path, by)


async def _bring_back(core: Core, change: NoteChange) -> None:
    file = await in_thread(
        lambda: core.vault.editing.bring_back(change, find_earlier(core, change)), deadline_s=30, what="writing it"
    )
    await index_written(core, file, change.path)
