"""The description of a client: its program, its configuration files, and the entries for each."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from mcp_memory.errors import McpMemoryError, Refused
from mcp_memory.integrations import jsonc, text_file
from mcp_memory.integrations.config_entries import ConfigEntry, HookEntries, HookEvent, InstructionBlock
from mcp_memory.integrations.config_plan import ConfigTarget
from mcp_memory.integrations.server_entry import ServerEntry, Syntax, read_table
from mcp_memory.integrations.text_file import decode
from mcp_memory.text.parsed_values import value_at
from mcp_memory.tool_names import TOOLS

Scope = Literal["user", "project"]

HOOK_TIMEOUT_S = 3
"""The time after which a client stops waiting for a hook; ours exit after half a second. Codex allows no more for its
SessionEnd, and warns at every start if a file asks for more."""

SERVER = "SERVER"
ACTIONS = "^(Bash|Edit|MultiEdit|Write|NotebookEdit|apply_patch)$"
"""Matches the tools that change files or run commands."""

OWN_TOOLS = f"^mcp__{SERVER}__({'|'.join(TOOLS)})$"
"""Matches our tools, as Claude Code and Codex name them. The client's name for our server replaces `SERVER`, so another
server's tools of the same names don't match."""


@dataclass(frozen=True)
class ClientPaths:
    """The places where clients look for their files. `is_mac`: on a Mac, editors keep their settings elsewhere."""

    home: Path
    environ: Mapping[str, str]
    project: Path | None = None
    is_mac: bool = sys.platform == "darwin"

    def folder(self, variable: str, default: str) -> Path:
        chosen = self.environ.get(variable)
        return Path(chosen).expanduser() if chosen else self.home / default


@dataclass(frozen=True)
class ConnectionDetails:
    """The values that connect a client. `entry`: the server's. `hooks`: the client's name of an event → our command.
    `plugin`: our plugin's folder and the command that it runs. Both are empty for a connection without hooks. `vault`:
    None for the default vault. `chosen`: you asked for that name."""

    scope: Scope
    where: ClientPaths
    name: str
    entry: Mapping[str, Any]
    instructions: str
    hooks: Mapping[str, str]
    plugin: tuple[str, str] | None
    vault: str | None
    chosen: bool = False


class Client:
    """A client, described by a subclass: which files it reads, and what belongs in each.

    `home`: its folder below your home, which contains `file`; a repository has `project_file` instead. Both have the
    server's entry under `path`, with `more` in it. `runs`: our command in the entry: `stdio`, the server itself, or
    `headers`, which prints the headers of calls over HTTP. `locks`: the client holds a lock while it writes `file`.
    `rules`, in the folder, and `project_rules` have the instructions for the agent; a new `rules` file begins with
    `rules_head`. `hooks`: the client's name of an event → our event (several may map to one)."""

    name: ClassVar[str]
    title: ClassVar[str]
    program: ClassVar[str]
    scopes: ClassVar[tuple[Scope, ...]] = ("user", "project")
    home: ClassVar[str]
    file: ClassVar[str]
    project_file: ClassVar[str] = ""
    syntax: ClassVar[Syntax] = jsonc
    path: ClassVar[tuple[str, ...]] = ("mcpServers",)
    runs: ClassVar[Literal["stdio", "headers"]] = "stdio"
    more: ClassVar[Mapping[str, Any]] = {}
    locks: ClassVar[bool] = False
    rules: ClassVar[str] = ""
    rules_head: ClassVar[str] = ""
    project_rules: ClassVar[str] = "AGENTS.md"
    hooks: ClassVar[Mapping[str, HookEvent]] = {}
    hook_timeout: ClassVar[int] = HOOK_TIMEOUT_S
    remarks: ClassVar[tuple[str, ...]] = ()
    """The remarks for you after `install`."""
    hooks_switch: ClassVar[tuple[str, ...]] = ()
    """The setting whose `false` switches all hooks off."""
    own_memory: ClassVar[str] = ""
    """The dotted setting that switches the client's own memory, beside ours, on or off; empty without one."""
    has_own_memory: ClassVar[bool] = False
    """Whether the client's own memory is on without that setting."""
    tolerates: ClassVar[str] = "commas"
    """The extensions that the client's own JSON reader accepts: none (empty), `comments`, or `commas` (comments and
    trailing commas)."""

    def folder(self, where: ClientPaths) -> Path:
        """Return the folder in which the client keeps its files, whether or not it exists."""
        return where.home / self.home

    def config_file(self, scope: Scope, where: ClientPaths) -> Path:
        """Return the file that holds the server's entry. Raises Refused if this scope has no such file."""
        if scope == "user":
            return self.folder(where) / self.file
        if "project" not in self.scopes:
            raise Refused(f"{self.title} has no configuration for a project", hint="--scope user")
        return _repository(where) / self.project_file

    def hooks_file(self, scope: Scope, where: ClientPaths) -> Path:
        """Return the file that holds the hooks."""
        return self.config_file(scope, where)

    def rules_file(self, scope: Scope, where: ClientPaths) -> Path | None:
        """Return the file with instructions for the agent; None if the client has none."""
        if scope == "project":
            return _repository(where) / self.project_rules
        return self.folder(where) / self.rules if self.rules else None

    def memory_folder(self, where: ClientPaths) -> Path | None:  # noqa: ARG002 -- most have none
        """Return the folder with the client's own memory, which `import` can read; None if it has none."""
        return None

    def why_remembered_twice(self, where: ClientPaths) -> str | None:
        """Return what to set if the client's own memory is on, too; None if it isn't."""
        file = self.switches_file(where)
        is_on = value_at(read_table(file), *self.own_memory.split(".")) if self.own_memory else False
        if is_on is False or (is_on is None and not self.has_own_memory):
            return None
        what = "its own memory is on as well, so facts end up in two places"
        return f"{what}, unless you set {self.own_memory} to false in {file}"

    def switches_file(self, where: ClientPaths) -> Path:
        """Return the file in which you switch the client's features on and off."""
        return self.config_file("user", where)

    def shape(self, command: str, arguments: list[str]) -> dict[str, Any]:
        """Return the entry that starts our program, in the client's spelling."""
        return {"command": command, "args": arguments, **self.more}

    def server(self, wire: ConnectionDetails) -> ServerEntry:
        return ServerEntry(self.syntax, self.path, wire.name, wire.entry, self.name, wire.vault, wire.chosen)

    def hook_entries(self, commands: Mapping[str, str], vault: str | None, server: str) -> HookEntries:
        """Return the client's hook entries. `commands`: the client's name of an event → our command. `server`: the
        client's name for our server."""
        found = {name: event.matcher.replace(SERVER, server) for name, event in self.hooks.items()}
        matchers = {name: matcher for name, matcher in found.items() if matcher}
        return HookEntries(commands, matchers, self.name, vault, self.hook_timeout)

    def further_entries(self, wire: ConnectionDetails) -> Iterator[tuple[Path, ConfigEntry]]:  # noqa: ARG002 -- most have none
        """Yield what only this client has, each with its file."""
        yield from ()

    def targets(self, wire: ConnectionDetails) -> list[ConfigTarget]:
        """Return the files and the entries for each. Raises Refused for a scope that the client doesn't have."""
        scope, where = wire.scope, wire.where
        config, server = self.config_file(scope, where), self.server(wire)
        files: dict[Path, list[ConfigEntry]] = {config: [server]}
        if wire.hooks:
            ours = self.hook_entries(wire.hooks, wire.vault, name_in(config, server))
            files.setdefault(self.hooks_file(scope, where), []).append(ours)
        for file, entry in self.further_entries(wire):
            files.setdefault(file, []).append(entry)
        if rules := self.rules_file(scope, where):
            files[rules] = [InstructionBlock(wire.instructions, self.rules_head)]
        lock = config.with_name(f"{config.name}.lock") if self.locks and scope == "user" else None
        root = where.project if scope == "project" else None
        return [
            ConfigTarget(file, tuple(entries), lock if file == config else None, root)
            for file, entries in files.items()
        ]

    def why_unread(self, target: ConfigTarget, content: bytes | None) -> str | None:
        """Explain why the client doesn't load a file that we can read; None if it does."""
        if content is None or target.file.suffix != ".json" or self.tolerates == "commas":
            return None
        text = content.decode(errors="replace")
        fault = jsonc.plain_fault(jsonc.without_comments(text) if self.tolerates else text)
        allowed = "trailing commas aren't" if self.tolerates else "comments and trailing commas aren't"
        return fault and f"{self.title} loads nothing of {target.file}: {fault}; {allowed} allowed there"

    def why_unused(self, target: ConfigTarget, content: bytes | None) -> str | None:
        """Explain why the client ignores our entries in a file; None if it doesn't, or if there are none."""
        return self.why_unread(target, content) if has_ours(target, content) else None

    def why_server_off(self, name: str, entry: Mapping[str, Any], where: ClientPaths) -> str | None:  # noqa: ARG002 -- most need neither
        """Return why the client doesn't connect to the server, as far as its files show; None if it does."""
        is_off = entry.get("enabled") is False or entry.get("disabled") is True
        return f"its entry {name!r} is switched off" if is_off else None

    def why_hooks_off(self, where: ClientPaths) -> str | None:
        """Return the setting that switches all hooks off, as far as the files show; None if they run."""
        for file, settings in self.layers(where):
            if self.hooks_switch and value_at(settings, *self.hooks_switch) is False:
                return f"{'.'.join(self.hooks_switch)} = false in {file}"
        return None

    def layers(self, where: ClientPaths) -> list[tuple[Path, dict[str, Any]]]:
        """Return the configuration files with their content, the strongest first."""
        files = [self.config_file("project", where)] if where.project and "project" in self.scopes else []
        return [(file, read_table(file)) for file in (*files, self.config_file("user", where))]


def has_ours(target: ConfigTarget, content: bytes | None) -> bool:
    """Return whether the file has an entry of ours."""
    with suppress(Refused):  # a broken file shows nothing of ours
        text = decode(content)
        return any(entry.is_in(text) for entry in target.entries)
    return False


def name_in(config: Path, server: ServerEntry) -> str:
    """Return the name that our entry has in the file, or will get."""
    with suppress(McpMemoryError):  # reported when the entry is planned
        return server.name_in(text_file.read_text(config))
    return server.name


def _repository(where: ClientPaths) -> Path:
    if where.project is None:
        raise Refused("this folder is in no git repository", hint="cd into one, or: --scope user")
    return where.project
