"""A person's home in a temporary folder, and what is put into the clients' files there."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from mcp_memory.integrations import config_files, text_file
from mcp_memory.integrations.clients import CLIENTS, ClientPaths, Scope, with_hook_trust
from mcp_memory.integrations.clients.client import ConnectionDetails
from mcp_memory.integrations.config_plan import ConfigChange, plan_install, plan_uninstall

URL = "http://127.0.0.1:8423/mcp"
HTTP_ENTRIES = {
    "claude-code": {"type": "http", "url": URL, "headersHelper": "/opt/mcp-memory headers --client claude-code"},
    "codex": {"url": URL, "http_headers_helper": "/opt/mcp-memory headers --client codex"},
}
NOON = datetime(2026, 11, 22, 12)


def wire(
    home: Path, client: str, scope: Scope, *, hooks: bool = True, name: str | None = None, url: str = URL,
    vault: str | None = None, name_of_vault: str = "memory",
) -> ConnectionDetails:  # fmt: skip
    option = f" --vault {vault}" if vault else ""
    line = f"--client {client}{option}"
    if client in HTTP_ENTRIES:
        text = json.dumps({**HTTP_ENTRIES[client], "url": url}).replace(f"--client {client}", line)
        entry = json.loads(text)
    else:
        entry = CLIENTS[client].shape("/opt/mcp-memory", ["stdio", *line.split()])
    commands = {name: f"/opt/mcp-memory hook {event.name} {line}" for name, event in CLIENTS[client].hooks.items()}
    return ConnectionDetails(
        scope,
        ClientPaths(home, {}, home / "repo"),
        name=name or name_of_vault,
        entry=entry,
        instructions="Search first.\nStore at once.\n",
        hooks=commands if hooks else {},
        plugin=("/opt/plugin", f"/opt/mcp-memory hook EVENT {line}") if hooks else None,
        vault=vault,
        chosen=name is not None,
    )  # fmt: skip


def planned(
    home: Path,
    client: str,
    *,
    scope: Scope = "user",
    hooks: bool = True,
    hashes: Mapping[str, str] | None = None,
    **more: str,
) -> list[ConfigChange]:
    wanted = CLIENTS[client].targets(wire(home, client, scope, hooks=hooks, **more))
    wanted = with_hook_trust(wanted, hashes) if hashes else wanted
    return [plan_install(target, text_file.read(target.file)) for target in wanted]


def install(home: Path, client: str, **more) -> list[ConfigChange]:
    """The changes that were made."""
    changes = [change for change in planned(home, client, **more) if not change.is_nothing]
    return _applied(changes)


def uninstall(home: Path, client: str, *, scope: Scope = "user", **more: str) -> list[ConfigChange]:
    wanted = CLIENTS[client].targets(wire(home, client, scope, **more))
    return _applied(
        [plan_uninstall(target, text_file.read(target.file), config_files.backups(target.file)) for target in wanted]
    )


def tree(home: Path) -> dict[str, tuple[str, int, bytes]]:
    """Everything in it: links as links, with modes and bytes."""
    found = {}
    for place in sorted(home.rglob("*")):
        kind = "link" if place.is_symlink() else "folder" if place.is_dir() else "file"
        content = str(place.readlink()).encode() if kind == "link" else place.read_bytes() if kind == "file" else b""
        found[str(place.relative_to(home))] = (kind, place.lstat().st_mode, content)
    return found


def _applied(changes: Sequence[ConfigChange]) -> list[ConfigChange]:
    for change in changes:
        config_files.check(change)
    for change in changes:
        config_files.apply(change, NOON)
    return [change for change in changes if not change.is_nothing]
