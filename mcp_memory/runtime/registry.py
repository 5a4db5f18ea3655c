"""Back ends by name: built-in ones lazily, others through entry points.

A `Registry` maps a name to the place of a class or factory (`"package.module:attribute"`), which is
imported only when asked for. Packages add their own under the entry-point group
`mcp_memory.<registry name>`.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from mcp_memory.errors import ConfigInvalid, ExtraMissing


class Registry:
    """Names of one sort of back end, say `"storage"`.

    `extras` names, per back end, the extra to install where its import fails.
    """

    def __init__(self, sort: str, builtins: Mapping[str, str], extras: Mapping[str, str] | None = None) -> None:
        self._sort = sort
        self._builtins = dict(builtins)
        self._extras = dict(extras or {})

    def names(self) -> list[str]:
        """All known names, sorted."""
        return sorted({*self._builtins, *(entry.name for entry in self._entries())})

    def get(self, name: str) -> Any:
        """The class or factory behind `name`.

        Raises ConfigInvalid for an unknown name and ExtraMissing where its packages are not installed.
        """
        target = self._builtins.get(name)
        try:
            if target is not None:
                module, _, attribute = target.partition(":")
                return getattr(importlib.import_module(module), attribute)
            for entry in self._entries():
                if entry.name == name:
                    return entry.load()
        except ImportError as error:
            extra = self._extras.get(name)
            hint = f"pip install 'mcp-memory[{extra}]'" if extra else "install the package that provides it"
            raise ExtraMissing(f"{self._sort} {name!r} cannot be imported: {error}", hint=hint) from error
        raise ConfigInvalid(f"unknown {self._sort} {name!r}", hint=f"known: {', '.join(self.names())}; {self.others}")

    @property
    def others(self) -> str:
        """Where further names come from."""
        return f"a package adds its own by an entry point of the group mcp_memory.{self._sort}"

    def _entries(self) -> list[Any]:
        from importlib.metadata import entry_points  # 30 ms, which every command would wait for

        return list(entry_points(group=f"mcp_memory.{self._sort}"))
