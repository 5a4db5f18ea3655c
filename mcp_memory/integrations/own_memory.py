"""The switch of a memory that a client keeps by itself, beside ours."""

from dataclasses import dataclass
from typing import Any

from mcp_memory.integrations import jsonc, toml
from mcp_memory.text.parsed_values import value_at


@dataclass(frozen=True, slots=True)
class OwnMemory:
    """Its `path` in a configuration in JSON or TOML; on by `default`, or not. `switches_off`: you asked for that."""

    format: str
    path: tuple[str, ...]
    default: bool
    switches_off: bool = False
    what = "its own memory switched off"

    def insert(self, text: str) -> str:
        return self._with(text, False) if self.switches_off and self.is_on(text) else text

    def remove(self, text: str, before: str | None) -> str:
        """Switches it on again if it was."""
        if not self.is_in(text) or not self.is_on(before or ""):
            return text
        old = value_at(self._values(before or ""), *self.path)
        return jsonc.remove(text, self.path, before) if old is None else self._with(text, old)

    def is_in(self, text: str) -> bool:
        return self.switches_off and not self.is_on(text)

    def is_on(self, text: str) -> bool:
        """Raises Refused for a text that can't be read."""
        found = value_at(self._values(text), *self.path)
        return self.default if found is None else found is True

    def _values(self, text: str) -> Any:
        return toml.value_of(text) if self.format == "toml" else jsonc.value_of(text)

    def _with(self, text: str, value: Any) -> str:
        if self.format == "toml":
            return toml.set_table(text, self.path[:-1], {self.path[-1]: value})
        return jsonc.set_value(text, self.path, value)
