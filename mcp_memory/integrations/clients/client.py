"""The description of a client: its program, its configuration files, and the entries for each."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from mcp_memory.errors import Refused
from mcp_memory.integrations.config_entries import HookEntries, HookEvent
from mcp_memory.integrations.config_plan import ConfigTarget

Scope = Literal["user", "project"]

TOOLS = ("memory_search", "memory_recall", "memory_append", "memory_forget")

HOOK_TIMEOUT_S = 3
"""The time after which a client stops waiting for a hook; ours exit after half a second. Codex allows no more for its
SessionEnd, and warns at every start if a file asks for more."""

SERVER = "SERVER"
ACTIONS = "^(Bash|Edit|MultiEdit|Write|NotebookEdit|apply_patch)$"
"""Matches the tools that change files or run commands."""

OWN_TOOLS = f"^mcp__{SERVER}__memory_(append|forget|recall|search)$"
"""Matches our tools, as Claude Code and Codex name them. The client's name for our server replaces `SERVER`, so another
server's tools of the same names don't match."""

MANAGED = Path("/Library/Application Support/ClaudeCode" if sys.platform == "darwin" else "/etc/claude-code")


@dataclass(frozen=True, slots=True)
class ClientPaths:
    """The places where clients look for their files. `managed`: an organization's folder for Claude Code. `is_mac`: on
    a Mac, editors keep their settings elsewhere."""

    home: Path
    environ: Mapping[str, str]
    project: Path | None = None
    managed: Path = MANAGED
    is_mac: bool = sys.platform == "darwin"

    def folder(self, variable: str, default: str) -> Path:
        chosen = self.environ.get(variable)
        return Path(chosen).expanduser() if chosen else self.home / default


@dataclass(frozen=True, slots=True)
class ConnectionDetails:
    """The values that connect a client. `entry`: the server's. `hooks`: the client's name of an event → our command.
    `vault`: None for the default vault. `plugin`: our plugin's folder and the command that it runs. `variable` and
    `token`: for OpenClaw."""

    name: str
    entry: Mapping[str, Any]
    instructions: str
    hooks: Mapping[str, str]
    vault: str | None
    variable: str
    token: str
    plugin: tuple[str, str]
    chosen: bool = False


class Client:
    """A client, described by a subclass. `program`: its name on the PATH, or empty. `scopes`: the places for an entry
    of our server. `hooks`: the client's name of an event → our event (several may map to one event); empty for a client
    without hooks of this form."""

    name: ClassVar[str]
    title: ClassVar[str]
    program: ClassVar[str] = ""
    scopes: ClassVar[tuple[Scope, ...]] = ("user",)
    hooks: ClassVar[Mapping[str, HookEvent]] = {}
    hook_timeout: ClassVar[int] = HOOK_TIMEOUT_S
    tolerates: ClassVar[str] = "commas"
    """The extensions that the client's own JSON reader accepts: none (empty), `comments`, or `commas` (comments and
    trailing commas)."""

    def targets(self, scope: Scope, where: ClientPaths, wire: ConnectionDetails, hooks: bool) -> list[ConfigTarget]:
        """Return the files and the entries for each. Raises Refused for a scope that the client doesn't have."""
        raise NotImplementedError

    def config_file(self, scope: Scope, where: ClientPaths) -> Path | None:
        """Return the file that holds the server's entry; None if this scope has no such file."""
        raise NotImplementedError

    def folder(self, where: ClientPaths) -> Path:
        """Return the folder in which the client keeps its files, whether or not it exists."""
        raise NotImplementedError

    def memory_folder(self, where: ClientPaths) -> Path | None:  # noqa: ARG002 -- most have none
        """Return the folder with the client's own memory, which `import` can read; None if it has none."""
        return None

    def hook_entries(self, commands: Mapping[str, str], vault: str | None, server: str) -> HookEntries:
        """Return the client's hook entries. `commands`: the client's name of an event → our command. `server`: the
        client's name for our server."""
        found = {name: event.matcher.replace(SERVER, server) for name, event in self.hooks.items()}
        matchers = {name: matcher for name, matcher in found.items() if matcher}
        return HookEntries(commands, matchers, self.name, vault, self.hook_timeout)

    def _config(self, scope: Scope, where: ClientPaths) -> Path:
        """Return the configuration file. Raises Refused for a scope that the client doesn't have."""
        if (file := self.config_file(scope, where)) is None:
            raise Refused(f"{self.title} has no configuration for a project", hint="--scope user")
        return file
