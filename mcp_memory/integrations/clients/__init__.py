"""The clients that can be connected: one file each. All configuration files are edited directly.

`claude mcp add-json` and `openclaw mcp add` rewrite the whole file, `codex mcp add` knows no headers helper; none of
the three can show beforehand what it will do.
"""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from mcp_memory.errors import McpMemoryError, Refused
from mcp_memory.integrations import config_files, jsonc
from mcp_memory.integrations.clients.claude_code import ClaudeCode
from mcp_memory.integrations.clients.client import Client, ClientPaths, ConnectionDetails, Scope
from mcp_memory.integrations.clients.codex import Codex
from mcp_memory.integrations.clients.cursor import Cursor
from mcp_memory.integrations.clients.gemini import GeminiCli
from mcp_memory.integrations.clients.generic import GenericClient
from mcp_memory.integrations.clients.openclaw import OpenClaw
from mcp_memory.integrations.clients.opencode import OpenCode
from mcp_memory.integrations.clients.stdio_client import StdioClient
from mcp_memory.integrations.clients.vscode import VsCode
from mcp_memory.integrations.config_entries import ConfigEntry, HookEntries, HookEvent, HookTrust
from mcp_memory.integrations.config_plan import ConfigTarget, decode
from mcp_memory.integrations.marked_block import InstructionBlock

T = TypeVar("T")
E = TypeVar("E", bound=ConfigEntry)

_CLIENTS: tuple[Client, ...] = (
    ClaudeCode(), Codex(), OpenClaw(), GeminiCli(), OpenCode(), Cursor(), VsCode(), GenericClient(),
)  # fmt: skip
_BY_NAME = {client.name: client for client in _CLIENTS}

CLIENTS = tuple(_BY_NAME)
TITLES = {client.name: client.title for client in _CLIENTS}
PROGRAMS = {client.name: client.program for client in _CLIENTS if client.program}
OVER_STDIO = {client.name: client for client in _CLIENTS if isinstance(client, StdioClient)}

CONNECTABLE: tuple[tuple[str, Scope], ...] = tuple(
    (client.name, scope) for client in _CLIENTS for scope in client.scopes
)
"""Where an entry of our server may be."""

HOOK_EVENTS: Mapping[str, Mapping[str, HookEvent]] = {client.name: client.hooks for client in _CLIENTS if client.hooks}
"""Client → its name of an event → ours."""


def config_targets(
    client: str, scope: Scope, where: ClientPaths, wire: ConnectionDetails, *, hooks: bool
) -> list[ConfigTarget]:
    """Returns the client's files and what goes into them. Raises Refused for a scope that it doesn't have."""
    if scope == "project" and where.project is None:
        raise Refused("this folder is in no git repository", hint="cd into one, or: --scope user")
    found = _BY_NAME[client].targets(scope, where, wire, hooks)
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
    return _BY_NAME[client].config_file(scope, where)


def client_folder(client: str, where: ClientPaths) -> Path:
    """Returns the folder in which the client keeps its files, whether it is there or not."""
    return _BY_NAME[client].folder(where)


def find_client(client: str, where: ClientPaths) -> list[Path]:
    """Returns the client's program on the PATH, and its folder, if they are there."""
    found, folder = shutil.which(PROGRAMS[client], path=where.environ.get("PATH")), client_folder(client, where)
    return [*([Path(found)] if found else []), *([folder] if os.access(folder, os.F_OK) else [])]


def memory_folder(client: str, where: ClientPaths) -> Path | None:
    """Returns the folder with what the client itself remembers, which `import` can read; None if there is none."""
    return _BY_NAME[client].memory_folder(where)


def hook_entries(client: str, hooks: Mapping[str, str], vault: str | None, server: str) -> HookEntries:
    """`hooks`: the client's name of an event → our command; `server`: what it calls our server."""
    return _BY_NAME[client].hook_entries(hooks, vault, server)


def ask_entry(target: ConfigTarget, content: bytes | None, kind: type[E], question: Callable[[E, str], T]) -> T | None:
    """Asks the target's entry of that kind about the file's text. None if the target has no such entry, or there is no
    file, or it can't be read."""
    for entry in target.known:
        if isinstance(entry, kind) and content is not None:
            with suppress(Refused):
                return question(entry, decode(content))
    return None


def explain_unread(client: str, target: ConfigTarget, content: bytes | None) -> str | None:
    """Explains why the client doesn't load a file that we can read; None if it does."""
    tolerates = _BY_NAME[client].tolerates
    if content is None or target.file.suffix != ".json" or tolerates == "commas":
        return None
    text = content.decode(errors="replace")
    fault = jsonc.plain_fault(jsonc.without_comments(text) if tolerates else text)
    allowed = "trailing commas aren't" if tolerates else "comments and trailing commas aren't"
    return fault and f"{TITLES[client]} loads nothing of {target.file}: {fault}; {allowed} allowed there"


def overriding_file(client: str, target: ConfigTarget) -> Path | None:
    """Returns the file, if not empty, that Codex reads instead of the one with our instructions."""
    other = target.file.with_name("AGENTS.override.md")
    if client != "codex" or not any(isinstance(piece, InstructionBlock) for piece in target.entries):
        return None
    with suppress(McpMemoryError):
        return other if (config_files.read(other) or b"").strip() else None
    return None
