"""Reads and writes the files of dreaming: DREAMS.md, and a file for each proposal."""

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mcp_memory.core.core import ErasedText, NoteCopies
from mcp_memory.curation.dreams.dream_page import PageLine, read_page, without
from mcp_memory.indexing.writer import IndexWriter
from mcp_memory.models import NotePath
from mcp_memory.runtime.json_lines import Facts, JsonLines
from mcp_memory.runtime.private_files import naming_the_cause, replace_file
from mcp_memory.text.pluralize import counted
from mcp_memory.vault.note_file import entries_of
from mcp_memory.vault.vault import Vault

OPEN = frozenset({"proposed", "short-term"})
"""The states of proposals that nobody has decided about."""


@dataclass(frozen=True)
class DreamFiles:
    """Reads and writes the files of dreaming, for worker threads. `runs` has what each run of this machine proposed.
    Raises StorageFailed."""

    vault: Vault
    writer: IndexWriter
    runs: JsonLines

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

    def read(self) -> tuple[dict[str, Facts], list[PageLine], list[str]]:
        """Return the stored proposals, the lines of the page, and the proposals that you removed from it."""
        known, lines = dict(self._stored()), list(read_page(self.text_of(self.page) or ""))
        page, there, deleted = self._file(self.page), {line.id for line in lines}, list[str]()
        # A page older than a proposal hasn't been synced yet. Without a page, all proposals wait.
        for name, facts in known.items() if page.is_file() else ():
            written = self._stored_at(name).stat().st_mtime_ns
            if facts["status"] == "proposed" and name not in there and written <= page.stat().st_mtime_ns:
                deleted.append(name)
        return known, lines, deleted

    def edit(self, path: str, edited: Callable[[str], str]) -> None:
        """Write the result of `edited` to a file, and retry if another program saved the file first. Raises the errors
        of `edited`, and StorageFailed."""
        self.vault.filing.edit_plain(NotePath(path), edited)
        self.writer.reindex_later(NotePath(path))

    def write(self, run: str, edited: Callable[[str], str] | None, changed: dict[str, Facts]) -> None:
        """Write a file for each proposal, and the result of `edited` on the current DREAMS.md."""
        # A proposal that is recorded as waiting but missing from the page, after a kill in between, would be treated as
        # rejected.
        self.runs.append({"run": run, "proposals": [*changed]})
        if edited:
            self.edit(self.page, edited)
        self._record(changed)

    def finish(self, line: PageLine, facts: Facts) -> None:
        """Record what became of a line, and remove it from the page. If the run is killed later, the next run doesn't
        carry the line out again, whatever you edit meanwhile."""
        self._record({line.id: facts} if line.id else {})
        self.edit(self.page, lambda page: without(page, [one for one in read_page(page) if one[:3] == line[:3]]))

    def remove(self, names: Collection[str]) -> None:
        """Remove proposals, and their lines on the page."""
        if names and self.text_of(self.page):
            self.edit(self.page, lambda page: without(page, [one for one in read_page(page) if one.id in names]))
        for file in map(self._stored_at, names):
            with naming_the_cause(str(file)):
                file.unlink(missing_ok=True)

    def open_by_run(self) -> dict[str, set[str]]:
        """Return the proposals of each run that nobody has decided about."""
        decided = {line.id for line in read_page(self.text_of(self.page) or "") if line.box}
        still_open = {name for name, facts in self._stored() if facts["status"] in OPEN} - decided
        left = {line["run"]: still_open.intersection(line["proposals"]) for line in self.runs.read()}
        return {run: proposals for run, proposals in left.items() if proposals}

    def find_quoting(self, erased: ErasedText) -> list[str]:
        """Return the proposals that were made from this note, wherever it is now, or from this text of a log."""
        said, found = squeezed(erased.text), list[str]()
        for name, facts in self._stored():
            notes, text = facts.get("notes", ()), squeezed(facts["text"])
            is_quoted = erased.path in facts.get("sources", ()) and (notes or facts.get("wordings") or text in said)
            if is_quoted or not {*notes}.isdisjoint(erased.ids):
                found.append(name)
        return found

    def _stored(self) -> Iterator[tuple[str, Facts]]:
        for file in sorted(self._file(self.store).glob("????????.json")):
            with suppress(OSError, ValueError, KeyError, TypeError):  # the file is only partly synced
                facts = json.loads(file.read_bytes())
                yield file.stem, {**facts, "text": str(facts["text"]), "status": str(facts["status"])}

    def text_of(self, path: str) -> str | None:
        with naming_the_cause(path), suppress(FileNotFoundError):
            return self._file(path).read_bytes().decode("utf-8", "surrogateescape")
        return None

    def _record(self, changed: dict[str, Facts]) -> None:
        for name, facts in changed.items():
            text = json.dumps(facts, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
            with naming_the_cause(name):
                replace_file(self._stored_at(name), text.encode("utf-8", "surrogateescape"))

    def _stored_at(self, proposal: str) -> Path:
        return self._file(f"{self.store}/{proposal}.json")

    def _file(self, path: str) -> Path:
        return self.vault.roots()[""] / path


def squeezed(text: str) -> str:
    return " ".join(text.split()).casefold()


@dataclass(frozen=True)
class DreamCopies(NoteCopies):
    """The proposals of dreaming that quote a note."""

    files: DreamFiles

    def describe(self, erased: ErasedText) -> Iterator[str]:
        if proposals := self.files.find_quoting(erased):
            yield f"in DREAMS.md: {counted(len(proposals), 'proposal')}"

    def beyond(self, erased: ErasedText) -> Iterator[str]:
        """Yield the entries of MEMORY.md that a dream took from it."""
        said, path = squeezed(erased.text), self.files.memory
        known = () if erased.path == path else entries_of(path, self.files.text_of(path) or "")
        for entry in known:
            words = squeezed(entry.title).partition(" ([")[0]
            if words and words in said:
                yield f"the entry of {path} that quotes it: mcp-memory erase {path}#{entry.hash}"

    def erase(self, erased: ErasedText) -> Sequence[NotePath]:
        quoting = self.files.find_quoting(erased)
        self.files.remove(quoting)
        return [self.files.page] if quoting else ()
