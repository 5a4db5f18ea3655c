"""Reads and writes the files of dreaming: DREAMS.md, a file for each proposal, and the bytes that a run changed."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_memory.core.core import Core, ErasedText, NoteCopies
from mcp_memory.curation.dreams.dream_page import PageLine, read_page, without
from mcp_memory.errors import AlreadyExists, NotFound, PreconditionFailed
from mcp_memory.indexing.writer import IndexWriter
from mcp_memory.models import NoteId, NotePath, etag_of
from mcp_memory.runtime.private_files import naming_the_cause, replace_file
from mcp_memory.text.pluralize import counted
from mcp_memory.vault.journals.change_journal import DREAM
from mcp_memory.vault.note_file import entries_of
from mcp_memory.vault.vault import Vault

MOST_RUNS = 50
ATTEMPTS = 5
"""The number of attempts to write DREAMS.md while another program keeps saving it."""

Facts = dict[str, Any]


@dataclass
class MemoryChanges:
    """Changes to MEMORY.md: the hashes of the `entries` that a run added, and of the entries `moved` into notes, with
    the paths."""

    entries: list[str] = field(default_factory=list[str])
    moved: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


@dataclass(frozen=True)
class DreamFiles:
    """Reads and writes the files of dreaming, for worker threads. `runs` is a folder of the state folder. Raises
    StorageFailed."""

    vault: Vault
    writer: IndexWriter
    runs: Path

    @property
    def page(self) -> NotePath:
        return self.vault.layout.dreams

    @property
    def memory(self) -> NotePath:
        return self.vault.layout.memory

    @property
    def store(self) -> str:
        """The folder with a file for each proposal, so that two machines with one synced vault write the same files."""
        return f"{self.vault.layout.log_folder}/.dreams"

    def read(self) -> tuple[dict[str, str | None], dict[str, Facts], list[PageLine], list[str]]:
        """Return the files as read, the stored proposals, the lines of the page, and the proposals that you removed
        from it."""
        known, page = dict(self._stored()), self.text_of(self.page)
        lines = list(read_page(page or ""))
        files: dict[str, str | None] = {self.page: page, self.memory: self.text_of(self.memory)}
        return files, known, lines, list(self._deleted(known, lines))

    def _deleted(self, known: dict[str, Facts], lines: list[PageLine]) -> Iterator[str]:
        """Yield the proposals that you removed from the page. A page older than a proposal hasn't been synced yet;
        without a page, all proposals wait."""
        page, there = self._file(self.page), {line.id for line in lines}
        for name, facts in known.items() if page.is_file() else ():
            written = self._file(self._stored_at(name)).stat().st_mtime_ns
            if facts["status"] == "proposed" and name not in there and written <= page.stat().st_mtime_ns:
                yield name

    def runs_kept(self) -> list[str]:
        """Return the runs with a journal, latest first."""
        return sorted((file.stem for file in self.runs.glob("*.json")), reverse=True)

    def read_run(self, run: str) -> tuple[Facts, list[str]]:
        """Return the journal of a run, and the later runs that moved its additions to MEMORY.md, latest first. Raises
        NotFound."""
        journals = {name: json.loads((self.runs / f"{name}.json").read_bytes()) for name in self.runs_kept()}
        if run not in journals:
            raise NotFound(f"no run {run[:80]!r}", hint=f"the latest: {', '.join([*journals][:5]) or 'none'}")
        made = set(journals[run]["entries"])
        later: list[str] = []
        for name, journal in journals.items():
            moved = {entry for entry, _ in journal["moved"]}
            if made & moved:
                later.append(name)
        return journals[run], later

    def remove_run(self, run: str) -> None:
        with naming_the_cause(run):
            (self.runs / f"{run}.json").unlink()

    def edit(self, path: str, edited: Callable[[str], str]) -> None:
        """Write the result of `edited` to a file, and retry if another program saved the file first. Raises the errors
        of `edited`, and StorageFailed."""
        self.vault.filing.edit_plain(NotePath(path), edited)
        self.writer.reindex_later(NotePath(path))

    def write(
        self,
        run: str,
        was: dict[str, str | None],
        edited: Callable[[str], str] | None,
        changed: dict[str, Facts],
        done: MemoryChanges,
    ) -> None:
        """Write the journal of a run, then its changes: a file for each proposal, and the result of `edited` on the
        current DREAMS.md. Raises PreconditionFailed if DREAMS.md is saved again and again."""
        memory = was[self.memory], self.text_of(self.memory)
        files: dict[str, tuple[str | None, str | None]] = {self.memory: memory} if self._is_ours_alone(*memory) else {}
        for name, facts in changed.items():
            path, text = self._stored_at(name), json.dumps(facts, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
            files[path] = self.text_of(path), text
        # A kill in between must not lose a proposal. A finished proposal is recorded before it leaves the page, and a
        # new proposal is recorded after it is on the page. A proposal that is recorded as waiting but missing from the
        # page would be treated as rejected.
        first = [name for name, facts in changed.items() if facts["status"] in {"promoted", "rejected", "withdrawn"}]
        journal = {"entries": done.entries, "moved": done.moved}
        for attempt in range(ATTEMPTS):
            if edited:
                page = self.text_of(self.page)
                files[self.page] = page, edited(page or "")
            with naming_the_cause(str(self.runs)):
                replace_file(self.runs / f"{run}.json", json.dumps({"files": files, **journal}).encode())
            for name in first if not attempt else ():
                self.put(self._stored_at(name), *files[self._stored_at(name)])
            try:
                self.put(self.page, *files.get(self.page, (None, None)))
                break
            except PreconditionFailed:
                if attempt == ATTEMPTS - 1:
                    raise
        for name in changed.keys() - {*first}:
            self.put(self._stored_at(name), *files[self._stored_at(name)])
        with naming_the_cause(str(self.runs)):
            for old in sorted(self.runs.glob("*.json"))[:-MOST_RUNS]:
                old.unlink(missing_ok=True)

    def put_back(self, files: Mapping[str, tuple[str | None, str | None]]) -> list[str]:
        """Restore the earlier text of these files; return the paths of files that were changed since."""
        changed: list[str] = []
        for path, (before, after) in files.items():
            try:
                self.put(path, after, before)
            except PreconditionFailed:
                changed.append(path)
        return changed

    def put_memory_back(self, before: str | None, after: str | None) -> None:
        """Restore every byte of MEMORY.md, unless somebody else has changed the file since `after`. Call this once all
        entries have been taken back; otherwise they would be treated as lost."""
        now = self.text_of(self.memory)
        if self._is_ours_alone(after, now):
            with suppress(PreconditionFailed):
                self.put(self.memory, now, before)

    def is_memory_of(self, run: str, after: str | None) -> bool:
        """Return whether MEMORY.md is as a run left it, apart from an undo of that run that couldn't be completed."""
        return self._is_ours_alone(after, self.text_of(self.memory), undone=run)

    def _is_ours_alone(self, before: str | None, after: str | None, undone: str | None = None) -> bool:
        """Return whether only dreaming, or only the undo of the run `undone`, has changed MEMORY.md: an undo must keep
        changes of others."""
        first, etag = (None if text is None else etag_of(_bytes(text)) for text in (before, after))
        for change in reversed(self.vault.changes.since(0)):
            is_ours = change.client == DREAM and undone in {None, change.undoes}
            if etag != first and change.path == self.memory and is_ours and change.after == etag:
                etag = change.before
        return etag == first

    def put(self, path: str, was: str | None, text: str | None) -> None:
        """Write `text` to a file that contained `was`, or remove the file if `text` is None. `was` is None for a new
        file. Raises PreconditionFailed if the content is different now, and StorageFailed."""
        if was == text or self.text_of(path) == text:
            return
        if path.startswith(self.store):
            if self.text_of(path) != was:
                raise PreconditionFailed(f"{path} was changed by another program")
            with naming_the_cause(path):
                file = self._file(path)
                file.unlink() if text is None else replace_file(file, _bytes(text))
            return
        etag = None if was is None else etag_of(_bytes(was))
        try:
            if text is not None:
                self.vault.filing.write_plain(NotePath(path), _bytes(text), etag)
            elif etag:
                self.vault.filing.remove_page(NotePath(path), etag)
        except (AlreadyExists, NotFound) as error:
            raise PreconditionFailed(f"{path} was made or removed by another program") from error
        self.writer.reindex_later(NotePath(path))

    def find_traces(self, path: str, text: str) -> tuple[list[str], list[Path]]:
        """Return the proposals that quote this text of a file, and the journals of runs that contain the text or such a
        proposal."""
        said = squeezed(text)
        quoting = {name: facts["text"] for name, facts in self._stored() if _quotes(facts, path, said)}
        texts = [*map(squeezed, quoting.values()), *([said] if said else [])]
        runs = [run for run in sorted(self.runs.glob("*.json")) if any(one in squeezed(_content(run)) for one in texts)]
        return list(quoting), runs

    def erase_traces(self, path: str, text: str) -> bool:
        """Erase these proposals and journals; return whether there were any. A run without its journal can't be undone.
        Raises StorageFailed."""
        quoting, runs = self.find_traces(path, text)
        if quoting and self.text_of(self.page):
            self.edit(self.page, lambda page: without(page, [one for one in read_page(page) if one.id in quoting]))
        for file in [*(self._file(self._stored_at(name)) for name in quoting), *runs]:
            with naming_the_cause(str(file)):
                file.unlink(missing_ok=True)
        return bool(quoting or runs)

    def _stored(self) -> Iterator[tuple[str, Facts]]:
        for file in sorted(self._file(self.store).glob("????????.json")):
            with suppress(OSError, ValueError, KeyError, TypeError):  # the file is only partly synced
                facts = json.loads(file.read_bytes())
                yield file.stem, {**facts, "text": str(facts["text"]), "status": str(facts["status"])}

    def text_of(self, path: str) -> str | None:
        with naming_the_cause(path), suppress(FileNotFoundError):
            return self._file(path).read_bytes().decode("utf-8", "surrogateescape")
        return None

    def _stored_at(self, proposal: str) -> str:
        return f"{self.store}/{proposal}.json"

    def _file(self, path: str) -> Path:
        return self.vault.roots()[""] / path


