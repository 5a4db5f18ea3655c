"""The clients that can be connected, one per file. All configuration files are edited directly.

`claude mcp add-json` and `openclaw mcp add` rewrite the whole file, and `codex mcp add` can't configure a headers
helper. None of the three can show its changes beforehand.
"""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from mcp_memory.errors import McpMemoryError, Refused
from mcp_memory.integrations import jsonc, text_file
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
from mcp_memory.integrations.config_plan import ConfigTarget
from mcp_memory.integrations.marked_block import InstructionBlock
from mcp_memory.integrations.text_file import decode

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
"""Each client with each scope in which its configuration can have an entry of our server."""

HOOK_EVENTS: Mapping[str, Mapping[str, HookEvent]] = {client.name: client.hooks for client in _CLIENTS if client.hooks}
"""Client → its name of an event → our event."""


def config_targets(
    client: str, scope: Scope, where: ClientPaths, wire: ConnectionDetails, *, hooks: bool
) -> list[ConfigTarget]:
    """Return the client's files and the entries for each. Raises Refused for a scope that the client doesn't have."""
    if scope == "project" and where.project is None:
        raise Refused("this folder is in no git repository", hint="cd into one, or: --scope user")
    found = _BY_NAME[client].targets(scope, where, wire, hooks)
    return [replace(target, within=where.project) for target in found] if scope == "project" else found


def with_hook_trust(found: Sequence[ConfigTarget], hashes: Mapping[str, str]) -> list[ConfigTarget]:
    """Add Codex's trust in our hooks. `hashes` maps the key of each hook to its hash."""
    trust = HookTrust(tuple(hashes), hashes)
    return [
        replace(target, entries=tuple(trust if isinstance(entry, HookTrust) else entry for entry in target.entries))
        for target in found
    ]


def config_file(client: str, scope: Scope, where: ClientPaths) -> Path | None:
    """Return the file that holds the server's entry; None for a client that has none there."""
    return _BY_NAME[client].config_file(scope, where)


def client_folder(client: str, where: ClientPaths) -> Path:
    """Return the folder in which the client keeps its files, whether or not it exists."""
    return _BY_NAME[client].folder(where)


def find_client(client: str, where: ClientPaths) -> list[Path]:
    """Return the client's program on the PATH and the client's folder, each if it exists."""
    found, folder = shutil.which(PROGRAMS[client], path=where.environ.get("PATH")), client_folder(client, where)
    return [*([Path(found)] if found else []), *([folder] if os.access(folder, os.F_OK) else [])]


def memory_folder(client: str, where: ClientPaths) -> Path | None:
    """Return the folder with the client's own memory, which `import` can read; None if it has none."""
    return _BY_NAME[client].memory_folder(where)


def hook_entries(client: str, hooks: Mapping[str, str], vault: str | None, server: str) -> HookEntries:
    """Return the client's hook entries. `hooks`: the client's name of an event → our command. `server`: the client's
    name for our server."""
    return _BY_NAME[client].hook_entries(hooks, vault, server)


def ask_entry(target: ConfigTarget, content: bytes | None, kind: type[E], question: Callable[[E, str], T]) -> T | None:
    """Apply `question` to the target's entry of that kind and the file's text. None if the target has no such entry, or
    the file is missing or can't be read."""
    for entry in target.known:
        if isinstance(entry, kind) and content is not None:
            with suppress(Refused):
                return question(entry, decode(content))
    return None


def explain_unread(client: str, target: ConfigTarget, content: bytes | None) -> str | None:
    """Explain why the client doesn't load a file that we can read; None if it does."""
    tolerates = _BY_NAME[client].tolerates
    if content is None or target.file.suffix != ".json" or tolerates == "commas":
        return None
    text = content.decode(errors="replace")
    fault = jsonc.plain_fault(jsonc.without_comments(text) if tolerates else text)
    allowed = "trailing commas aren't" if tolerates else "comments and trailing commas aren't"
    return fault and f"{TITLES[client]} loads nothing of {target.file}: {fault}; {allowed} allowed there"


def overriding_file(client: str, target: ConfigTarget) -> Path | None:
    """Return the file, if not empty, that Codex reads instead of the one with our instructions."""
    other = target.file.with_name("AGENTS.override.md")
    if client != "codex" or not any(isinstance(piece, InstructionBlock) for piece in target.entries):
        return None
    with suppress(McpMemoryError):
        return other if (text_file.read(other) or b"").strip() else None
    return None
