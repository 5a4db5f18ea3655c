"""Remembers the places outside the vault that have copies of notes."""

from pathlib import Path

from mcp_memory.runtime.json_lines import JsonLines


class PlaceList:
    """Files or folders, durable and in the order in which they were added. Thread-safe."""

    def __init__(self, file: Path, what: str) -> None:
        """Open the list; `what` names the places in the lines."""
        self._lines = JsonLines(file)
        self._what = what

    def add(self, place: Path) -> None:
        """Remember a place; call it before the copy is made. Raises StorageFailed."""
        if place not in self.read():
            self._lines.append({self._what: str(place)})

    def read(self) -> list[Path]:
        """Return all places. Raises StorageFailed."""
        return [Path(str(line[self._what])) for line in self._lines.read() if self._what in line]
