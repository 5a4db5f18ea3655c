"""The syntaxes of configuration files, behind one set of functions: TOML, and JSON in all its dialects."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from mcp_memory.errors import McpMemoryError
from mcp_memory.integrations import jsonc, text_file, toml
from mcp_memory.text.parsed_values import table_at


class Syntax(Protocol):
    """Reads and edits a text; each edit changes no other byte. All functions raise Refused for a broken text."""

    def value_of(self, text: str) -> Any:
        """Return the plain value."""
        ...

    def set_table(self, text: str, path: Sequence[str], table: Mapping[str, Any]) -> str:
        """Put the table at `path`; other keys of an existing table stay."""
        ...

    def remove(self, text: str, path: Sequence[str], before: str | None = None) -> str:
        """Remove the value at `path`, and what only led to it. `before` is an older state of the text."""
        ...


def syntax_of(file: Path) -> Syntax:
    return toml if file.suffix == ".toml" else jsonc


def read_table(file: Path) -> dict[str, Any]:
    """Return a parsed file; empty if it is missing or broken, because then its client can't load it."""
    with suppress(McpMemoryError):
        return table_at(syntax_of(file).value_of(text_file.read_text(file)))
    return {}