def squeezed(text: str) -> str:
    return " ".join(text.split()).casefold()


def _quotes(facts: Facts, path: str, said: str) -> bool:
    """Return whether a proposal was made from this text of the file; a note's text begins with its project."""
    text = squeezed(facts["text"])
    return path in facts.get("sources", ()) and (text in said or text.partition(": ")[2] in said)


def _content(run: Path) -> str:
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        texts = json.loads(run.read_bytes())["files"].values()
        return "\n".join(text for pair in texts for text in pair if text)
    return ""


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


class DreamCopies(NoteCopies):
    """Proposals and runs of dreaming that quote a note."""

    def __init__(self, core: Core, files: DreamFiles) -> None:
        self._core = core
        self._files = files

    def describe(self, erased: ErasedText) -> Iterator[str]:
        proposals, runs = self._files.find_traces(erased.path, erased.text)
        if proposals:
            yield f"in DREAMS.md: {counted(len(proposals), 'proposal')}"
        if runs:
            yield f"the journal of {counted(len(runs), 'dream')}, which can't be taken back then"

    def beyond(self, erased: ErasedText) -> Iterator[str]:
        """Yield the entries of MEMORY.md that a dream took from it."""
        said, path = squeezed(erased.text), self._files.memory
        known = () if erased.path == path else entries_of(path, self._files.text_of(path) or "")
        for entry in known:
            words = squeezed(getattr(entry, "title", "")).partition(" ([")[0]
            if words and words in said:
                yield f"the entry of {path} that quotes it: mcp-memory erase {path}#{entry.hash}"

    def erase(self, erased: ErasedText) -> Sequence[NotePath]:
        if not self._files.erase_traces(erased.path, erased.text):
            return ()
        self._core.vault.changes.drop_versions(NoteId(f"path:{self._files.page}"))
        return [self._files.page]
