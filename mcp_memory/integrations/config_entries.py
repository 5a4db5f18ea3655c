"""What is put into a text: one piece each, with the way back."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from mcp_memory.errors import Refused
from mcp_memory.integrations import commands, envfile, jsonc, marked_block, toml
from mcp_memory.integrations.commands import OurCommand
from mcp_memory.integrations.config_tree import list_at, table_at, value_at


class ConfigEntry(Protocol):
    """Pure functions on a file's text. All raise Refused for a text that they cannot read."""

    @property
    def what(self) -> str:
        """What it is, for people."""
        ...

    def insert(self, text: str) -> str:
        """The text with it; the same text where all of it is there. Raises Refused where its place is taken."""
        ...

    def remove(self, text: str, before: str | None) -> str:
        """The text without it; `before` is the text as it was before it came, if that is known."""
        ...

    def is_in(self, text: str) -> bool:
        """Whether it is there, perhaps with other values."""
        ...


def helper_of(entry: object) -> object:
    """The command line by which the client gets its headers; None for an entry without one."""
    return value_at(entry, "headersHelper") or value_at(entry, "http_headers_helper")


@dataclass(frozen=True, slots=True)
class EntryIdentity:
    """How our own entry is told from another's: it asks `headers` for this client and vault, or sends `variable`."""

    client: str
    vault: str | None
    variable: str | None = None

    def owns(self, entry: object) -> bool:
        if self.variable:
            return value_at(entry, "headers", "Authorization") == f"Bearer ${{{self.variable}}}"
        return commands.read(helper_of(entry)) == OurCommand("headers", self.client, self.vault)

    def is_of_another_vault(self, entry: object) -> bool:
        """Whether we put it in, for a vault that is not this one: its folder may have the same name."""
        if self.owns(entry):
            return False
        helper = commands.read(helper_of(entry))
        sent = str(value_at(entry, "headers", "Authorization"))
        named = helper is not None and (helper.verb, helper.client) == ("headers", self.client)
        return named or bool(self.variable and re.fullmatch(r"Bearer \$\{MCP_MEMORY_TOKEN\w*\}", sent))


PATIENCE = ("tool_timeout_sec", "startup_timeout_sec")
"""Of our entry what a person may set otherwise: `install` leaves it so."""


@dataclass(frozen=True, slots=True)
class ServerEntry:
    """Our entry among a client's MCP servers, in JSON or TOML. `chosen` is a name that a person asked for."""

    format: str
    path: tuple[str, ...]
    name: str
    entry: Mapping[str, Any]
    identity: EntryIdentity
    chosen: bool = False
    what = "the memory server"

    def insert(self, text: str) -> str:
        name = self.name_in(text)
        for other in self.names(text):
            if other != name:
                text = self._without(text, other, text)
        taken = self._servers(text).get(name)
        if taken is not None and not self.identity.owns(taken):
            raise Refused(
                f"the server {name!r} there is another one",
                hint=f"choose another name: --name {name}-notes; or remove that entry first",
            )
        if self.format == "toml":
            entry = {key: value for key, value in self.entry.items() if key not in PATIENCE or key not in (taken or {})}
            return toml.set_table(text, (*self.path, name), entry)
        if taken is None:
            return jsonc.set_value(text, (*self.path, name), dict(self.entry))
        for key, value in self.entry.items():
            if taken.get(key) != value:
                text = jsonc.set_value(text, (*self.path, name, key), value)
        return text

    def remove(self, text: str, before: str | None) -> str:
        for name in self.names(text):
            text = self._without(text, name, before)
        return text

    def is_in(self, text: str) -> bool:
        return bool(self.names(text))

    def name_in(self, text: str) -> str:
        """What our entry is to be called there: as a person asked for, else as it is called, else a name that is no
        other vault's."""
        if self.chosen:
            return self.name
        names = self.names(text)
        return names[0] if names else self._free_name(text)

    def is_taken(self, text: str) -> bool:
        """Whether somebody else's server has that name."""
        return self.name_in(text) in {*self._servers(text)} - {*self.names(text)}

    def names(self, text: str) -> list[str]:
        """What our entry is called there; several where somebody added it twice."""
        return [name for name, entry in self._servers(text).items() if self.identity.owns(entry)]

    def entry_in(self, text: str) -> Mapping[str, Any] | None:
        """Our entry as it stands there."""
        return next((entry for entry in self._servers(text).values() if self.identity.owns(entry)), None)

    def serves_another_vault(self, text: str) -> bool:
        return any(map(self.identity.is_of_another_vault, self._servers(text).values()))

    def stdio_entries(self, text: str) -> list[tuple[OurCommand, Mapping[str, Any]]]:
        """The entries that start `mcp-memory stdio` for this vault instead, under any client's name."""
        found: list[tuple[OurCommand, Mapping[str, Any]]] = []
        for entry in self._servers(text).values():
            command = commands.read(shlex.join(map(str, [value_at(entry, "command"), *list_at(entry, "args")])))
            if command and (command.verb, command.vault) == ("stdio", self.identity.vault):
                found.append((command, entry))
        return found

    def _free_name(self, text: str) -> str:
        """Ours, with a number where another vault's folder has the same name."""
        servers = self._servers(text)
        tried = (self.name, *(f"{self.name}-{number}" for number in range(2, 1000)))
        return next(name for name in tried if not self.identity.is_of_another_vault(servers.get(name)))

    def _servers(self, text: str) -> dict[str, Any]:
        return table_at(toml.value_of(text) if self.format == "toml" else jsonc.value_of(text), *self.path)

    def _without(self, text: str, name: str, before: str | None) -> str:
        path = (*self.path, name)
        return toml.remove(text, path) if self.format == "toml" else jsonc.remove(text, path, before)


