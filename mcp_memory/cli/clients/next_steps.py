"""Lists the steps that are left for you after an install."""

import json
import shlex
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from mcp_memory.cli.clients.connection_entries import command_path
from mcp_memory.cli.clients.reachability import find_proxy
from mcp_memory.integrations import text_file
from mcp_memory.integrations.clients import CLIENTS, ClientPaths, Scope
from mcp_memory.integrations.clients.client import Client
from mcp_memory.integrations.config_entries import HookEntries, PermissionRule
from mcp_memory.integrations.config_plan import ConfigChange
from mcp_memory.integrations.server_entry import ServerEntry
from mcp_memory.runtime.paths import config_file
from mcp_memory.settings.settings import Settings

SESSIONS_ARE_KEPT = (
    "sessions are kept on this machine, without secrets, and what you state in them is remembered; to turn that off: "
    "enabled = false under [capture]"
)


def next_steps(
    client: str,
    scope: Scope,
    settings: Settings,
    paths: ClientPaths,
    url: str,
    changes: Sequence[ConfigChange],
    *,
    trusted: bool,
) -> Iterator[str]:
    """Yield a line for each step. `url` is the daemon's URL; `trusted` is whether Codex trusts our hooks."""
    described = CLIENTS[client]
    has_hooks = any(change.target.has(HookEntries) for change in changes)
    for change in changes:
        yield from _obstacles(described, change, url, paths)
    if has_hooks and (why := described.why_hooks_off(paths)):
        yield f"{why} turns off our hooks, too"
    if shutil.which(described.program) is None:
        yield f"{described.program} was not found on your PATH: it reads these files once it is there"
    if any(change.target.has(PermissionRule) and not change.is_nothing for change in changes):
        yield (
            "Claude Code may call the memory tools without asking; to be asked, move the rule that starts with mcp__ "
            "from permissions.allow to permissions.ask"
        )
    if scope == "user" and (why := described.why_remembered_twice(paths)):
        yield f"{described.title}: {why}"
    yield from described.remarks
    if client == "openclaw":
        yield from _offer_workspace(settings, paths)
    if settings.capture.enabled and client in settings.capture.folders and (has_hooks or client == "openclaw"):
        yield SESSIONS_ARE_KEPT
    if client == "codex" and has_hooks and not trusted:
        yield (
            "Codex skips a hook silently until you trust it: start `codex` in a terminal and accept the hooks (later: "
            "/hooks), or: mcp-memory install codex --trust-hooks"
        )
    if scope == "project":
        yield from _of_shared_files(described, url)


def is_read_already(folder: Path, settings: Settings) -> bool:
    """Return whether memory reads the folder where it is: as the vault, as a source, or as a part of either."""
    places = [settings.vault_path, *map(Path, settings.vault.sources.values())]
    return any(folder.resolve().is_relative_to(place.resolve()) for place in places)


def _offer_workspace(settings: Settings, paths: ClientPaths) -> Iterator[str]:
    folder = CLIENTS["openclaw"].memory_folder(paths)
    if folder and not is_read_already(folder, settings):
        file, quoted = settings.file or config_file(settings.environ), json.dumps(str(folder), ensure_ascii=False)
        yield (
            f"{folder} has notes of OpenClaw's own, and stays as it is. To have all agents search it there, add to "
            f"{file}: openclaw = {quoted} under [vault.sources]. To make it the vault: path = {quoted} under [vault]. "
            f"To copy its notes: mcp-memory import {shlex.quote(str(folder))}"
        )


def _obstacles(client: Client, change: ConfigChange, url: str, paths: ClientPaths) -> Iterator[str]:
    """Yield why the client won't use a changed file, or the server in it."""
    if why := client.why_unused(change.target, change.new):
        yield why
    for server in change.target.entries:
        if isinstance(server, ServerEntry):
            text = text_file.decode(change.new)
            name, entry = server.names(text)[0], server.entry_in(text) or {}
            if off := client.why_server_off(name, entry, paths):
                yield f"{client.title} won't use the server: {off}"
            if proxy := find_proxy(client.name, url, paths):
                yield f"{proxy.why}: {proxy.remedy}"


def _of_shared_files(client: Client, url: str) -> Iterator[str]:
    """Yield what files in a project's folder mean for everyone who shares it."""
    if client.runs == "headers":
        yield (
            f"everyone who shares this folder gets these files, which name this machine's address, {url}: a daemon "
            f"elsewhere may have another port, unless it sets port = {urlsplit(url).port} under [daemon]"
        )
        yield f"{client.title} uses these files after it has asked you whether to trust this folder"
    if command_path(shared=True) != "mcp-memory":
        yield "mcp-memory is not on your PATH, so these files name its path on this machine"
