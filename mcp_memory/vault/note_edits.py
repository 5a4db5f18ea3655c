"""Replace the text of a note, or of one entry of a log or of `MEMORY.md`, and no other byte."""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import cast

from mcp_memory.errors import InvalidInput, NotFound, PreconditionFailed, Refused, StorageFailed
from mcp_memory.models import EVERYWHERE, Etag, NotePath, NoteState, Outcome
from mcp_memory.storage.path_rules import validate_new
from mcp_memory.text.markdown import frontmatter, logs, sections
from mcp_memory.text.markdown.frontmatter import BOM, newline_of
from mcp_memory.text.markdown.logs import LogEntry
from mcp_memory.text.markdown.sections import CuratedEntry
from mcp_memory.text.secrets.finder import find_secret
from mcp_memory.vault.draft import WriteResult, control_character, one_line
from mcp_memory.vault.journals.append_journal import AppendJournal
from mcp_memory.vault.journals.change_journal import NoteChange
from mcp_memory.vault.note_file import NoteFile, derive_title, editable_text, entries_of, find_entry, is_memory
from mcp_memory.vault.note_store import NoteStore
from mcp_memory.vault.succession.retirement import without_empty_head

EDIT_AGAIN = "read it again, then pass the new etag"
CHANGED_ID = "an entry's id changes with its text: memory_recall shows it"


