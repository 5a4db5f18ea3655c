"""The memory that a client keeps by itself, beside ours: its switch, or its place among our sources."""

import re
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from mcp_memory.errors import Refused
from mcp_memory.integrations import jsonc, toml
from mcp_memory.text.parsed_values import value_at


@dataclass(frozen=True, slots=True)
class OwnMemory:
    """The switch of a client's own memory, at `path` in a JSON or TOML configuration. `default`: whether it is on
    without a setting. `switches_off`: you asked to switch it off."""

    format: str
    path: tuple[str, ...]
    default: bool
    switches_off: bool = False
    what = "its own memory switched off"

    def insert(self, text: str) -> str:
        return self._with(text, False) if self.switches_off and self.is_on(text) else text

    def remove(self, text: str, before: str | None) -> str:
        """Switch the client's memory on again if it was on before."""
        if not self.is_in(text) or not self.is_on(before or ""):
            return text
        old = value_at(self._values(before or ""), *self.path)
        return jsonc.remove(text, self.path, before) if old is None else self._with(text, old)

    def is_in(self, text: str) -> bool:
        return self.switches_off and not self.is_on(text)

    def is_on(self, text: str) -> bool:
        """Return whether the client's memory is on. Raises Refused for a text that can't be read."""
        found = value_at(self._values(text), *self.path)
        return self.default if found is None else found is True

    def _values(self, text: str) -> Any:
        return toml.value_of(text) if self.format == "toml" else jsonc.value_of(text)

    def _with(self, text: str, value: Any) -> str:
        if self.format == "toml":
            return toml.set_table(text, self.path[:-1], {self.path[-1]: value})
        return jsonc.set_value(text, self.path, value)


@dataclass(frozen=True, slots=True)
class OwnMemoryInPlace:
    """A config entry in our own settings: the client's memory is read in its `folder`, as a source or `as_vault`. A
    comment marks the line, so that `uninstall` keeps a line that you wrote."""

    client: str
    folder: str
    as_vault: bool = False
    what = "its own memory is read where it is"

    @property
    def path(self) -> tuple[str, ...]:
        return ("vault", "path") if self.as_vault else ("vault", "sources", self.client)

    def insert(self, text: str) -> str:
        found = value_at(toml.value_of(text), *self.path)
        if found == self.folder:
            return text
        if found is not None:
            raise Refused(f"{'.'.join(self.path)} is {found!r}", hint="take that line out first, or leave it so")
        *table, key = self.path
        new = toml.set_table(text, table, {key: self.folder})
        line = re.compile(rf"^({re.escape(key)} = [^\r\n]*)", re.MULTILINE)
        at = next(n for n, (a, b) in enumerate(zip_longest(new, text)) if a != b)  # the new line, or its header
        start = new.rfind("\n", 0, at) + 1
        return new[:start] + line.sub(lambda found: f"{found[1]}  {self._mark}", new[start:], count=1)

    def remove(self, text: str, before: str | None) -> str:
        *table, key = self.path
        if value_at(toml.value_of(text), *table) == {key: self.folder} and not value_at(
            toml.value_of(before or ""), *table
        ):
            return toml.remove(text, table)
        return self._line.sub("", text, count=1)

    def is_in(self, text: str) -> bool:
        return self._line.search(text) is not None

    @property
    def _mark(self) -> str:
        return f"# until mcp-memory uninstall {self.client}"

    @property
    def _line(self) -> re.Pattern[str]:
        return re.compile(rf"^{re.escape(self.path[-1])} = [^\r\n]*{self._mark}(?:\r?\n|\Z)", re.MULTILINE)
