"""Kinds of notes: where each lands and how long it counts. Configuration, not code."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mcp_memory.errors import ConfigInvalid, InvalidInput
from mcp_memory.vault.config import SHIPPED_KINDS, KindConfig

LOG = "log"
NOTE = "note"


@dataclass(frozen=True, slots=True)
class NoteKind:
    """`folder` is relative to home; a log's is relative to the vault."""

    name: str
    folder: str
    ttl_days: int
    about: str


class NoteKinds:
    """The shipped kinds with the user's own added and overridden."""

    def __init__(self, configured: Mapping[str, KindConfig]) -> None:
        self._kinds: dict[str, NoteKind] = {}
        for name, config in {**SHIPPED_KINDS, **configured}.items():
            if not name.replace("-", "").replace("_", "").isalnum() or not name.isascii() or name.startswith("_"):
                raise ConfigInvalid(f"kind {name!r} is no plain word", hint="use letters, digits, - and _")
            shipped = SHIPPED_KINDS.get(name, KindConfig())
            folder = config.folder.strip("/") or shipped.folder or f"notes/{name}"
            self._kinds[name] = NoteKind(name, folder, config.ttl_days, config.about or shipped.about)
        self._by_folder = {k.folder: k.name for k in self._kinds.values() if k.folder.startswith("notes/")}

    def __iter__(self) -> Iterator[NoteKind]:
        return iter(self._kinds.values())

    @property
    def names(self) -> list[str]:
        return list(self._kinds)

    def get(self, name: str) -> NoteKind:
        """Raises InvalidInput that lists the known kinds."""
        if kind := self._kinds.get(name):
            return kind
        near = difflib.get_close_matches(name[:100], self._kinds, n=1)
        known = f"known kinds: {', '.join(self._kinds)}"
        raise InvalidInput(f"unknown kind {name[:100]!r}", hint=f"did you mean {near[0]!r}? {known}" if near else known)

    def of_folder(self, folder: str) -> str:
        """The kind that a file in this folder (relative to home) has without saying so."""
        while folder:
            if name := self._by_folder.get(folder):
                return name
            folder = folder.rpartition("/")[0]
        return NOTE
