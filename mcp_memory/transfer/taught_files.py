"""Erases a note from the files that `teach` wrote."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from mcp_memory.core.core import ErasedText, NoteCopies
from mcp_memory.errors import McpMemoryError
from mcp_memory.integrations import config_files, text_file
from mcp_memory.integrations.config_entries import taught_block, taught_items, with_taught_items
from mcp_memory.integrations.config_plan import ConfigChange, ConfigTarget
from mcp_memory.models import NotePath
from mcp_memory.runtime.json_lines import PlaceList


class TaughtFiles(NoteCopies):
    """The copies of notes that `teach` wrote into files."""

    def __init__(self, files: PlaceList, clock: Callable[[], datetime]) -> None:
        self._files = files
        self._clock = clock

    def describe(self, erased: ErasedText) -> Iterator[str]:
        for file in self._find(erased)[0]:
            yield f"its lines in {file}, which teach put there"

    def beyond(self, erased: ErasedText) -> Iterator[str]:
        for file in self._find(erased)[1]:
            yield f"perhaps lines in {file}, which can't be read: look at it"

    def erase(self, erased: ErasedText) -> Sequence[NotePath]:
        for file in self._find(erased)[0]:
            text = text_file.read_text(file)
            items = [item for note, item in taught_items(text).items() if note not in erased.ids]
            new = with_taught_items(file.name, text, items).encode() or None
            target = ConfigTarget(file, (taught_block(file.name, items),))
            change = ConfigChange(target, text.encode(), new)
            config_files.check(change)
            config_files.apply(change, self._clock())
        return ()

    def _find(self, erased: ErasedText) -> tuple[list[Path], list[Path]]:
        """Return the files that contain the erased notes, and the files that can't be read."""
        found, unreadable = list[Path](), list[Path]()
        for file in self._files.read() if erased.ids else ():
            try:
                if {*erased.ids} & taught_items(text_file.read_text(file)).keys():
                    found.append(file)
            except McpMemoryError:
                unreadable.append(file)
        return found, unreadable
