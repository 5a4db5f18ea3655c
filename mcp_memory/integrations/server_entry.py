"""Our entry among a client's MCP servers: adds it, recognizes it in any client's spelling, and removes it."""

import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from mcp_memory.errors import McpMemoryError, Refused
from mcp_memory.integrations import commands, jsonc, text_file, toml
from mcp_memory.integrations.commands import OurCommand
from mcp_memory.text.parsed_values import list_at, table_at, value_at


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


def read_table(file: Path) -> dict[str, Any]:
    """Return a parsed file; empty if it is missing or broken, because then its client can't load it."""
    syntax = toml if file.suffix == ".toml" else jsonc
    with suppress(McpMemoryError):
        return table_at(syntax.value_of(text_file.read_text(file)))
    return {}


def command_line(entry: object) -> object:
    """Return the command line in a server's entry, in any client's spelling: the server that it starts, or what prints
    the headers of calls over HTTP. None for an entry without a command."""
    command = value_at(entry, "command")
    if not command:
        return value_at(entry, "headersHelper") or value_at(entry, "http_headers_helper")
    return shlex.join(map(str, [*(list_at(entry, "command") or [command]), *list_at(entry, "args")]))


_VERBS = ("headers", "stdio")
YOURS = ("tool_timeout_sec", "startup_timeout_sec", "timeout", "trust", "enabled", "disabled")
"""Values of our entry that you may change: `install` keeps them."""


@dataclass(frozen=True)
class ServerEntry:
    """Our entry among a client's MCP servers. It is ours if it runs the same command as `entry`, `headers` or `stdio`,
    for this client and vault. `chosen`: you asked for that name."""

    syntax: Syntax
    path: tuple[str, ...]
    name: str
    entry: Mapping[str, Any]
    client: str
    vault: str | None
    chosen: bool = False
    what = "the memory server"

    def insert(self, text: str) -> str:
        for other in self._of_other_verb(text):
            text = self.syntax.remove(text, (*self.path, other), text)
        name = self.name_in(text)
        for other in self.names(text):
            if other != name:
                text = self.syntax.remove(text, (*self.path, other), text)
        taken = self._servers(text).get(name)
        if taken is not None and not self._owns(taken):
            raise Refused(
                f"another server is called {name!r} there",
                hint=f"choose another name: --name {name}-notes; or remove that entry first",
            )
        entry = {key: value for key, value in self.entry.items() if key not in YOURS or key not in (taken or {})}
        return self.syntax.set_table(text, (*self.path, name), entry)

    def remove(self, text: str, before: str | None) -> str:
        for name in (*self.names(text), *self._of_other_verb(text)):
            text = self.syntax.remove(text, (*self.path, name), before)
        return text

    def is_in(self, text: str) -> bool:
        return bool(self.names(text))

    def name_in(self, text: str) -> str:
        """Return the name for our entry: your chosen name, else the existing name, else our default. The default gets a
        number if another vault's folder has the same name."""
        if self.chosen:
            return self.name
        if names := self.names(text):
            return names[0]
        servers = self._servers(text)
        tried = (self.name, *(f"{self.name}-{number}" for number in range(2, 1000)))
        return next(name for name in tried if not self._is_of_another_vault(servers.get(name)))

    def is_taken(self, text: str) -> bool:
        """Return whether another server has that name."""
        return self.name_in(text) in {*self._servers(text)} - {*self.names(text)}

    def names(self, text: str) -> list[str]:
        """Return the names of our entry; several if it was added twice."""
        return [name for name, entry in self._servers(text).items() if self._owns(entry)]

    def entry_in(self, text: str) -> Mapping[str, Any] | None:
        """Return our entry, None if it isn't there."""
        return next((entry for entry in self._servers(text).values() if self._owns(entry)), None)

    def is_of_another_vault(self, text: str) -> bool:
        """Return whether the file connects another vault of ours."""
        return any(map(self._is_of_another_vault, self._servers(text).values()))

    def stdio_entries(self, text: str) -> list[tuple[OurCommand, Mapping[str, Any]]]:
        """Return the entries that start `mcp-memory stdio` for this vault instead, under any client's name."""
        found: list[tuple[OurCommand, Mapping[str, Any]]] = []
        for entry in self._servers(text).values():
            command = None if self._owns(entry) else commands.read(command_line(entry))
            if command and (command.verb, command.vault) == ("stdio", self.vault):
                found.append((command, entry))
        return found

    def _servers(self, text: str) -> dict[str, Any]:
        return table_at(self.syntax.value_of(text), *self.path)

    def _owns(self, entry: object) -> bool:
        return commands.read(command_line(entry)) == OurCommand(self._verb, self.client, self.vault)

    @property
    def _verb(self) -> str:
        wanted = commands.read(command_line(self.entry))
        return wanted.verb if wanted else ""

    def _of_other_verb(self, text: str) -> list[str]:
        """Return the names of entries that connect this client to this vault in the other way."""
        others = [OurCommand(verb, self.client, self.vault) for verb in _VERBS if verb != self._verb]
        return [name for name, entry in self._servers(text).items() if commands.read(command_line(entry)) in others]

    def _is_of_another_vault(self, entry: object) -> bool:
        """Return whether we added the entry for another vault, whose folder may have the same name."""
        command = commands.read(command_line(entry))
        is_ours = command is not None and command.verb in _VERBS and command.client == self.client
        return is_ours and not self._owns(entry)
