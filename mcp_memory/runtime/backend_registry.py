"""Finds back ends by name: built-in back ends, and back ends of other packages through entry points."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcp_memory.errors import ConfigInvalid, ExtraMissing


@dataclass(frozen=True)
class Registry:
    """The back ends of one sort, such as "storage". `builtins` maps a name to "package.module:attribute", a class or
    factory, imported when asked for; other packages use the entry-point group `mcp_memory.<sort>`."""

    sort: str
    builtins: Mapping[str, str]

    def names(self) -> list[str]:
        return sorted({*self.builtins, *(entry.name for entry in self._entries())})

    def get(self, name: str) -> Any:
        """The class or factory. Raises ConfigInvalid for an unknown name, ExtraMissing if a package is missing."""
        try:
            if target := self.builtins.get(name):
                module, _, attribute = target.partition(":")
                return getattr(importlib.import_module(module), attribute)
            for entry in self._entries():
                if entry.name == name:
                    return entry.load()
        except ImportError as error:
            raise ExtraMissing(
                f"{self.sort} {name!r} cannot be imported: {error}", hint="install the package that provides it"
            ) from error
        raise ConfigInvalid(f"unknown {self.sort} {name!r}", hint=f"known: {', '.join(self.names())}; {self.others}")

    @property
    def others(self) -> str:
        """Describe where further names come from, for a hint."""
        return f"a package adds its own by an entry point of the group mcp_memory.{self.sort}"

    def _entries(self) -> list[Any]:
        from importlib.metadata import entry_points  # 30 ms, which every command would wait for

        return list(entry_points(group=f"mcp_memory.{self.sort}"))
