"""One description a client: its program, its config_files, and what belongs into each.

All files are edited directly. `claude mcp add-json` and `openclaw mcp add` write the whole file anew, `codex mcp add`
knows no headers helper, and none of the three shows first what it will do.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from mcp_memory.errors import McpMemoryError, Refused
from mcp_memory.integrations import config_files, jsonc
from mcp_memory.integrations.commands import OurCommand
from mcp_memory.integrations.config_entries import (
    ConfigEntry,
    EntryIdentity,
    EnvVariable,
    HookEntries,
    HookTrust,
    InstructionBlock,
    ServerEntry,
)
from mcp_memory.integrations.config_plan import ConfigTarget
from mcp_memory.integrations.config_tree import value_at
from mcp_memory.integrations.openclaw_plugin import OpenClawPlugin
from mcp_memory.integrations.permission import PermissionRule

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

HOOK_EVENTS = {
    "session-start": "SessionStart",
    "prompt": "UserPromptSubmit",
    "pre-compact": "PreCompact",
    "stop": "Stop",
    "session-end": "SessionEnd",
}
"""What `mcp-memory hook` does something at → what Claude Code and Codex call the event."""

HOOK_TIMEOUT_S = 3
"""When a client gives a hook up; ours give themselves up after half a second. Codex allows its SessionEnd no more than
this, and warns at every start where a file asks for more."""


MANAGED = Path("/Library/Application Support/ClaudeCode" if sys.platform == "darwin" else "/etc/claude-code")


@dataclass(frozen=True, slots=True)
class ClientPaths:
    """Where clients look for their files: the person's home, the environment, the root of the project, and an
    organisation's folder for Claude Code."""

    home: Path
    environ: Mapping[str, str]
    project: Path | None = None
    managed: Path = MANAGED

    def folder(self, variable: str, default: str) -> Path:
        chosen = self.environ.get(variable)
        return Path(chosen).expanduser() if chosen else self.home / default


@dataclass(frozen=True, slots=True)
class ConnectionDetails:
    """What is put in. `entry` is the server's, `hooks` are our commands by the events of `HOOK_EVENTS`; `variable`,
    `token` and `plugin`, its folder and its command, are for a client without a headers helper, which takes plugins for
    hooks; `vault` is None for the default one."""

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
    """The client's files and what belongs into them. Raises Refused for a scope that it does not have."""
    if scope == "project" and where.project is None:
        raise Refused("this folder is in no git repository", hint="cd into one, or: --scope user")
    found = _TARGETS[client](scope, where, wire, hooks)
    return [replace(target, within=where.project) for target in found] if scope == "project" else found


def with_hook_trust(found: Sequence[ConfigTarget], hashes: Mapping[str, str]) -> list[ConfigTarget]:
    """The same, with Codex's trust in our hooks: the key of each → its hash."""
    return [
        replace(
            target,
            entries=tuple(HookTrust(tuple(hashes), hashes) if isinstance(p, HookTrust) else p for p in target.entries),
        )
        for target in found
    ]


def config_file(client: str, scope: Scope, where: ClientPaths) -> Path | None:
    """The file that holds the server's entry; None for a client that has none there."""
    if scope == "project":
        if where.project is None or client not in {"claude-code", "codex"}:
            return None
        return where.project / (".mcp.json" if client == "claude-code" else ".codex/config.toml")
    if client == "claude-code":
        return where.folder("CLAUDE_CONFIG_DIR", "") / ".claude.json"
    if client == "codex":
        return where.folder("CODEX_HOME", ".codex") / "config.toml"
    return _openclaw_config(where) if client == "openclaw" else None


def _ask_entry(target: ConfigTarget, content: bytes | None, kind: type[E], question: Callable[[E, str], T]) -> T | None:
    """The answer of the target's entry of that kind for the file's text; None where it has none, or cannot be read."""
    for entry in target.entries:
        if isinstance(entry, kind) and content is not None:
            with suppress(Refused, UnicodeDecodeError):
                return question(entry, content.decode())
    return None


