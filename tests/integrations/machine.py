"""A person's home in a temporary folder, and what is put into the clients' files there."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from mcp_memory.integrations import config_files, text_file
from mcp_memory.integrations.clients import (
    HOOK_EVENTS,
    OVER_STDIO,
    ClientPaths,
    ConnectionDetails,
    Scope,
    config_targets,
    with_hook_trust,
)
from mcp_memory.integrations.config_plan import ConfigChange, plan_install, plan_uninstall, with_own_memory_off

URL = "http://127.0.0.1:8423/mcp"
ENTRIES = {
    "claude-code": {"type": "http", "url": URL, "headersHelper": "/opt/mcp-memory headers --client claude-code"},
    "codex": {"url": URL, "http_headers_helper": "/opt/mcp-memory headers --client codex"},
    "openclaw": {"url": URL, "headers": {"Authorization": "Bearer ${MCP_MEMORY_TOKEN}"}},
    "generic": {},
    **{name: client.shape("/opt/mcp-memory", ["stdio", "--client", name]) for name, client in OVER_STDIO.items()},
}
NOON = datetime(2026, 11, 22, 12)


def wire(
    client: str, *, name: str | None = None, url: str = URL, vault: str | None = None, name_of_vault: str = "memory"
) -> ConnectionDetails:
    variable = "MCP_MEMORY_TOKEN" + (vault or "").replace("/", "_").upper()
    entry = ENTRIES[client] if client in OVER_STDIO else {**ENTRIES[client], "url": url}
    text = json.dumps(entry).replace("MCP_MEMORY_TOKEN", variable)
    option = f" --vault {vault}" if vault else ""
    if vault:
        text = text.replace(f'"{client}"', f'"{client}", "--vault", "{vault}"')
    return ConnectionDetails(
        name=name or name_of_vault,
        entry=json.loads(text.replace(f"--client {client}", f"--client {client}{option}")),
        instructions="Search first.\nStore at once.\n",
        hooks={
            name: f"/opt/mcp-memory hook {event.name} --client {client}{option}"
            for name, event in HOOK_EVENTS.get(client, {}).items()
        },
        vault=vault,
        variable=variable,
        token="sekret",
        plugin=("/opt/plugin", f"/opt/mcp-memory hook EVENT --client {client}{option}"),
        chosen=name is not None,
    )


def planned(
    home: Path,
    client: str,
    *,
    scope: Scope = "user",
    hooks: bool = True,
    hashes: Mapping[str, str] | None = None,
    own_memory: bool = True,
    **more: str,
) -> list[ConfigChange]:
    wanted = config_targets(client, scope, ClientPaths(home, {}, home / "repo"), wire(client, **more), hooks=hooks)
    wanted = with_hook_trust(wanted, hashes) if hashes else wanted
    wanted = wanted if own_memory else map(with_own_memory_off, wanted)
    return [plan_install(target, text_file.read(target.file), config_files.backups(target.file)) for target in wanted]


def install(home: Path, client: str, **more) -> list[ConfigChange]:
    """The changes that were made."""
    changes = [change for change in planned(home, client, **more) if not change.is_nothing]
    return _applied(changes)


def uninstall(home: Path, client: str, *, scope: Scope = "user", **more: str) -> list[ConfigChange]:
    wanted = config_targets(client, scope, ClientPaths(home, {}, home / "repo"), wire(client, **more), hooks=True)
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