@dataclass(frozen=True, slots=True)
class HookEntries:
    """Commands that a client runs at its events, in the form that Claude Code and Codex share:
    `{"hooks": {EVENT: [{"hooks": [{"type": "command", "command": …}]}]}}`."""

    commands: Mapping[str, str]
    """The client's name of an event → our command."""
    client: str
    vault: str | None
    timeout_s: int
    what = "the hooks"

    def insert(self, text: str) -> str:
        for event, command in self.commands.items():
            found = self._ours(text, event)
            if not found:
                handler = {"type": "command", "command": command, "timeout": self.timeout_s}
                text = jsonc.append(text, ("hooks", event), {"hooks": [handler]})
                continue
            group, number = found[0]
            if _groups(text, event)[group]["hooks"][number].get("command") != command:
                text = jsonc.replace(text, ("hooks", event, group, "hooks", number, "command"), command)
        return text

    def remove(self, text: str, before: str | None) -> str:
        for event in table_at(jsonc.value_of(text), "hooks"):
            for group, number in reversed(self._ours(text, event)):
                alone = len(_groups(text, event)[group]["hooks"]) == 1
                path = ("hooks", event, group) if alone else ("hooks", event, group, "hooks", number)
                text = jsonc.remove(text, path, before)
        return text

    def is_in(self, text: str) -> bool:
        return any(self._ours(text, event) for event in table_at(jsonc.value_of(text), "hooks"))

    def missing(self, text: str) -> list[str]:
        """The events that have no command of ours."""
        return [event for event in self.commands if not self._ours(text, event)]

    def places(self, text: str) -> list[tuple[str, int, int]]:
        """Of each handler of ours: its event, the number of its group, and its number in that."""
        return [
            (event, *place) for event in table_at(jsonc.value_of(text), "hooks") for place in self._ours(text, event)
        ]

    def _ours(self, text: str, event: str) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        for group, entry in enumerate(_groups(text, event)):
            for number, handler in enumerate(list_at(entry, "hooks")):
                command = commands.read(value_at(handler, "command"))
                is_hook = command is not None and command.verb.startswith("hook ")
                if command and is_hook and (command.client, command.vault) == (self.client, self.vault):
                    found.append((group, number))
        return found


@dataclass(frozen=True, slots=True)
class HookTrust:
    """What Codex notes down in its configuration when a person trusts our hooks: it goes with them. `hashes` are put in
    where a person has said so to us instead, by key."""

    keys: tuple[str, ...]
    hashes: Mapping[str, str] = field(default_factory=dict[str, str])
    what = "the trust in the hooks"

    def insert(self, text: str) -> str:
        for key, value in self.hashes.items():
            text = toml.set_table(text, ("hooks", "state", key), {"trusted_hash": value})
        return text

    def remove(self, text: str, before: str | None) -> str:  # noqa: ARG002 -- a table is whole
        for key in self.keys:
            text = toml.remove(text, ("hooks", "state", key))
        return text

    def is_in(self, text: str) -> bool:
        state = table_at(toml.value_of(text), "hooks", "state")
        return any(key in state for key in self.keys)


@dataclass(frozen=True, slots=True)
class InstructionBlock:
    """A few lines for the agent, between marks."""

    lines: str
    what = "the instructions for the agent"

    def insert(self, text: str) -> str:
        return marked_block.set_block(text, self.lines)

    def remove(self, text: str, before: str | None) -> str:  # noqa: ARG002 -- the marks tell enough
        return marked_block.remove(text)

    def is_in(self, text: str) -> bool:
        return marked_block.is_in(text)


@dataclass(frozen=True, slots=True)
class EnvVariable:
    """The token for a client that has no headers helper, in the environment file that it reads."""

    name: str
    value: str
    what = "the token"

    def insert(self, text: str) -> str:
        return (
            text
            if envfile.value_of(text, self.name) == self.value
            else envfile.set_variable(text, self.name, self.value)
        )

    def remove(self, text: str, before: str | None) -> str:  # noqa: ARG002 -- a line is whole
        return envfile.remove(text, self.name)

    def is_in(self, text: str) -> bool:
        return envfile.value_of(text, self.name) is not None


def _groups(text: str, event: str) -> Sequence[Any]:
    return list_at(jsonc.value_of(text), "hooks", event)