def entry_in(target: ConfigTarget, content: bytes | None) -> Mapping[str, Any] | None:
    """Our server's entry in the file; None for a file that has none, or cannot be read."""
    return _ask_entry(target, content, ServerEntry, ServerEntry.entry_in)


def serves_another_vault(target: ConfigTarget, content: bytes | None) -> bool:
    """Whether the file connects another vault of ours."""
    return bool(_ask_entry(target, content, ServerEntry, ServerEntry.serves_another_vault))


def name_in(target: ConfigTarget, content: bytes | None) -> str | None:
    """What our server's entry is called in the file; None for a file that has none, or cannot be read."""
    return next(iter(_ask_entry(target, content, ServerEntry, ServerEntry.names) or []), None)


def explain_unread(client: str, target: ConfigTarget, content: bytes | None) -> str | None:
    """Why the client does not load the file as it stands, which this program can read; None where it does."""
    is_json = target.file.suffix == ".json" and client != "openclaw"
    if content is None or not is_json or (fault := jsonc.plain_fault(content.decode(errors="replace"))) is None:
        return None
    return (
        f"{TITLES[client]} loads nothing of {target.file}: {fault}; it takes no comments there and no comma at the end"
    )


def overriding_file(client: str, target: ConfigTarget) -> Path | None:
    """The file that Codex reads in the place of one with our instructions: one that says anything."""
    other = target.file.with_name("AGENTS.override.md")
    if client != "codex" or not any(isinstance(piece, InstructionBlock) for piece in target.entries):
        return None
    with suppress(McpMemoryError):
        return other if (config_files.read(other) or b"").strip() else None
    return None


def stdio_entries(target: ConfigTarget, content: bytes | None) -> list[tuple[OurCommand, Mapping[str, Any]]]:
    """The entries in the file that start `mcp-memory stdio` for the vault instead."""
    return _ask_entry(target, content, ServerEntry, ServerEntry.stdio_entries) or []


def has_marketplace_plugin(target: ConfigTarget, content: bytes | None) -> bool:
    """Whether OpenClaw loads our plugin for the vault, added by OpenClaw's own command rather than by `install`."""
    return bool(_ask_entry(target, content, OpenClawPlugin, OpenClawPlugin.is_from_marketplace))


def is_shadowed(target: ConfigTarget, content: bytes | None) -> bool:
    """Whether OpenClaw offers its own memory tools besides those of our plugin."""

    def shadows(plugin: OpenClawPlugin, text: str) -> bool:
        return plugin.is_in(text) and not plugin.stands_alone(text)

    return bool(_ask_entry(target, content, OpenClawPlugin, shadows))


def _claude_code(scope: Scope, where: ClientPaths, wire: ConnectionDetails, hooks: bool) -> list[ConfigTarget]:
    config = _existing(config_file("claude-code", scope, where))
    root = where.project if scope == "project" else None
    folder = root / ".claude" if root else where.folder("CLAUDE_CONFIG_DIR", ".claude")
    server = ServerEntry(
        "json", ("mcpServers",), wire.name, wire.entry, EntryIdentity("claude-code", wire.vault), wire.chosen
    )
    more: tuple[ConfigEntry, ...] = (_hooks("claude-code", wire),) if hooks else ()
    return [
        ConfigTarget(config, (server,), lock=None if root else config.with_name(f"{config.name}.lock")),
        ConfigTarget(folder / "settings.json", (*more, *_permission(config, server))),
        ConfigTarget((root or folder) / "CLAUDE.md", (InstructionBlock(wire.instructions),)),
    ]


def _codex(scope: Scope, where: ClientPaths, wire: ConnectionDetails, hooks: bool) -> list[ConfigTarget]:
    config = _existing(config_file("codex", scope, where))
    server = ServerEntry(
        "toml", ("mcp_servers",), wire.name, wire.entry, EntryIdentity("codex", wire.vault), wire.chosen
    )
    instructed = where.project if scope == "project" and where.project else config.parent
    hooked = [ConfigTarget(config.parent / "hooks.json", (_hooks("codex", wire),))] if hooks else []
    return [
        ConfigTarget(config, (server, *(HookTrust(_trust_keys(target)) for target in hooked))),
        *hooked,
        ConfigTarget(instructed / "AGENTS.md", (InstructionBlock(wire.instructions),)),
    ]


