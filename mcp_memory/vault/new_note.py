"""Publishes new notes, and finds those that were stored before."""

import re
import threading
from collections.abc import Sequence

from ulid import ULID

from mcp_memory.errors import AlreadyExists, NotFound, PathRefused, Refused, StorageFailed
from mcp_memory.models import NoteId, NotePath, NoteState, Outcome
from mcp_memory.storage.path_rules import validate_new
from mcp_memory.text.instruction_files import are_orders, plain_name
from mcp_memory.text.markdown.logs import is_log_path
from mcp_memory.topics.page import CONTENTS, ENTITIES, FRESH, SUMMARIES, is_page
from mcp_memory.vault import draft as drafts
from mcp_memory.vault.draft import Draft, WriteResult
from mcp_memory.vault.journals.ledger import Ledger
from mcp_memory.vault.note_file import ALWAYS_LOAD, ARCHIVE, DREAMS, INBOX, Layout, file_stem
from mcp_memory.vault.note_store import NoteStore
from mcp_memory.vault.ownership import Provenance
from mcp_memory.vault.project_state import is_state
from mcp_memory.vault.succession.retirement import retired_at

OTHER_NAME = "choose another name"

_PERSONS_FOLDERS = frozenset({ALWAYS_LOAD, ARCHIVE, INBOX, ENTITIES, SUMMARIES})
_PERSONS_PAGES = frozenset({plain_name(DREAMS), plain_name(CONTENTS)})
"""Folders and pages that agents don't write to. A file there is taken as the person's decision, or as a page made from
their notes."""

_NUMBER = re.compile(r"([0-9]{1,6})-[^/]*")  # more digits are a date


class NotePublisher:
    """The writer of whole files. Thread-safe, except that the same content must come in one thread at a time."""

    def __init__(self, notes: NoteStore, ledger: Ledger, provenance: Provenance) -> None:
        self._notes = notes
        self._ledger = ledger
        self._provenance = provenance
        self._numbering = threading.Lock()
        self._last_numbers: dict[str, int] = {}

    def already_written(self, draft: Draft, same: Sequence[NotePath], *, replaces: bool) -> WriteResult | None:
        """Return the active note with the same content, at a place in the ledger or in `same`.

        If there is none, return a superseded note whose successor is active, unless the draft was said later or
        `replaces` the successor. A draft to be stored only `once` also finds any other retired note, of any
        kind."""
        wanted = (draft.content_hash, draft.kind_of_same, draft.project)
        known = self._ledger.written(*wanted)
        contents = {draft.content_hash, *(entry.now for entry in known)}
        now = self._notes.clock()
        retired: WriteResult | None = None
        paths = list(dict.fromkeys([*(entry.path for entry in reversed(known)), *same]))
        if draft.path and is_state(draft.path, self._notes.layout):
            paths = [path for path in paths if path == draft.path]  # plans of two projects may begin alike
        for path in paths * 2:  # twice: a note that is being moved may be in neither place when looked for there
            try:
                file = self._notes.read(path)
            except (NotFound, Refused, PathRefused, StorageFailed):
                continue  # announced but never published, moved since, or no longer a note
            record = file.record
            if record.content_hash not in contents or record.project != draft.project:
                continue
            if draft.kind_of_same not in (None, record.kind):
                continue
            if record.state is NoteState.ACTIVE and (record.expires_at is None or record.expires_at > now):
                return WriteResult(file, Outcome.DUPLICATE)
            chains = self._notes.chains
            holding = chains.holding(file) if chains and record.superseded_at and not replaces else None
            ended = retired_at(file)
            # Marks have whole seconds.
            is_said_since = draft.created and ended and draft.created.replace(microsecond=0) > ended
            if (draft.once or holding) and not is_said_since:
                retired = retired or WriteResult(file, Outcome.DUPLICATE, holding=holding)
        return retired

    def publish(self, draft: Draft, supersedes: NoteId | None) -> WriteResult:
        """Publish a draft. Raises AlreadyExists if `draft.path` is taken, Refused, PathRefused, StorageFailed."""
        now = self._notes.clock()
        note_id = draft.id or NoteId(str(ULID.from_datetime(now)))
        data = drafts.render(draft, note_id, now, supersedes)
        tails = [""] if draft.path else name_tails(note_id)
        for tail in tails:
            path = self._place(draft, tail)
            self._provenance.announce(draft, note_id, path, now)
            try:
                return WriteResult(self._notes.write(path, data, None), Outcome.CREATED)
            except AlreadyExists:
                if tail == tails[-1]:
                    raise
        raise AssertionError("a note has at least one name to try")

    def _place(self, draft: Draft, tail: str) -> NotePath:
        layout = self._notes.layout
        if draft.path:
            require_agents_place(draft.path, layout)
            return NotePath(draft.path)
        folder, stem = draft.folder or draft.kind.folder, file_stem(draft.heading)
        if folder.endswith(FRESH):  # numbered in order
            return layout.in_home(f"{folder}/{self._next_number(folder):03}-{stem}{tail}.md")
        return layout.in_home(f"{folder}/{stem}{tail}.md")

    def _next_number(self, folder: str) -> int:
        """Return one more than the highest number in the folder; a number used twice does no harm."""
        with self._numbering:
            if folder not in self._last_numbers:
                prefix = self._notes.layout.in_home(f"{folder}/")
                names = (path[len(prefix) :] for path in self._notes.backend.list().files if path.startswith(prefix))
                numbers = (int(match[1]) for name in names if (match := _NUMBER.fullmatch(name)))
                self._last_numbers[folder] = max(numbers, default=0)
            self._last_numbers[folder] += 1
            return self._last_numbers[folder]


def require_agents_place(path: str, layout: Layout) -> None:
    """Raise Refused or PathRefused if agents may not put a note at this path."""
    inner = layout.below_home(validate_new(path))
    if inner is None:
        hint = f"start with {layout.home or 'notes'}/; elsewhere, a person writes: mcp-memory edit --new PATH"
        raise Refused(f"{path} is outside the managed folder", hint=hint)
    # Folded: some file systems ignore case and Unicode form.
    folded = plain_name(inner)
    top, _, below = folded.partition("/")
    if below and top in _PERSONS_FOLDERS:
        raise Refused(f"agents may not write to {top}/", hint="use another folder")
    if folded in _PERSONS_PAGES:
        raise Refused(f"agents may not write {path}, which the person reviews", hint=OTHER_NAME)
    if folded == "memory.md" or folded.startswith("memory/") or is_log_path(folded):
        raise Refused(
            f"{path} is kept for MEMORY.md and the daily log",
            hint="use kind='log', path='MEMORY.md', or notes/",
        )
    if is_page(folded):
        raise Refused(f"{path} is the page of a topic", hint=OTHER_NAME)
    if are_orders(path):
        raise Refused(f"agents read {path} as instructions and may not write it", hint=OTHER_NAME)


def name_tails(note_id: NoteId) -> list[str]:
    """Return suffixes that distinguish notes of one title: small numbers first, then the id, so that the thousandth
    note costs no more than the fifth."""
    unique = note_id.lower()
    return ["", "-2", "-3", f"-{unique[-6:]}", f"-{unique}"]
