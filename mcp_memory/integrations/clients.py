"""Describes each client: its program, its configuration files, and what goes into each.

All files are edited directly. `claude mcp add-json` and `openclaw mcp add` rewrite the whole file, `codex mcp add`
knows no headers helper, and none of the three can show beforehand what it will do.
"""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from mcp_memory.errors import McpMemoryError, Refused
from mcp_memory.integrations import config_files, jsonc
from mcp_memory.integrations.config_entries import (
    ConfigEntry,
    EntryIdentity,
    HookEntries,
    HookEvent,
    HookTrust,
    PermissionRule,
    ServerEntry,
)
from mcp_memory.integrations.config_plan import ConfigTarget, decode
from mcp_memory.integrations.envfile import EnvVariable
from mcp_memory.integrations.marked_block import InstructionBlock
from mcp_memory.integrations.openclaw_plugin import OpenClawPlugin
from mcp_memory.text.parsed_values import value_at

T = TypeVar("T")
E = TypeVar("E", bound=ConfigEntry)

Scope = Literal["user", "project"]

CLIENTS = ("claude-code", "codex", "openclaw", "generic")
TITLES = {"claude-code": "Claude Code", "codex": "Codex", "openclaw": "OpenClaw", "generic": "any other client"}
PROGRAMS = {"claude-code": "claude", "codex": "codex", "openclaw": "openclaw"}

CONNECTABLE: tuple[tuple[str, Scope], ...] = (
    ("claude-code", "user"),
    ("claude-code", "project"),
    ("codex", "user"),
    ("codex", "project"),
    ("openclaw", "user"),
)
"""Where an entry of our server may be."""

_COMMON_EVENTS = {
    "SessionStart": HookEvent("session-start"),
    "UserPromptSubmit": HookEvent("prompt"),
    "PreCompact": HookEvent("pre-compact"),
    "Stop": HookEvent("stop"),
    "SessionEnd": HookEvent("session-end"),
}
HOOK_EVENTS: Mapping[str, Mapping[str, HookEvent]] = {"claude-code": _COMMON_EVENTS, "codex": _COMMON_EVENTS}
"""Client → its name of an event → ours. Several of a client's may be one of ours."""

HOOK_TIMEOUT_S = 3
"""When a client stops waiting for a hook; ours end themselves after half a second. Codex allows its SessionEnd no more,
and warns at every start if a file asks for more."""

MANAGED = Path("/Library/Application Support/ClaudeCode" if sys.platform == "darwin" else "/etc/claude-code")


@dataclass(frozen=True, slots=True)
class ClientPaths:
    """Where clients look for their files. `managed`: an organization's folder for Claude Code."""

    home: Path
    environ: Mapping[str, str]
    project: Path | None = None
    managed: Path = MANAGED

    def folder(self, variable: str, default: str) -> Path:
        chosen = self.environ.get(variable)
        return Path(chosen).expanduser() if chosen else self.home / default


@dataclass(frozen=True, slots=True)
class ConnectionDetails:
    """`entry` is the server's; `hooks`: the client's name of an event → our command; `vault` is None for the default
    one. `variable`, `token` and `plugin` (its folder and command) are for OpenClaw, which has no headers helper."""

    name: str
    entry: Mapping[str, Any]
    instructions: str
    hooks: Mapping[str, str]
    vault: str | None
    variable: str
    token: str
    plugin: tuple[str, str]
    chosen: bool = False


def config_targets(
    client: str, scope: Scope, where: ClientPaths, wire: ConnectionDetails, *, hooks: bool
) -> list[ConfigTarget]:
    """Returns the client's files and what goes into them. Raises Refused for a scope that it doesn't have."""
    if scope == "project" and where.project is None:
        raise Refused("this folder is in no git repository", hint="cd into one, or: --scope user")
    found = _TARGETS[client](scope, where, wire, hooks)
    return [replace(target, within=where.project) for target in found] if scope == "project" else found


def with_hook_trust(found: Sequence[ConfigTarget], hashes: Mapping[str, str]) -> list[ConfigTarget]:
    """Adds Codex's trust in our hooks: the key of each → its hash."""
    trust = HookTrust(tuple(hashes), hashes)
    return [
        replace(target, entries=tuple(trust if isinstance(entry, HookTrust) else entry for entry in target.entries))
        for target in found
    ]


