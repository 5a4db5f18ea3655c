"""Erasing: what a person wants gone for good, from every place that we write to; and what is beyond our reach.

Forgetting hides and can be undone. This cannot: it is for the command line alone, never a tool.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

import anyio

from mcp_memory.compaction.journal import RunJournal
from mcp_memory.errors import NotFound, Refused
from mcp_memory.index.base import Index
from mcp_memory.indexing.writer import IndexWriter
from mcp_memory.models import Filters, NoteId, NotePath, NoteState
from mcp_memory.runtime.threads import in_thread
from mcp_memory.storage.temp_names import SUFFIX, TempName
from mcp_memory.text.markdown.links import find_links, resolve
from mcp_memory.text.pluralize import counted
from mcp_memory.topics.page import MAP, PAGE, PROPOSAL, TOPICS, related_section, with_related_section
from mcp_memory.topics.plan import is_topic_name
from mcp_memory.transfer.share.shared_folders import SharedFolders
from mcp_memory.vault.note_file import NoteFile, original_of
from mcp_memory.vault.vault import Vault
from mcp_memory.vault.withheld_pages import sources_of

DEADLINE_S = 120.0
MOST_PAGES = 1_000_000
DISPLACED_S = 3.0
"""What a write has displaced is looked at again, and goes, after one."""

_SWAP_NAMES = (".{}.swp", ".{}.swo", "{}~", "#{}#", ".#{}", "{}.bak", "{}.orig")
"""What vim, Emacs and their kin leave beside a file."""


@dataclass(frozen=True, slots=True)
class Erasure:
    """`erased` says in a line each what goes (or went), `beyond` what may still hold the text."""

    path: NotePath
    entry: str | None
    erased: Sequence[str] = field(default_factory=list[str])
    beyond: Sequence[str] = field(default_factory=list[str])


class Eraser:
    """Works on a whole note, or on one entry of a log."""

    def __init__(
        self,
        vault: Vault,
        index: Index,
        writer: IndexWriter,
        index_folder: Path,
        shares: SharedFolders,
        runs: RunJournal,
    ) -> None:
        self._vault = vault
        self._index = index
        self._writer = writer
        self._index_folder = index_folder
        self._shares = shares
        self._runs = runs

    async def plan(self, path: NotePath, entry: str | None) -> Erasure:
        """What an erasure would do. Raises NotFound, Refused for a note in a read-only source."""
        return await in_thread(lambda: self._planned(path, entry), deadline_s=DEADLINE_S, what="looking at the note")

    async def erase(self, path: NotePath, entry: str | None) -> Erasure:
        """Raises as `plan`, and StorageFailed, PreconditionFailed where somebody writes to the file: then part of it
        may be done, and the same call does the rest."""
        planned = await self.plan(path, entry)
        touched = await in_thread(lambda: self._erased(path, entry), deadline_s=DEADLINE_S, what="erasing")
        for each in touched:
            if await in_thread(lambda each=each: self._vault.is_gone(each), deadline_s=30, what="looking at the file"):
                await self._writer.take_out(each)
            else:
                await self._writer.index_note(
                    await in_thread(lambda each=each: self._vault.read(each), deadline_s=30, what="reading")
                )
        is_clean = await in_thread(self._index.purge, deadline_s=DEADLINE_S, what="cleaning the index")
        left = [self._of_temporary(path) for path in await self._hidden_left()]
        if not is_clean:
            left.append(self._of_index())
        return replace(planned, beyond=[*dict.fromkeys([*left, *planned.beyond])])

    async def _hidden_left(self) -> list[str]:
        """What is still there under our hidden names: of other notes' writes only what will stay, unless it is of
        another process."""
        known = {left.path for left in self._vault.standing_leftovers()}
        left = known
        with anyio.move_on_after(DISPLACED_S):
            while (left := await in_thread(self._hidden, what="looking for temporary files")) - known:
                await anyio.sleep(0.1)
                await in_thread(self._vault.settle, what="looking again at displaced files")
        return sorted(left)

    def _planned(self, path: NotePath, entry: str | None) -> Erasure:
        if path.startswith("@"):
            raise Refused(f"{path} belongs to a read-only source", hint="erase it where it comes from")
        holders = self._holders(path, entry)
        ids = self._ids(path, entry)
        traces = self._vault.describe_traces(path, entry, ids)
        if runs := self._runs.runs_mentioning(ids):
            traces.append(f"the journal of {counted(len(runs), 'compaction')}, which no one can undo then")
        if not holders and not traces:
            what = f"no entry {entry} in {path}, nor in the recovery journal" if entry else f"no file {path}"
            raise NotFound(what, hint="memory_search finds ids")
        erased = [f"entry {entry} in {each}" if entry else f"the file {each}" for each in holders]
        pages = self._our_pages(path, self._ids(path, entry))
        erased += [f"the page {page}: mcp-memory compact makes it anew" for page in pages]
        erased += [*traces, *(["its rows and vectors in the index"] if holders else [])]
        erased += [f"a damaged index that was kept aside: {file.name}" for file in self._set_aside()]
        return Erasure(path, entry, erased, list(self._beyond(path, entry, holders)))

    def _erased(self, path: NotePath, entry: str | None) -> list[NotePath]:
        """The files that were changed or are gone. Traces go last: as long as one is left, `plan` finds the rest."""
        holders, ids = self._holders(path, entry), self._ids(path, entry)
        pages = self._our_pages(path, ids)
        beside = self._beside(pages)
        for page in beside:
            file = self._vault.read(page)
            self._vault.filing.write_page(page, with_related_section(file.text, "").encode(), file.record.etag)
        for page in pages:
            self._vault.erase(page)
        for each in holders:
            self._vault.erase(each, entry)
        self._runs.delete_runs(self._runs.runs_mentioning(ids))
        self._vault.erase_traces(path, entry, ids)
        for file in self._set_aside():
            file.unlink(missing_ok=True)
        return [*pages, *beside, *holders]

    def _our_pages(self, path: NotePath, ids: Collection[str]) -> list[NotePath]:
        """Those that are as we wrote them: they may say what the note says."""
        return [page for page in self._pages(path, ids) if self._vault.filing.is_as_we_wrote(self._vault.read(page))]

    def _beside(self, pages: Sequence[NotePath]) -> list[NotePath]:
        """Pages of ours that name one of these as related."""
        topics = self._vault.layout.in_home(TOPICS)
        others = self._index.notes(Filters(states=frozenset({NoteState.SUMMARY}), path_prefix=topics), limit=MOST_PAGES)
        found: list[NotePath] = []
        for path in sorted({record.path for record in others if self._vault.filing.is_as_written(record)} - {*pages}):
            file = self._read(path)
            links = find_links(related_section(file.text)) if file else []
            if any(resolve(link.target, path) in pages for link in links):
                found.append(path)
        return found

    def _pages(self, path: NotePath, ids: Collection[str]) -> list[NotePath]:
        """Of the topics above, with their proposals and the map, and of those that the note was in: all that were made
        from it, or from such a page."""
        root = self._vault.roots().get("")
        found = self._index.notes(Filters(states=frozenset({NoteState.SUMMARY})), limit=MOST_PAGES)
        pages = [page for page in found if not page.path.startswith("@")]
        sources = {page.path: (page.id, sources_of(file.text)) for page in pages if (file := self._read(page.path))}
        told, made = set(ids), dict[NotePath, None]()
        while more := [page for page, (_, some) in sources.items() if page not in made and not told.isdisjoint(some)]:
            made |= dict.fromkeys(more)
            told |= {sources[page][0] for page in more}
        names = (PAGE, PROPOSAL, MAP)
        above = [
            NotePath(f"{folder}/{name}")
            for folder in PurePosixPath(path).parents
            for name in names
            if self._named_after(path)
        ]
        return [page for page in dict.fromkeys([*above, *made]) if root and page != path and (root / page).is_file()]

    def _named_after(self, path: NotePath) -> list[str]:
        """The folders of topics above."""
        return [str(folder) for folder in PurePosixPath(path).parents if is_topic_name(folder.name)]

    def _holders(self, path: NotePath, entry: str | None) -> list[NotePath]:
        """The file, and the conflict copies of it, as far as they hold what is to go."""
        copies = [each for each in sorted(self._vault.list().files) if original_of(each) == path]
        files = {each: self._read(each) for each in (path, *copies)}
        return [each for each, file in files.items() if file and (entry is None or file.has_entry(entry))]

    def _ids(self, path: NotePath, entry: str | None) -> set[NoteId]:
        if entry:
            return set()
        return self._vault.provenance.known_ids(path, self._read(path), lambda each: bool(self._index.note_by_id(each)))

    def _read(self, path: NotePath) -> NoteFile | None:
        try:
            return self._vault.read(path)
        except NotFound:
            return None

    def _hidden(self) -> set[str]:
        root = self._vault.roots()[""]
        return {file.relative_to(root).as_posix() for file in root.rglob(f"*{SUFFIX}") if TempName.parse(file.name)}

    def _of_temporary(self, path: str) -> str:
        return f"a temporary file, perhaps with its bytes: {self._vault.roots()[''] / path}"

    def _of_index(self) -> str:
        files = self._index_folder / "index.db*"
        return f"the index, as long as another process reads it: {files}; it is cleaned when that ends"

    def _set_aside(self) -> list[Path]:
        return sorted(self._index_folder.glob("*.corrupt-*"))

    def _beyond(self, path: NotePath, entry: str | None, holders: Sequence[NotePath]) -> Iterator[str]:
        root = self._vault.roots()[""]
        file = None if entry else self._read(path)
        for twin, etag in self._writer.indexed_etags.items():
            if file and etag == file.record.etag and twin not in holders:
                yield f"the same bytes in {twin}: mcp-memory erase {shlex.quote(twin)}"
        for each in holders or [path]:
            folder, name = (root / each).parent, (root / each).name
            for swap in (folder / form.format(name) for form in _SWAP_NAMES):
                if swap.exists():
                    yield f"an editor's own copy: rm {shlex.quote(str(swap))}"
        for left in self._vault.standing_leftovers():
            yield self._of_temporary(left.path)
        for folder in self._named_after(path):
            yield f"the name of the folder {folder}, as far as it is made of its words: mcp-memory compact renames it"
        for page in self._pages(path, self._ids(path, entry)):
            if not self._vault.filing.is_as_we_wrote(self._vault.read(page)):
                yield f"the page {page}, which a person wrote on: look at it"
        for folder, topic in self._shares.telling_of({entry} if entry else self._ids(path, entry) | {path}):
            yield f"the folder {folder}, which {topic} was shared with: share it again or remove it"
        if repository := next((each for each in (root, *root.parents) if (each / ".git").exists()), None):
            yield f"the history of the git repository {repository}: git filter-repo rewrites it"
        yield "sessions in which it was said: the clients' transcripts, and what was captured of them (@transcripts)"
        yield "what sync clients, other devices and backups keep, and may bring back"
        yield "blocks of the disk that were not written anew since; what agents and people have read already"