@dataclass(frozen=True)
class NoteEditor:
    """The editor of notes, a part of the vault; doesn't check who owns a note. Thread-safe."""

    notes: NoteStore
    journal: AppendJournal
    secrets_allowed: bool

    def read(self, path: NotePath, entry: str | None) -> tuple[str, str]:
        """Return the text of a note or entry as on disk, undecodable bytes as surrogates, and its etag; an entry's is
        its hash. Raises NotFound, Refused for a file that isn't text."""
        blob = self.notes.read_bytes(path)
        text = editable_text(path, blob.data)
        self._require_shown(self.notes.note(path, blob.data, blob.etag, blob.stat), entry)
        if not entry:
            return text, blob.etag
        found = _require_entry(path, text, entry)
        return text[found.start : found.end].rstrip() + newline_of(text), entry

    def edit(self, path: NotePath, entry: str | None, text: str, expected: str | None) -> WriteResult:
        """Replace the text, for a person; the note's head changes only if the text has a head of its own. The same edit
        again changes nothing.

        Raises NotFound, PreconditionFailed for an etag that doesn't begin with `expected`, InvalidInput, Refused for a
        source or a secret that wasn't there before, StorageFailed."""
        self.notes.require_vault()
        if path.startswith("@"):
            raise Refused(f"{path} belongs to a read-only source", hint="change it in the source")
        if not text.removeprefix(BOM).strip():
            raise InvalidInput("the text is empty", hint="to take a note out of every answer: memory_forget")
        outcome, written = Outcome.UNCHANGED, entry

        def changed(file: NoteFile | None, before: str) -> str:
            nonlocal outcome, written
            if file is None:
                raise NotFound(f"there is no file {path}")
            self._require_shown(file, entry)
            if entry:
                after, written = _with_entry(path, before, entry, text)
            else:
                after = _with_text(before, text)
            outcome = Outcome.UNCHANGED if after == before else Outcome.UPDATED
            if after == before:
                return before
            if expected and not (entry or file.record.etag).startswith(expected):
                raise PreconditionFailed(f"{path} has changed since it was read", hint=EDIT_AGAIN)
            self._check(before, after)
            return after if entry or file.record.is_log else self._dated(before, after)

        file = self.notes.change(path, changed)
        if entry and written and written != entry:
            self._rejournal(file, entry, written)
        return WriteResult(file, outcome, written)

    def create(self, path: NotePath, text: str) -> WriteResult:
        """Write a new file anywhere in the vault, for a person. Raises InvalidInput, Refused for a secret,
        AlreadyExists, PathRefused, StorageFailed."""
        self.notes.require_vault()
        self._check("", text)
        return WriteResult(self.notes.write(validate_new(path), text.encode(), None), Outcome.CREATED)

    def mute(self, path: NotePath, entry: str | None, project: str | None, *, undo: bool) -> NoteFile:
        """Mute a note or log entry by a mark in its head, in a project or everywhere, so that agents get it only if
        they ask. Or with `undo`, unmute it in the project; without a project, unmute it entirely. Idempotent. Raises
        NotFound, Refused, InvalidInput, StorageFailed."""
        self.notes.require_vault()
        if path.startswith("@") or (entry and is_memory(path)):
            what = "MEMORY.md is shown as a whole" if entry else f"{path} belongs to a read-only source"
            raise Refused(f"{what} and can't be muted", hint="forget the entry, or make the folder private")
        mark = one_line("project", project) if project else EVERYWHERE
        mark = f"{entry} {mark}".removesuffix(f" {EVERYWHERE}") if entry else mark

        def changed(file: NoteFile | None, before: str) -> str:
            if file is None or (entry and not file.has_entry(entry)):
                raise NotFound(f"no entry {entry} in {path}" if entry else f"there is no file {path}")
            known: list[str] = file.record.meta.get("muted", [])
            own = [one for one in known if not entry or one.startswith(entry)]
            gone = [one for one in own if one == mark or not project] if undo else []
            marks = [one for one in known if one not in gone] + ([mark] if not undo and mark not in known else [])
            if marks == known:
                return before
            mutes = True if EVERYWHERE in marks else marks or None
            return without_empty_head(frontmatter.patch(before, {"muted": mutes}))

        return self.notes.change(path, changed)

    def put_back(self, path: NotePath, change: NoteChange, data: bytes | None) -> NoteFile:
        """Undo an edit; in a log, the edit of a single entry. `data`: the earlier bytes, if they are known. Idempotent.

        Raises NotFound if they aren't known, PreconditionFailed if the file, or the entry, was changed since."""
        self.notes.require_vault()
        file, before = self.notes.read(path), change.before or Etag("")
        if file.record.etag == before:
            return file
        is_changed = file.record.etag != change.after
        if change.kind == "edited" and file.record.is_log and change.entry and is_changed and data:
            return self._put_entry_back(path, change.entry, change.other or "", editable_text(path, data))
        if is_changed:
            raise PreconditionFailed(f"{path} was changed since", hint=f"undo that first, or mcp-memory edit {path}")
        if data is None:
            raise NotFound(f"the earlier text of {path} isn't kept any more", hint="git or a backup may have it")
        return self.notes.write(path, data, file.record.etag)

    def bring_back(self, change: NoteChange, data: bytes | None) -> NoteFile:
        """Put a file where it was before someone moved it, or removed it with these bytes. Raises NotFound,
        AlreadyExists, PreconditionFailed if another note is there now, StorageFailed."""
        self.notes.require_vault()
        if change.kind == "moved" and change.other:
            if self.notes.is_gone(change.path):  # a restore has brought it back
                return self.notes.read(NotePath(change.other))
            if self.notes.read(change.path).record.id not in {change.note, f"path:{change.path}"}:
                raise PreconditionFailed(f"{change.path} is another note now", hint="mcp-memory changes")
            return self.notes.move(change.path, NotePath(change.other))
        if data is None:
            raise NotFound(f"the text of {change.path} isn't kept any more", hint="a backup may have it")
        return self.notes.write(change.path, data, None)

    def _put_entry_back(self, path: NotePath, entry: str, before: str, earlier: str) -> NoteFile:
        """Put an entry back as it is in the `earlier` text of its log, where its hash was `before`."""
        old = _require_entry(path, earlier, before)

        def changed(_: NoteFile | None, text: str) -> str:
            if find_entry(path, text, before):
                return text
            if not find_entry(path, text, entry):
                raise PreconditionFailed(
                    f"{path}#{entry} was changed since", hint="undo that first, or mcp-memory edit"
                )
            return _with_entry(path, text, entry, earlier[old.start : old.end].rstrip())[0]

        file = self.notes.change(path, changed)
        self._rejournal(file, entry, before)
        return file

    def _rejournal(self, file: NoteFile, entry: str, written: str) -> None:
        """Journal the new entry, which another program's stale save could remove from now on."""
        path, new = file.record.path, find_entry(file.record.path, file.text, written)
        with suppress(StorageFailed):  # the entry itself is written
            for added in self.journal.entries_of(path) if new else ():
                if new and added.entry == entry and added.fate != "dismissed":
                    now = replace(added, entry=written, before=None, fate="announced")
                    mark = new.mark if isinstance(new, CuratedEntry) else ""
                    self.journal.announce(
                        now, file.text[new.start : new.end].strip().removeprefix(mark.strip()).strip()
                    )
                    self.journal.mark(now, "landed")
                    self.journal.mark(added, "dismissed")

    def _require_shown(self, file: NoteFile, entry: str | None) -> None:
        if file.record.state is NoteState.DELETED or (entry and entry in file.forgotten_entries):
            raise NotFound(f"{file.record.path} was forgotten", hint="memory_forget with restore=true brings it back")

    def _check(self, before: str, after: str) -> None:
        if (bad := control_character(after)) and bad != control_character(before):
            raise InvalidInput(f"the text holds {bad}", hint="pass plain text")
        if not self.secrets_allowed and (found := find_secret(after)) and not find_secret(before):
            raise Refused(
                f"this seems to hold a secret ({found})",
                hint="store where the secret is kept; or set vault.secrets = 'allow'",
            )
        old, new = frontmatter.parse(before), frontmatter.parse(after)
        if new.problem and not old.problem:
            raise InvalidInput(new.problem, hint="correct the lines between ---")
        if old.meta.get("id") != new.meta.get("id"):
            raise InvalidInput("the note's id was changed", hint=f"leave the line `id: {old.meta.get('id')}` as it is")

    def _dated(self, before: str, after: str) -> str:
        """Return the text with `updated`, and with a new title if the old title was taken from the old text; unless the
        edit set them."""
        old, new = frontmatter.parse(before), frontmatter.parse(after)
        changes: dict[str, frontmatter.Value] = {}
        if ("id" in new.meta or "updated" in new.meta) and old.meta.get("updated") == new.meta.get("updated"):
            changes["updated"] = self.notes.clock().replace(microsecond=0)
        if new.meta.get("title") == old.meta.get("title") == derive_title(old.body) and old.body != new.body:
            changes["title"] = derive_title(new.body)
        return after if new.problem else frontmatter.patch(after, changes)


