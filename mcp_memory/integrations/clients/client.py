"""What every client says about itself: its program, its configuration files, and what goes into each."""

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
"""When a client stops waiting for a hook; ours end themselves after half a second. Codex allows its SessionEnd no more,
and warns at every start if a file asks for more."""

SERVER = "SERVER"
ACTIONS = "^(Bash|Edit|MultiEdit|Write|NotebookEdit|apply_patch)$"
"""Matches the tools that change files or run commands."""

OWN_TOOLS = f"^mcp__{SERVER}__memory_(append|forget|recall|search)$"
"""Matches our tools, as Claude Code and Codex name them; what the client calls our server takes the place of `SERVER`,
so that another server's tools of these names are left alone."""

MANAGED = Path("/Library/Application Support/ClaudeCode" if sys.platform == "darwin" else "/etc/claude-code")


@dataclass(frozen=True, slots=True)
class ClientPaths:
    """Where clients look for their files. `managed`: an organization's folder for Claude Code. `is_mac`: editors keep
    their settings elsewhere there."""

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
    """`entry` is the server's; `hooks`: the client's name of an event → our command; `vault` is None for the default
    one. `plugin`: the folder of ours and the command that it runs. `variable` and `token` are for OpenClaw."""

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
    """A client, described by a subclass. `program`: its name on the PATH, empty for none; `scopes`: where an entry of
    our server may be; `hooks`: its name of an event → ours (several may be one of ours), empty for a client without
    hooks of this form."""

    name: ClassVar[str]
    title: ClassVar[str]
    program: ClassVar[str] = ""
    scopes: ClassVar[tuple[Scope, ...]] = ("user",)
    hooks: ClassVar[Mapping[str, HookEvent]] = {}
    hook_timeout: ClassVar[int] = HOOK_TIMEOUT_S
    tolerates: ClassVar[str] = "commas"
    """What the client's own reader of JSON takes besides: nothing, `comments`, or trailing `commas` as well."""

    def targets(self, scope: Scope, where: ClientPaths, wire: ConnectionDetails, hooks: bool) -> list[ConfigTarget]:
        """Returns the files and what goes into them. Raises Refused for a scope that the client doesn't have."""
        raise NotImplementedError

    def config_file(self, scope: Scope, where: ClientPaths) -> Path | None:
        """Returns the file that holds the server's entry; None if there is none in this scope."""
        raise NotImplementedError

    def folder(self, where: ClientPaths) -> Path:
        """Returns the folder in which the client keeps its files, whether it is there or not."""
        raise NotImplementedError

    def memory_folder(self, where: ClientPaths) -> Path | None:  # noqa: ARG002 -- most have none
        """Returns the folder with what the client itself remembers, which `import` can read; None if there is none."""
        return None

    def hook_entries(self, commands: Mapping[str, str], vault: str | None, server: str) -> HookEntries:
        """`commands`: the client's name of an event → our command; `server`: what it calls our server."""
        found = {name: event.matcher.replace(SERVER, server) for name, event in self.hooks.items()}
        matchers = {name: matcher for name, matcher in found.items() if matcher}
        return HookEntries(commands, matchers, self.name, vault, self.hook_timeout)

    def _config(self, scope: Scope, where: ClientPaths) -> Path:
        """Raises Refused for a scope that the client doesn't have."""
        if (file := self.config_file(scope, where)) is None:
            raise Refused(f"{self.title} has no configuration for a project", hint="--scope user")
        return file
