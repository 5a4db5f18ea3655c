"""Lists the changes of notes, the latest first, with the titles that the notes have now, and finds the changes that
you name."""

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime, tzinfo
from typing import NamedTuple

from mcp_memory.client.credentials import PERSON
from mcp_memory.core.core import Core
from mcp_memory.core.requests import ChangesRequest, UndoRequest
from mcp_memory.core.serializers import Payload
from mcp_memory.errors import InvalidInput, McpMemoryError, NotFound
from mcp_memory.git.repository import find_repository, find_version
from mcp_memory.models import Etag, NoteId, NotePath, NoteRecord
from mcp_memory.recall.excerpts import ID_CHARS
from mcp_memory.recall.note_list import date_of
from mcp_memory.runtime.threads import in_thread
from mcp_memory.search.filters import ANY_PROJECT
from mcp_memory.search.note_lookup import named_by
from mcp_memory.storage.trash import find_thrown_away
from mcp_memory.text.changed_lines import changed_lines
from mcp_memory.text.dates import format_when, parse_argument
from mcp_memory.text.escape_invisible import visible_in
from mcp_memory.text.markdown import logs
from mcp_memory.text.markdown.note_links import DERIVED_FROM
from mcp_memory.usage.note_use import NoteUse, heat
from mcp_memory.vault.journals.change_journal import DECISION, DREAM, NoteChange
from mcp_memory.vault.note_file import derive_title, entries_of, read_note


class TitledNote(NamedTuple):
    """`record` is None if the index has no such note; a title may be empty."""

    record: NoteRecord | None
    title: str


def find_titled(core: Core, target: str, read: dict[NotePath, dict[str, str]]) -> TitledNote:
    """Return the note with this id, forgotten or not, or the note with this entry. Reads a file only if it isn't in
    `read`, since a long day takes a tenth of a second. Call it in a thread."""
    named = named_by(target)
    if not isinstance(named, tuple):
        found = core.index.note_by_id(named)
        return TitledNote(found[0], found[0].title) if found else TitledNote(None, "")
    path, hash_ = named
    note = core.index.note(path)
    if hash_ is None:
        return TitledNote(note, note.title if note else "")
    if path not in read:
        read[path] = {}
        with suppress(McpMemoryError):
            text = core.vault.read(path).text
            read[path] = {entry.hash: _title(text[entry.start : entry.end]) for entry in entries_of(path, text)}
    return TitledNote(note, read[path].get(hash_, ""))


def describe_use(core: Core, path: NotePath, entry: str | None) -> Payload:
    """A note's or entry's use, by day and in all, and how hot that makes it. Raises NotFound; call it in a thread."""
    note = core.index.note(path)
    if note is None:
        raise NotFound(f"no note at {path}", hint="memory_search finds ids")
    note_id = NoteId(f"{path}#{entry}") if entry else note.id
    use = core.recall.uses.read().get(note_id, NoteUse())
    _, title = find_titled(core, note_id, {})
    return {
        "id": note_id, "path": path, "title": title,
        "heat": heat(use, core.clock().date(), date_of(note).date()).value,
        "last_used": use.used_days[-1].isoformat() if use.used_days else None,
        **use.total._asdict(), "questions": use.questions, "sessions": use.sessions, "clients": list(use.clients),
        "days": {day.isoformat(): counts._asdict() for day, counts in sorted(use.days.items())},
    }  # fmt: skip


def _title(entry: str) -> str:
    whole = logs.without_author(entry)
    heading, _, body = whole.removeprefix("## ").partition("\n")
    return derive_title(logs.title_and_labels([heading])[0] or body or whole)


MOST_LOOKED_FOR = 50
"""The most removed files that are looked for in git and the trash, at some 20 ms each."""