def _openclaw(scope: Scope, where: ClientPaths, wire: ConnectionDetails, hooks: bool) -> list[ConfigTarget]:
    if scope == "project":
        raise Refused("OpenClaw has no configuration of a project", hint="--scope user")
    config = _openclaw_config(where)
    identity = EntryIdentity("openclaw", wire.vault, wire.variable)
    server = ServerEntry("json", ("mcp", "servers"), wire.name, wire.entry, identity, wire.chosen)
    token = EnvVariable(wire.variable, wire.token)
    return [
        ConfigTarget(_openclaw_state(where) / ".env", (token,), private=True),
        ConfigTarget(config, (server, OpenClawPlugin(*wire.plugin, wire.vault)) if hooks else (server,)),
        ConfigTarget(
            _workspace(where, config) / "AGENTS.md", (InstructionBlock(wire.instructions),), only_existing=True
        ),
    ]


def _generic(scope: Scope, where: ClientPaths, wire: ConnectionDetails, hooks: bool) -> list[ConfigTarget]:  # noqa: ARG001 -- likewise
    """What its configuration looks like nobody knows; many read AGENTS.md."""
    if scope == "user" or where.project is None:
        return []
    return [ConfigTarget(where.project / "AGENTS.md", (InstructionBlock(wire.instructions),))]


def _hooks(client: str, wire: ConnectionDetails) -> HookEntries:
    commands = {HOOK_EVENTS[event]: command for event, command in wire.hooks.items()}
    return HookEntries(commands, client, wire.vault, HOOK_TIMEOUT_S)


def _permission(config: Path, server: ServerEntry) -> tuple[PermissionRule, ...]:
    """By the name that our entry has there, or will have."""
    with suppress(UnicodeDecodeError, McpMemoryError):  # told when the entry is planned
        text = (config_files.read(config) or b"").decode()
        name = server.name_in(text)
        if not server.is_taken(text):
            return (PermissionRule(name, tuple(each for each in server.names(text) if each != name)),)
    return ()


def _trust_keys(target: ConfigTarget) -> tuple[str, ...]:
    """What Codex calls our handlers in that file: by the file, the event in lower case, and their numbers."""
    found: list[str] = []
    for piece in target.entries:
        with suppress(UnicodeDecodeError, McpMemoryError):  # told when the hooks are planned
            if isinstance(piece, HookEntries):
                for event, group, number in piece.places((config_files.read(target.file) or b"").decode()):
                    name = re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()
                    found.append(f"{target.file}:{name}:{group}:{number}")
    return tuple(found)


def _openclaw_state(where: ClientPaths) -> Path:
    profile = where.environ.get("OPENCLAW_PROFILE", "")
    name = f".openclaw-{profile}" if profile and profile != "default" else ".openclaw"
    return where.folder("OPENCLAW_STATE_DIR", str(where.folder("OPENCLAW_HOME", "") / name))


def _openclaw_config(where: ClientPaths) -> Path:
    return where.folder("OPENCLAW_CONFIG_PATH", str(_openclaw_state(where) / "openclaw.json"))


def _workspace(where: ClientPaths, config: Path) -> Path:
    """The folder of the agent's own config_files, as configured."""
    found = value_at(config_files.read_table(config), "agents", "defaults", "workspace")
    if isinstance(found, str) and found:
        return where.home / found[2:] if found.startswith("~/") else Path(found)
    return where.folder("OPENCLAW_WORKSPACE_DIR", str(_openclaw_state(where) / "workspace"))


def _existing(file: Path | None) -> Path:
    assert file is not None, "both have a file in both scopes"
    return file


_TARGETS = {"claude-code": _claude_code, "codex": _codex, "openclaw": _openclaw, "generic": _generic}
