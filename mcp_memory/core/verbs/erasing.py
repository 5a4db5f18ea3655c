"""Deletes a note for good from every place that we write to, and names the copies that are beyond our reach.

Forgetting hides a note and can be undone. Erasing can't be undone, so only the command line offers it, never a tool.
"""

import os
import shlex
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import anyio

from mcp_memory.core.core import Core, ErasedText, NoteCopies
from mcp_memory.errors import NotFound, Refused
from mcp_memory.models import PAGES, Filters, NoteId, NotePath, NoteState
from mcp_memory.runtime.threads import in_thread
from mcp_memory.storage.folder_walk import walk
from mcp_memory.storage.leftovers import TempName
from mcp_memory.storage.path_rules import MAX_DEPTH
from mcp_memory.text.markdown.links import find_links, resolve
from mcp_memory.text.pluralize import counted
from mcp_memory.topics.page import MAP, PAGE, TOPICS, is_topic_name, related_section, with_related_section
from mcp_memory.vault.marks.set_aside import original_of
from mcp_memory.vault.withheld_pages import sources_of

DISPLACED_S = 3.0
"""A file that a write displaced is deleted after one second."""

_SWAP_NAMES = (".{}.swp", ".{}.swo", "{}~", "#{}#", ".#{}", "{}.bak", "{}.orig")
"""Files that vim, Emacs and similar editors leave beside a file."""


@dataclass(frozen=True)
class Erasure:
    """An erasure, planned or done. `erased`: a line for each place that is (or was) erased. `beyond`: a line for each
    place that may still contain the text."""

    path: NotePath
    entry: str | None
    erased: Sequence[str] = ()
    beyond: Sequence[str] = ()