class ChangeHistory:
    """The changes as they are known at one moment. Reads files: make it, and ask it, in a thread."""

    def __init__(self, core: Core, changes: Sequence[NoteChange] | None = None) -> None:
        """Take these changes, the latest first, or read all. An undo is later than the change that it reverses."""
        self._core = core
        self.changes = core.vault.changes.changes() if changes is None else changes
        self._looked_for, self._undone = 0, set[str]()
        self._titles: dict[NotePath, dict[str, str]] = {}
        for change in self.changes:
            if change.undoes and not self.is_undone(change):
                self._undone.add(change.undoes)
        self._undone -= core.runs.undoable(self._undone)  # undone in part, as on a full disk

    def is_undone(self, change: NoteChange) -> bool:
        return change.id in self._undone or change.run in self._undone

    def select(self, wanted: UndoRequest) -> list[NoteChange]:
        """Raises InvalidInput."""
        return list(filter(_selector(wanted, self._core.vault.layout.tz), self.changes))

    def find(self, target: str) -> list[NoteChange]:
        """Find changes by id (its first characters suffice) or by run, or a note's last change that isn't undone.
        The changes of a decision or a dream come together. Raises InvalidInput, NotFound."""
        found = [one for one in self.changes if one.run == target or (len(target) >= 4 and one.id.startswith(target))]
        if not found:
            of_note = [one for one in self.changes if _concerns(one, target)]
            found = [one for one in of_note if not one.undoes and not self.is_undone(one)][:1]
            if of_note and not found:
                raise InvalidInput(f"all known changes of {target} are undone", hint="mcp-memory changes lists them")
        together = {one.run for one in found if _is_decision_or_dream(one)}
        found += [one for one in self.changes if one.run in together and one not in found]
        if not found:
            raise NotFound(f"no change {target[:100]!r} is known", hint="mcp-memory changes lists them")
        if len({one.run or one.id for one in found}) > 1:
            raise InvalidInput(f"{target} is the beginning of several changes", hint="pass all 8 characters")
        return found

    def to_undo(self, wanted: UndoRequest) -> list[NoteChange]:
        """Return the latest changes first, without changes that were undone and without their undoing. Raises as
        `find`."""
        names = [*wanted.targets] if wanted.target is None else [wanted.target, *wanted.targets]
        if bool(names) is any((wanted.client, wanted.session, wanted.since)):
            raise InvalidInput(
                "name one change or note, or which by client, session or since", hint="mcp-memory changes"
            )
        runs = self._core.runs.undoable(names)
        found = [one for name in names if name not in runs for one in self.find(name)]
        found += [one for one in self.changes if one.run in runs] if names else self.select(wanted)
        stored = {one.target for one in found if one.kind == "stored"}
        made, ids = self._made_of(stored), {one.id for one in found} | {one.run for one in found}
        by_us = [one for one in self.changes if one.kind == "stored" and one.client in {DREAM, "decay"}]
        ids |= {one.id for one in by_us if one.target in made}
        undone = [
            one
            for one in self.changes
            if (one.id in ids or (one.kind == "superseded" and one.other in stored))
            and not self.is_undone(one)
            and one.undoes not in ids - {None}
            and (wanted.only is None or one.id in wanted.only)
        ]
        # last, because a run that wrote nothing but pages has no change in the journal
        return [*undone, *(NoteChange(0.0, "edited", NotePath(run), NoteId(run), run=run) for run in runs)]

    def _made_of(self, targets: Collection[str]) -> Sequence[str]:
        """Return these notes and entries, the notes that were made of them, and the lines that dreams made of notes for
        MEMORY.md; also what was made of those."""
        core, made, memory = self._core, [*targets], self._core.vault.layout.memory
        for target in made:  # which grows
            note, is_entry = find_titled(core, target, self._titles).record, "#" in target
            for source, link, _ in core.index.links_to(note.path)[0] if note else ():
                by = core.index.note(source)
                if by and link.type == DERIVED_FROM and (link.target == target or not is_entry):
                    made += {by.id}.difference(made)
                elif source == memory and not is_entry:
                    lines = entries_of(memory, core.vault.read(memory).text)
                    found = {f"{memory}#{one.hash}" for one in lines if one.start <= link.at < one.end}
                    made += found.difference(made)
        return made

    def note(self, change: NoteChange) -> NoteRecord | None:
        """Return the note that was changed, as the index has it now."""
        return find_titled(self._core, change.target, self._titles).record

    def describe(self, change: NoteChange) -> Payload:
        """Describe a change, with the path that the note has now, or was moved to, and its title before the change, if
        its text is kept."""
        note, title = find_titled(self._core, change.target, self._titles)
        if note and change.after and not change.entry and change.after != note.etag:
            vault = self._core.vault
            if was := vault.changes.find(change.note, change.after):
                title = read_note(change.path, was, change.after, "", vault.layout, vault.kinds).record.title
        path = note.path if note and not change.entry and change.kind != "moved" else change.path
        at = format_when(datetime.fromtimestamp(change.at, self._core.vault.layout.tz))
        facts = {**asdict(change), "at": at, "path": path, "title": title, "undone": self.is_undone(change)}
        facts["private"] = note is not None and note.is_private
        if change.kind == "removed" and not facts["undone"] and self._looked_for < MOST_LOOKED_FOR:
            self._looked_for += 1
            facts["is_kept"] = find_earlier(self._core, change) is not None
        return {"id": change.id, "target": change.target, **facts}

    def difference(self, change: NoteChange) -> list[str] | None:
        """Return the lines that a change took out (`-`), added (`+`) and left around them (` `); None if one of the
        two texts isn't kept."""
        vault, note, texts = self._core.vault, self.note(change), list[str]()
        for etag in filter(None, (change.before, change.after)):
            if data := vault.changes.find(change.note, etag):
                texts.append(data.decode("utf-8", "replace"))
            elif note and (file := vault.find(note.path)) and file.record.etag == etag:
                texts.append(file.text)
        return changed_lines(*texts) if len(texts) == 2 else None


