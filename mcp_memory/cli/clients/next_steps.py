"""Lists the steps that are left for you after an install."""

import json
import shlex
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import indent
from urllib.parse import urlsplit

from mcp_memory.cli.clients import snippets
from mcp_memory.cli.clients.outgoing_proxy import find_proxy
from mcp_memory.cli.clients.unused_config import unused_file, unused_server, why_hooks_are_off
from mcp_memory.integrations.clients import PROGRAMS, TITLES, ClientPaths, Scope, ask_entry
from mcp_memory.integrations.config_entries import HookEntries, PermissionRule
from mcp_memory.integrations.config_plan import ConfigChange
from mcp_memory.integrations.openclaw_plugin import OpenClawPlugin
from mcp_memory.integrations.server_entry import ServerEntry
from mcp_memory.runtime.paths import config_file
from mcp_memory.settings.settings import Settings

SESSIONS_ARE_KEPT = (
    "sessions are kept on this machine, without secrets, and what you state in them is remembered; to switch that off: "
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
    title, entries = TITLES[client], [type(entry) for change in changes for entry in change.target.entries]
    for change in changes:
        if change.old is None and change.new is None and change.target.entries:
            yield f"{change.file} does not exist yet: start {title} once, then install again"
    if client == "generic":
        yield from _of_any_client(settings, url)
    yield from _unused(client, paths, changes)
    server = _server_name(changes)
    if server and (proxy := find_proxy(client, server, url, settings, paths)):
        yield f"{proxy.why}: {proxy.remedy}"
    if HookEntries in entries and (why := why_hooks_are_off(client, paths)):
        yield f"{why} switches our hooks off, too"
    if client in PROGRAMS and shutil.which(PROGRAMS[client]) is None:
        yield f"{PROGRAMS[client]} was not found on your PATH: it reads these files once it is there"
    if any(PermissionRule in map(type, change.target.entries) and not change.is_nothing for change in changes):
        yield (
            "Claude Code may call the memory tools without asking; to be asked, move the rule that starts with mcp__ "
            "from permissions.allow to permissions.ask"
        )
    if client == "gemini":
        yield f'{title} may call the memory tools without asking: "trust" in its entry, which you may change'
        yield "Gemini CLI starts servers and hooks only in folders that you trust; it asks you in a terminal"
    if client == "openclaw":
        yield from _of_openclaw(has_plugin=OpenClawPlugin in entries)
    if settings.capture.enabled and client in settings.capture.folders and {HookEntries, OpenClawPlugin} & set(entries):
        yield SESSIONS_ARE_KEPT
    if client == "codex" and HookEntries in entries and not trusted:
        yield (
            "Codex skips a hook silently until you trust it: start `codex` in a terminal and accept the hooks (later: "
            "/hooks), or: mcp-memory install codex --trust-hooks"
        )
    if scope == "project":
        yield from _of_shared_files(client, url)


def _server_name(changes: Sequence[ConfigChange]) -> str | None:
    """Return the name under which the client's files list our server, if they do."""
    found = (ask_entry(change.target, change.new or change.old, ServerEntry, ServerEntry.names) for change in changes)
    return next((names[0] for names in found if names), None)


UNDER_SOURCES = "under [vault.sources]"


def is_read_already(folder: Path, settings: Settings) -> bool:
    """Return whether memory reads the folder where it is: as the vault, as a source, or as a part of either."""
    places = [settings.vault_path, *map(Path, settings.vault.sources.values())]
    return any(folder.resolve().is_relative_to(place.resolve()) for place in places)


def offer_source(client: str, folder: Path | None, settings: Settings) -> Iterator[str]:
    """Yield how all agents can read what the client remembers in this folder. Nothing of it happens by itself."""
    if folder is None or is_read_already(folder, settings):
        return
    file, quoted = settings.file or Path(config_file(settings.environ)), json.dumps(str(folder), ensure_ascii=False)
    yield (
        f"{folder} has notes of {TITLES[client]}'s own, and stays as it is. To have all agents search it there: "
        f"mcp-memory install {client} --workspace source, or {client} = {quoted} {UNDER_SOURCES} in {file}. To copy "
        f"its notes: mcp-memory import {shlex.quote(str(folder))}. To make it the vault, while yours is empty: "
        f"mcp-memory install {client} --workspace vault"
    )


def _of_any_client(settings: Settings, url: str) -> Iterator[str]:
    entry = json.dumps(snippets.stdio_entry(settings), ensure_ascii=False)
    yield f"the server, over streamable HTTP: {url}"
    yield f"its headers, as JSON: {snippets.headers_line(settings)} --client NAME (a name of your choice)"
    yield f"for a client that only speaks stdio: {entry}"
    for name, text in snippets.snippets(settings, url).items():
        yield f"{name}\n{indent(text.rstrip(), ' ' * 6)}"


def _of_openclaw(*, has_plugin: bool) -> Iterator[str]:
    yield "a running gateway reads this when it starts: openclaw gateway restart"
    if has_plugin:
        yield (
            "OpenClaw's own memory (memory-core, with its dreaming and standing intents) is off until you uninstall; "
            "its files in the workspace stay, and agents go on reading them"
        )
    else:
        yield "OpenClaw cannot start the daemon: mcp-memory start after a reboot, or once mcp-memory service install"


def _unused(client: str, paths: ClientPaths, changes: Sequence[ConfigChange]) -> Iterator[str]:
    """Yield why the client won't use a file, or the server in it."""
    for change in changes:
        entry = ask_entry(change.target, change.new, ServerEntry, ServerEntry.entry_in)
        names = ask_entry(change.target, change.new, ServerEntry, ServerEntry.names)
        off = unused_server(client, names[0], entry, paths) if entry and names else None
        why = unused_file(client, change.target, change.new)
        if why or off:
            yield why or f"{TITLES[client]} won't use the server: {off}"


def _of_shared_files(client: str, url: str) -> Iterator[str]:
    """Yield what files in a project's folder mean for everyone who shares it."""
    if client in {"claude-code", "codex"}:
        yield (
            f"everyone who shares this folder gets these files, which name this machine's address, {url}: a daemon "
            f"elsewhere may have another port, unless it sets port = {urlsplit(url).port} under [daemon]"
        )
        yield f"{TITLES[client]} uses these files after it has asked you whether to trust this folder"
    if client != "generic" and snippets.command_path(shared=True) != "mcp-memory":
        yield "mcp-memory is not on your PATH, so these files name its path on this machine"