def _with_text(before: str, text: str) -> str:
    """Return the text in place of the whole note. A text without a head of its own goes below the present head. Keeps a
    byte order mark, the line ending at the end, and CRLF."""
    mark = BOM if before.startswith(BOM) else ""
    new, old = text.removeprefix(BOM), frontmatter.parse(before)
    if "\r\n" in before and before.count("\n") == before.count("\r\n"):
        new = new.replace("\r\n", "\n").replace("\n", "\r\n")
    if before.endswith("\n") and not new.endswith("\n"):
        new += newline_of(before)
    if old.body_start > len(mark) and not frontmatter.split_head(new).exists:
        gap = len(old.body) - len(old.body.lstrip("\r\n"))
        return before[: old.body_start + gap] + new.lstrip("\r\n")
    return mark + new


def _with_entry(path: NotePath, before: str, entry: str, text: str) -> tuple[str, str]:
    """Return the file's text with the entry replaced, and the hash of the new entry."""
    old, known = find_entry(path, before, entry), entries_of(path, before)
    newline, content = newline_of(before), text.removeprefix(BOM).replace("\r\n", "\n").strip("\n")
    if not logs.is_log_path(path):
        content = sections.render_entry(content, old.mark if isinstance(old, CuratedEntry) else "- ")
    elif old and not logs.starts_entry(content.partition("\n")[0]):
        content = f"{before[old.start : old.end].splitlines()[0]}\n\n{content}"
    hashes, content = [found.hash for found in entries_of(path, content)], content.replace("\n", newline)
    if old is None:
        for found in known:
            if found.hash in hashes or before[found.start : found.end].partition("\n")[2].strip() == content:
                return before, found.hash  # this edit was made before
        raise NotFound(f"no entry {entry} in {path}", hint=CHANGED_ID)
    whole = before[old.start : old.end]
    after = before[: old.start] + content + whole[len(whole.rstrip()) :] + before[old.end :]
    if len(hashes) != 1 or len(entries_of(path, after)) != len(known):
        raise InvalidInput("the text is not one entry", hint="to divide or join entries, edit the whole file")
    return _with_marks(after, entry, hashes[0]), hashes[0]


def _with_marks(text: str, entry: str, written: str) -> str:
    """Return the text with a log's marks moved from the old entry to the new one."""
    meta, changes = frontmatter.parse(text).meta, dict[str, frontmatter.Value]()
    for name in ("superseded", "muted", "compatible_with", "confirmed"):
        marks = meta.get(name)
        if isinstance(marks, list) and any(str(mark).startswith(entry) for mark in cast("list[object]", marks)):
            words = map(str, cast("list[object]", marks))
            changes[name] = [f"{written}{mark[len(entry) :]}" if mark.startswith(entry) else mark for mark in words]
    return frontmatter.patch(text, changes) if changes else text


def _require_entry(path: NotePath, text: str, entry: str) -> LogEntry | CuratedEntry:
    if found := find_entry(path, text, entry):
        return found
    raise NotFound(f"no entry {entry} in {path}", hint=CHANGED_ID)