def config_file(client: str, scope: Scope, where: ClientPaths) -> Path | None:
    """Returns the file that holds the server's entry; None for a client that has none there."""
    if scope == "project":
        inner = {"claude-code": ".mcp.json", "codex": ".codex/config.toml"}.get(client)
        return where.project / inner if where.project and inner else None
    if client == "claude-code":
        return where.folder("CLAUDE_CONFIG_DIR", "") / ".claude.json"
    if client == "codex":
        return client_folder(client, where) / "config.toml"
    return _openclaw_config(where) if client == "openclaw" else None


def client_folder(client: str, where: ClientPaths) -> Path:
    """Returns the folder in which the client keeps its files, whether it is there or not."""
    if client == "claude-code":
        return where.folder("CLAUDE_CONFIG_DIR", ".claude")
    return where.folder("CODEX_HOME", ".codex") if client == "codex" else _openclaw_state(where)


def memory_folder(client: str, where: ClientPaths) -> Path | None:
    """Returns the folder with what the client itself remembers, which `import` can read; None if there is none."""
    if client == "openclaw":
        folder = _workspace(where, _openclaw_config(where))
        return folder if (folder / "MEMORY.md").exists() or (folder / "memory").is_dir() else None
    folder = client_folder(client, where) / "projects"
    return folder if client == "claude-code" and any(folder.glob("*/memory/*.md")) else None


def ask_entry(target: ConfigTarget, content: bytes | None, kind: type[E], question: Callable[[E, str], T]) -> T | None:
    """Asks the target's entry of that kind about the file's text. None if the target has no such entry, or there is no
    file, or it can't be read."""
    for entry in target.entries:
        if isinstance(entry, kind) and content is not None:
            with suppress(Refused):
                return question(entry, decode(content))
    return None


def explain_unread(client: str, target: ConfigTarget, content: bytes | None) -> str | None:
    """Explains why the client doesn't load a file that we can read; None if it does."""
    is_json = target.file.suffix == ".json" and client != "openclaw"
    if content is None or not is_json or (fault := jsonc.plain_fault(content.decode(errors="replace"))) is None:
        return None
    return (
        f"{TITLES[client]} loads nothing of {target.file}: {fault}; comments and trailing commas aren't allowed there"
    )


def overriding_file(client: str, target: ConfigTarget) -> Path | None:
    """Returns the file, if not empty, that Codex reads instead of the one with our instructions."""
    other = target.file.with_name("AGENTS.override.md")
    if client != "codex" or not any(isinstance(piece, InstructionBlock) for piece in target.entries):
        return None
    with suppress(McpMemoryError):
        return other if (config_files.read(other) or b"").strip() else None
    return None


def _claude_code(scope: Scope, where: ClientPaths, wire: ConnectionDetails, hooks: bool) -> list[ConfigTarget]:
    config = config_file("claude-code", scope, where)
    assert config is not None, "it has one in both scopes"
    root = where.project if scope == "project" else None
    folder = root / ".claude" if root else client_folder("claude-code", where)
    identity = EntryIdentity("claude-code", wire.vault)
    server = ServerEntry("json", ("mcpServers",), wire.name, wire.entry, identity, wire.chosen)
    more: tuple[ConfigEntry, ...] = (hook_entries("claude-code", wire.hooks, wire.vault),) if hooks else ()
    return [
        ConfigTarget(config, (server,), lock=None if root else config.with_name(f"{config.name}.lock")),
        ConfigTarget(folder / "settings.json", (*more, *_permission(config, server))),
        ConfigTarget((root or folder) / "CLAUDE.md", (InstructionBlock(wire.instructions),)),
    ]