def find_earlier(core: Core, change: NoteChange) -> bytes | None:
    """Return the bytes from before an edit, or of a file that was removed, as kept or else from the trash or git. None
    if they are nowhere."""
    etag, vault = change.before or Etag(""), core.vault
    with suppress(McpMemoryError):
        kept = vault.changes.find(change.note, etag) or find_thrown_away(vault.roots()[""], change.path, etag)
        return kept or find_version(find_repository(vault.roots()[""], deadline_s=10), change.path, etag)
    return None


def _is_decision_or_dream(change: NoteChange) -> bool:
    return (change.run or "").startswith((DECISION, DREAM))


def _concerns(change: NoteChange, target: str) -> bool:
    """Return whether this note was changed, or was kept instead of a note that it contradicted. Undoing such a decision
    leaves this note as it is."""
    kept = change.other if _is_decision_or_dream(change) else None
    names = [name for name in (change.target, kept) if name and name.endswith(target)]  # the end of an id, as in lists
    return target == change.path or target in names or (bool(names) and len(target) >= ID_CHARS)


async def list_changes(core: Core, wanted: ChangesRequest) -> Payload:
    """List the changes, reading no more of the journal than they need. `since`: the time from which changes are
    known."""
    target = await core.search.lookup.full_id(wanted.target) if wanted.target else None

    def read() -> Payload:
        zone = core.vault.layout.tz
        is_selected, since = _selector(wanted, zone), parse_argument("since", wanted.since, zone)
        names = _names_of(core, target) if target else ()
        changes, found = list[NoteChange](), list[NoteChange]()
        for change in core.vault.changes.read_back([name.rpartition("#")[2] for name in names]):
            if len(found) > wanted.limit or (since and change.at < since.timestamp()):
                break
            changes.append(change)
            if is_selected(change) and (not names or any(_concerns(change, name) for name in names)):
                found.append(change)
        history, first = ChangeHistory(core, changes), core.vault.changes.first()
        known_since = first.at if first else core.clock().timestamp()
        listed = list(map(history.describe, found[: wanted.limit]))
        if wanted.diff:
            for facts, change in zip(listed, found, strict=False):
                facts["diff"] = visible_in(history.difference(change))
        return {
            "changes": listed,
            "further": len(found) > wanted.limit,
            "since": format_when(datetime.fromtimestamp(known_since, zone)),
        }

    return await in_thread(read, what="reading the changes")


def _selector(wanted: ChangesRequest | UndoRequest, zone: tzinfo) -> Callable[[NoteChange], bool]:
    """Return whether a change is wanted, by all but its note. Raises InvalidInput."""
    client = {"you": PERSON}.get(wanted.client or "", wanted.client)
    session = wanted.session and wanted.session.rpartition("/")[2]
    since, until, project = parse_argument("since", wanted.since, zone), None, None
    if isinstance(wanted, ChangesRequest):
        until, project = parse_argument("until", wanted.until, zone), wanted.project
    projects = None if project in (None, ANY_PROJECT) else {project, None}

    def is_wanted(change: NoteChange) -> bool:
        return (
            client in (None, change.client)
            and session in (None, change.session and change.session.rpartition("/")[2])
            and (projects is None or change.project in projects)
            and (since is None or change.at >= since.timestamp())
            and (until is None or change.at < until.timestamp())
        )

    return is_wanted


def _names_of(core: Core, target: str) -> set[str]:
    """Return the names under which changes of this note are known, under each path that it had."""
    note = find_titled(core, target, {}).record
    return {target} if note is None or "#" in target else {target, note.id}
