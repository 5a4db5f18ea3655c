"""What is left for the person after install."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from urllib.parse import urlsplit

from mcp_memory.cli.clients import snippets
from mcp_memory.cli.clients.unused_config import unused_file
from mcp_memory.integrations.clients import PROGRAMS, TITLES, Scope
from mcp_memory.integrations.config_entries import HookEntries, PermissionRule
from mcp_memory.integrations.config_plan import ConfigChange
from mcp_memory.integrations.openclaw_plugin import OpenClawPlugin
from mcp_memory.settings.settings import Settings


def after_install(
    client: str, scope: Scope, settings: Settings, url: str, changes: Sequence[ConfigChange], *, trusted: bool
) -> list[str]:
    """A line each. `url` is the daemon's; `trusted`: a person has had Codex trust our hooks."""
    title = TITLES[client]
    remarks = [
        f"{change.file} is not there yet: once {title} has made it, install again"
        for change in changes
        if change.old is None and change.new is None
    ]
    if client == "generic":
        remarks += [
            f"the server, over streamable HTTP: {url}",
            f"its headers, as JSON: {snippets.headers_line(settings)} --client NAME (a name of your choice)",
            f"for a client that speaks stdio alone: {json.dumps(snippets.stdio_entry(settings), ensure_ascii=False)}",
        ]
    remarks += [why for change in changes if (why := unused_file(client, change.target, change.new))]
    if client in PROGRAMS and shutil.which(PROGRAMS[client]) is None:
        remarks.append(f"{PROGRAMS[client]} was not found on your PATH; written all the same")
    if any(PermissionRule in map(type, change.target.entries) and not change.is_nothing for change in changes):
        remarks.append(
            "Claude Code lets the memory tools be called without asking; to be asked: put the rule that starts with "
            "mcp__ under permissions.ask instead of permissions.allow"
        )
    pieces = [type(piece) for change in changes for piece in change.target.entries]
    if client == "openclaw":
        remarks.append("a gateway that runs already reads the token when it starts: openclaw gateway restart")
        remarks.append(
            "where no daemon runs, a session's first turn starts one for those to come; to have it from login on: "
            "mcp-memory service install"
            if OpenClawPlugin in pieces
            else "OpenClaw cannot start the daemon: mcp-memory start after a reboot, or once mcp-memory service install"
        )
    if settings.capture.enabled and {HookEntries, OpenClawPlugin} & set(pieces):
        remarks.append(
            "sessions are kept on this machine, without secrets, and what you state in them is remembered; to switch "
            "that off: enabled = false under [capture]"
        )
    if client == "codex" and HookEntries in pieces and not trusted:
        remarks.append(
            "Codex runs a hook only after you have trusted it: start `codex` in a terminal and accept them (later: "
            "/hooks), or: mcp-memory install codex --trust-hooks; until then it skips them without a word"
        )
    if scope == "project" and client in {"claude-code", "codex"}:
        remarks.append(
            f"these files are for all who share the folder, and name this machine's address, {url}: a daemon elsewhere "
            f"may have another port, unless its configuration says port = {urlsplit(url).port} under [daemon]"
        )
        remarks.append(f"{title} uses these files after it has asked you whether to trust this folder")
        if snippets.command_path(shared=True) != "mcp-memory":
            remarks.append("mcp-memory is not on your PATH: these files name its place on this machine")
    return remarks