def _codex(scope: Scope, where: ClientPaths, wire: ConnectionDetails, hooks: bool) -> list[ConfigTarget]:
    config = config_file("codex", scope, where)
    assert config is not None, "it has one in both scopes"
    identity = EntryIdentity("codex", wire.vault)
    server = ServerEntry("toml", ("mcp_servers",), wire.name, wire.entry, identity, wire.chosen)
    folder = where.project if scope == "project" and where.project else config.parent
    instructions = ConfigTarget(folder / "AGENTS.md", (InstructionBlock(wire.instructions),))
    if not hooks:
        return [ConfigTarget(config, (server,)), instructions]
    file, ours = config.parent / "hooks.json", hook_entries("codex", wire.hooks, wire.vault)
    return [
        ConfigTarget(config, (server, HookTrust(_trust_keys(file, ours)))),
        ConfigTarget(file, (ours,)),
        instructions,
    ]


def _openclaw(scope: Scope, where: ClientPaths, wire: ConnectionDetails, hooks: bool) -> list[ConfigTarget]:
    if scope == "project":
        raise Refused("OpenClaw has no configuration for a project", hint="--scope user")
    config = _openclaw_config(where)
    identity = EntryIdentity("openclaw", wire.vault, wire.variable)
    server = ServerEntry("json", ("mcp", "servers"), wire.name, wire.entry, identity, wire.chosen)
    token = EnvVariable(wire.variable, wire.token)
    instructions = InstructionBlock(wire.instructions)
    return [
        ConfigTarget(_openclaw_state(where) / ".env", (token,), private=True),
        ConfigTarget(config, (server, OpenClawPlugin(*wire.plugin, wire.vault)) if hooks else (server,)),
        ConfigTarget(_workspace(where, config) / "AGENTS.md", (instructions,), only_existing=True),
    ]


def _generic(scope: Scope, where: ClientPaths, wire: ConnectionDetails, hooks: bool) -> list[ConfigTarget]:  # noqa: ARG001 -- as the others
    """We don't know its configuration, but many clients read AGENTS.md."""
    if scope == "user" or where.project is None:
        return []
    return [ConfigTarget(where.project / "AGENTS.md", (InstructionBlock(wire.instructions),))]


def hook_entries(client: str, hooks: Mapping[str, str], vault: str | None) -> HookEntries:
    """`hooks`: the client's name of an event → our command."""
    matchers = {name: event.matcher for name, event in HOOK_EVENTS[client].items() if event.matcher}
    return HookEntries(hooks, matchers, client, vault, HOOK_TIMEOUT_S)


def _permission(config: Path, server: ServerEntry) -> tuple[PermissionRule, ...]:
    """The rule for the name that our entry has there, or will have."""
    with suppress(McpMemoryError):  # reported when the entry is planned
        text = config_files.read_text(config)
        name = server.name_in(text)
        if not server.is_taken(text):
            return (PermissionRule(name, tuple(other for other in server.names(text) if other != name)),)
    return ()


def _trust_keys(file: Path, hooks: HookEntries) -> tuple[str, ...]:
    """Codex's keys for our handlers in that file: the file, the event in snake case, and their numbers."""
    with suppress(McpMemoryError):  # reported when the hooks are planned
        return tuple(
            f"{file}:{re.sub(r'(?<!^)(?=[A-Z])', '_', event).lower()}:{group}:{number}"
            for event, group, number in hooks.places(config_files.read_text(file))
        )
    return ()


def _openclaw_state(where: ClientPaths) -> Path:
    profile = where.environ.get("OPENCLAW_PROFILE", "")
    name = f".openclaw-{profile}" if profile and profile != "default" else ".openclaw"
    return where.folder("OPENCLAW_STATE_DIR", str(where.folder("OPENCLAW_HOME", "") / name))


def _openclaw_config(where: ClientPaths) -> Path:
    return where.folder("OPENCLAW_CONFIG_PATH", str(_openclaw_state(where) / "openclaw.json"))


def _workspace(where: ClientPaths, config: Path) -> Path:
    """The folder of the agent's own files, as configured."""
    found = value_at(config_files.read_table(config), "agents", "defaults", "workspace")
    if isinstance(found, str) and found:
        return where.home / found[2:] if found.startswith("~/") else Path(found)
    return where.folder("OPENCLAW_WORKSPACE_DIR", str(_openclaw_state(where) / "workspace"))


_TARGETS = {"claude-code": _claude_code, "codex": _codex, "openclaw": _openclaw, "generic": _generic}
