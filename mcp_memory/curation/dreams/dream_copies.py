"""Erases the text that a dream took from a note."""

from collections.abc import Iterator, Sequence

from mcp_memory.core.core import Core
from mcp_memory.core.feature import ErasedText, NoteCopies
from mcp_memory.curation.dreams.dream_files import DreamFiles, squeezed
from mcp_memory.models import NoteId, NotePath
from mcp_memory.text.pluralize import counted
from mcp_memory.vault.note_file import DREAMS, MEMORY, entries_of


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
        said, memory = squeezed(erased.text), self._files.text_of(MEMORY) or ""
        for entry in entries_of(MEMORY, memory) if erased.path != MEMORY else ():
            words = squeezed(getattr(entry, "title", "")).partition(" ([")[0]
            if words and words in said:
                yield f"the entry of {MEMORY} that quotes it: mcp-memory erase {MEMORY}#{entry.hash}"

    def erase(self, erased: ErasedText) -> Sequence[NotePath]:
        if not self._files.erase_traces(erased.path, erased.text):
            return ()
        self._core.vault.changes.drop_versions(NoteId(f"path:{DREAMS}"))
        return [NotePath(DREAMS)]
