"""Reads and writes what dreaming keeps: DREAMS.md, a file for each proposal, and the bytes that a run changed."""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mcp_memory.curation.dreams.dream_page import PageLine, read_page, with_box
from mcp_memory.errors import NotFound
from mcp_memory.indexing.writer import IndexWriter
from mcp_memory.models import NotePath
from mcp_memory.runtime.os_errors import naming_the_cause
from mcp_memory.runtime.private_files import replace_file
from mcp_memory.vault.note_file import DREAMS, MEMORY
from mcp_memory.vault.vault import Vault

MOST_RUNS = 50
STORE = "memory/.dreams"
"""A file for each proposal, so that two machines with one synced vault write the same ones."""

Facts = dict[str, Any]


@dataclass(slots=True)
class MemoryChanges:
    """To MEMORY.md: the hashes of the `entries` that a run added, and of those `moved` into notes, with the paths."""

    entries: list[str] = field(default_factory=list[str])
    moved: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


@dataclass(frozen=True, slots=True)
class DreamFiles:
    """`runs` is a folder of the state folder. For worker threads; raises StorageFailed."""

    vault: Vault
    writer: IndexWriter
    runs: Path

    def read(self) -> tuple[dict[str, str | None], dict[str, Facts], list[PageLine], list[str]]:
        """The files as they were, the stored proposals, the page's lines, and which proposals you took off it."""
        known, page = dict(self._stored()), self.text_of(DREAMS)
        lines = list(read_page(page or ""))
        return {DREAMS: page, MEMORY: self.text_of(MEMORY)}, known, lines, list(self._deleted(known, lines))

    def _deleted(self, known: dict[str, Facts], lines: list[PageLine]) -> Iterator[str]:
        """What you took off the page. One that is older than a proposal wasn't synced yet; without any, all wait."""
        page, there = self._file(DREAMS), {line.id for line in lines}
        for name, facts in known.items() if page.is_file() else ():
            written = self._file(f"{STORE}/{name}.json").stat().st_mtime_ns
            if facts["status"] == "proposed" and name not in there and written <= page.stat().st_mtime_ns:
                yield name

    def read_run(self, run: str) -> tuple[Facts, list[str]]:
        """The journal of a run, and the runs that moved what it added to MEMORY.md, the latest first. Raises
        NotFound."""
        journals = {file.stem: json.loads(file.read_bytes()) for file in sorted(self.runs.glob("*.json"), reverse=True)}
        if run not in journals:
            raise NotFound(f"no run {run[:80]!r}", hint=f"the latest: {', '.join([*journals][:5]) or 'none'}")
        made = set(journals[run]["entries"])
        return journals[run], [name for name, one in journals.items() if made & {entry for entry, _ in one["moved"]}]

    def remove_run(self, run: str) -> None:
        with naming_the_cause(run):
            (self.runs / f"{run}.json").unlink()

    def change_page(self, proposal: str, box: str, text: str | None) -> None:
        page = self.text_of(DREAMS) or ""
        self.put(DREAMS, with_box(page, proposal, box, text))

    def write(
        self, run: str, was: dict[str, str | None], page: str, changed: dict[str, Facts], done: MemoryChanges
    ) -> None:
        files = {path: (text, page if path == DREAMS else self.text_of(path)) for path, text in was.items()}
        if not page:
            del files[DREAMS]
        for name, facts in changed.items():
            path, text = f"{STORE}/{name}.json", json.dumps(facts, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
            files[path] = self.text_of(path), text
        with naming_the_cause(str(self.runs)):
            replace_file(self.runs / f"{run}.json", json.dumps({"files": files, **asdict(done)}).encode())
            for old in sorted(self.runs.glob("*.json"))[:-MOST_RUNS]:
                old.unlink()
        for path, (_, text) in files.items():
            if path != MEMORY:
                self.put(path, text)

    def put(self, path: str, text: str | None) -> None:
        """Writes a file, or removes it, unless it says so already. Raises PreconditionFailed, StorageFailed."""
        if (now := self.text_of(path)) == text:
            return
        if path.startswith(STORE):
            with naming_the_cause(path):
                file = self._file(path)
                file.unlink() if text is None else replace_file(file, _bytes(text))
        else:
            etag = self.vault.read(NotePath(path)).record.etag if now is not None else None
            if text is not None:
                self.vault.filing.write_plain(NotePath(path), _bytes(text), etag)
            elif etag:
                self.vault.filing.remove_page(NotePath(path), etag)
            self.writer.reindex_later(NotePath(path))

    def _stored(self) -> Iterator[tuple[str, Facts]]:
        for file in sorted(self._file(STORE).glob("????????.json")):
            with suppress(OSError, ValueError, KeyError, TypeError):  # half synced
                facts = json.loads(file.read_bytes())
                yield file.stem, {**facts, "text": str(facts["text"]), "status": str(facts["status"])}

    def text_of(self, path: str) -> str | None:
        with naming_the_cause(path), suppress(FileNotFoundError):
            return self._file(path).read_bytes().decode("utf-8", "surrogateescape")
        return None

    def _file(self, path: str) -> Path:
        return self.vault.roots()[""] / path


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