class Eraser:
    """Erases a whole note, or one entry of a log."""

    def __init__(self, core: Core) -> None:
        self._vault = core.vault
        self._index = core.index
        self._writer = core.indexing.writer
        self._runs = core.runs.journal
        self._recall = core.recall
        self._scheduler = core.background.scheduler
        self._copies: list[NoteCopies] = [one.copies for one in core.features if one.copies]
        self._index_folder = core.config.state / "index"
        self._root = core.vault.roots()[""]

    async def plan(self, path: NotePath, entry: str | None) -> Erasure:
        """Describe what an erasure would do. Raises NotFound, Refused for a note in a read-only source."""
        return await in_thread(lambda: self._plan(self._look_at(path, entry)), what="looking at the note")

    async def erase(self, path: NotePath, entry: str | None) -> Erasure:
        """Erase the text and return what was done. Raises the errors of `plan`, and StorageFailed, or
        PreconditionFailed if another program writes to the file. Part of the erasure may then be done, and the same
        call does the rest."""
        planned = await self.plan(path, entry)
        note = await in_thread(self._look_at, path, entry, what="looking at the note")
        for copies in self._copies:
            for candidate in await in_thread(copies.waiting, note, what="looking for candidates"):
                await self.erase(candidate, None)
        erased = await in_thread(self._erase, note, what="erasing")
        await in_thread(self._index.put_conflicts, dict.fromkeys(erased), (), what="cleaning the index")
        for file in erased:
            if await in_thread(self._vault.is_gone, file, deadline_s=30, what="looking at the file"):
                await self._writer.remove_deleted(file)
            else:
                read = await in_thread(self._vault.read, file, deadline_s=30, what="reading")
                await self._writer.index_note(read)
        is_clean = await in_thread(self._index.purge, what="cleaning the index")
        left = [self._describe_temporary(path) for path in await self._hidden_left()]
        if not is_clean:
            files = self._index_folder / "index.db*"
            left.append(f"the index, while another process reads it: {files}; it is cleaned when that process ends")
        return replace(planned, beyond=[*dict.fromkeys([*left, *planned.beyond])])

    async def _hidden_left(self) -> list[str]:
        """Our temporary files that are still there. Files from writes of other notes are listed only if they will
        stay."""
        known = {left.path for left in self._vault.standing_leftovers()}
        left = known
        with anyio.move_on_after(DISPLACED_S):
            while (left := await in_thread(self._hidden, what="looking for temporary files")) - known:
                await anyio.sleep(0.1)
                await in_thread(self._vault.backend.settle, what="looking again at displaced files")
        return sorted(left)

    def _look_at(self, path: NotePath, entry: str | None) -> ErasedText:
        """Raises Refused for a note in a read-only source."""
        if path.startswith("@"):
            raise Refused(f"{path} belongs to a read-only source", hint="erase it where it comes from")
        return ErasedText.of(path, entry, self._ids(path, entry), self._vault.find(path))

    def _plan(self, note: ErasedText) -> Erasure:
        path, entry, ids = note.path, note.entry, note.ids
        holders = self._holders(path, entry)
        traces = self._vault.journals.describe(path, entry, ids)
        if runs := self._runs.runs_mentioning(ids):
            traces.append(f"the journal of {counted(len(runs), 'compaction')}, which can't be undone afterwards")
        if not holders and not traces:
            what = f"no entry {entry} in {path}, nor in the append journal" if entry else f"no file {path}"
            raise NotFound(what, hint="memory_search finds ids")
        erased = [f"entry {entry} in {holder}" if entry else f"the file {holder}" for holder in holders]
        pages = self._our_pages(path, ids)
        erased += [f"the page {page}: mcp-memory topics compact rewrites it" for page in pages]
        erased += [line for copies in self._copies for line in copies.describe(note)]
        if lines := self._scheduler.journal.count_naming(self._known_paths(note)):
            erased.append(f"in the journal of jobs: {counted(lines, 'run')}")
        erased += [*traces, *(["its rows and vectors in the index"] if holders else [])]
        erased += [f"a damaged index that was kept aside: {file.name}" for file in self._set_aside()]
        return Erasure(path, entry, erased, list(self._beyond(note, holders)))

    def _erase(self, note: ErasedText) -> list[NotePath]:
        """The files that were changed or are gone. Traces are erased last: as long as a trace is left, `plan` finds the
        rest."""
        self._recall.uses.drop_questions()  # they may repeat the note; first, because this may fail
        path, entry, ids = note.path, note.entry, note.ids
        holders = self._holders(path, entry)
        pages = self._our_pages(path, ids)
        relating = self._pages_relating_to(pages)
        self._scheduler.erase(self._known_paths(note))
        quoting = [file for copies in self._copies for file in copies.erase(note)]
        for page in relating:
            file = self._vault.read(page)
            self._vault.filing.write_page(page, with_related_section(file.text, "").encode(), file.record.etag)
        for page in pages:
            self._vault.erase(page)
        for holder in holders:
            self._vault.erase(holder, entry)
        self._runs.delete_runs(self._runs.runs_mentioning(ids))
        self._recall.log.erase(ids, path, entry)
        self._recall.withdrawals.erase(ids, path, entry)
        self._recall.briefer.shown_notes.forget()
        self._recall.uses.erase({f"{path}#{entry}"} if entry else {*ids, f"path:{path}"})
        self._vault.erase_traces(path, entry, ids)
        for file in self._set_aside():
            file.unlink(missing_ok=True)
        return [*pages, *relating, *holders, *quoting]

    def _known_paths(self, note: ErasedText) -> set[NotePath]:
        """Return every path that the whole note has had, because the paths contain words of it."""
        return set() if note.entry else {note.path, *self._vault.ledger.paths_of(note.ids)}

    def _our_pages(self, path: NotePath, ids: Collection[str]) -> list[NotePath]:
        """The pages as we wrote them, which may quote the note."""
        return [page for page in self._pages(path, ids) if self._vault.filing.is_as_we_wrote(self._vault.read(page))]

    def _pages_relating_to(self, pages: Sequence[NotePath]) -> list[NotePath]:
        """The pages of ours that list any of these pages as related."""
        topics = self._vault.layout.in_home(TOPICS)
        others = self._index.pages(topics)
        found: list[NotePath] = []
        for path in sorted({record.path for record in others if self._vault.filing.is_as_written(record)} - {*pages}):
            file = self._vault.find(path)
            links = find_links(related_section(file.text)) if file else []
            if any(resolve(link.target, path) in pages for link in links):
                found.append(path)
        return found

    def _pages(self, path: NotePath, ids: Collection[str]) -> list[NotePath]:
        """The pages and the map of the topics above, and all pages made from the note or from such a page."""
        found = self._index.notes(Filters(states=PAGES | {NoteState.ARCHIVED}), limit=1_000_000)
        pages = [page for page in found if not page.path.startswith("@")]
        sources = {
            page.path: (page.id, sources_of(file.text)) for page in pages if (file := self._vault.find(page.path))
        }
        tainted, made = set(ids), dict[NotePath, None]()
        while more := [
            page for page, (_, some) in sources.items() if page not in made and not tainted.isdisjoint(some)
        ]:
            made |= dict.fromkeys(more)
            tainted |= {sources[page][0] for page in more}
        above: list[NotePath] = []
        if _topic_folders(path):
            names = (PAGE, MAP)
            above = [NotePath(f"{folder}/{name}") for folder in PurePosixPath(path).parents for name in names]
        return [page for page in dict.fromkeys([*above, *made]) if page != path and (self._root / page).is_file()]

    def _holders(self, path: NotePath, entry: str | None) -> list[NotePath]:
        """The file and its conflict copies, if they contain the text to erase."""
        copies = [file for file in sorted(self._vault.list().files) if original_of(file) == path]
        files = {file: self._vault.find(file) for file in (path, *copies)}
        return [name for name, file in files.items() if file and (entry is None or file.has_entry(entry))]

    def _ids(self, path: NotePath, entry: str | None) -> set[NoteId]:
        if entry:
            return set()
        return self._vault.provenance.known_ids(
            path, self._vault.find(path), lambda known: bool(self._index.note_by_id(known))
        )

    def _hidden(self) -> set[str]:
        found: set[str] = set()
        for folder, folders, names in walk(self._root):
            inner = PurePosixPath(os.path.relpath(folder, self._root))
            found.update(str(inner / name) for name in names if TempName.parse(name))
            if len(inner.parts) >= MAX_DEPTH:
                folders.clear()  # nothing is written below
        return found

    def _describe_temporary(self, path: str) -> str:
        return f"a temporary file, perhaps with its bytes: {self._root / path}"

    def _set_aside(self) -> list[Path]:
        return sorted(self._index_folder.glob("*.corrupt-*"))

    def _beyond(self, note: ErasedText, holders: Sequence[NotePath]) -> Iterator[str]:
        path, entry, root = note.path, note.entry, self._root
        file = None if entry else self._vault.find(path)
        for copy, etag in self._writer.indexed_etags.items():
            if file and etag == file.record.etag and copy not in holders:
                yield f"the same bytes in {copy}: mcp-memory erase {shlex.quote(copy)}"
        for holder in holders or [path]:
            folder, name = (root / holder).parent, (root / holder).name
            for swap in (folder / form.format(name) for form in _SWAP_NAMES):
                if swap.exists():
                    yield f"an editor's own copy: rm {shlex.quote(str(swap))}"
        for left in self._vault.standing_leftovers():
            yield self._describe_temporary(left.path)
        for folder in _topic_folders(path):
            yield f"the name of the folder {folder}, which may contain its words: mcp-memory topics compact renames it"
        for page in self._pages(path, note.ids):
            if not self._vault.filing.is_as_we_wrote(self._vault.read(page)):
                yield f"the page {page}, which you edited: check it"
        for copies in self._copies:
            yield from copies.beyond(note)
        linking = {link.source for link in self._index.links_to(path)[0]} - {path}
        if linking and not entry:
            yield f"links with its file's name in {', '.join(sorted(linking)[:5])}: mcp-memory links --check names them"
        if repository := next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), None):
            yield f"the history of the git repository {repository}: git filter-repo rewrites it"
        yield "sessions in which it was said: the clients' transcripts, and what was captured of them (@transcripts)"
        yield "what sync clients, other devices and backups keep, and may bring back"
        yield "disk blocks that haven't been overwritten since; what agents and people have read already"


def _topic_folders(path: NotePath) -> list[str]:
    """The folders of topics above."""
    return [str(folder) for folder in PurePosixPath(path).parents if is_topic_name(folder.name)]
