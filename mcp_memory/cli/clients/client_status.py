"""Checks whether each client is installed, connected and answered, and what its hooks do."""

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from mcp_memory.cli.clients.daemon_address import address_of
from mcp_memory.cli.clients.hook_trust import OFF, REMEDIES, TRUSTED, UNREAD, WIRED, hooks_of, hooks_of_plugin
from mcp_memory.cli.clients.installing import find_client_paths, targets_of
from mcp_memory.cli.clients.reachability import ANSWER_S, no_daemon, run_program, unreachable, unreachable_by_stdio
from mcp_memory.cli.clients.unused_config import missing_rule, unused_file, unused_server, why_hooks_are_off
from mcp_memory.cli.console import Heading
from mcp_memory.cli.options import CommandContext
from mcp_memory.daemon import launch
from mcp_memory.errors import McpMemoryError
from mcp_memory.hooks import hook_log
from mcp_memory.integrations import commands, text_file
from mcp_memory.integrations.claude_settings import ClaudeSettings
from mcp_memory.integrations.clients import CONNECTABLE, OVER_STDIO, PROGRAMS, TITLES, ClientPaths, Scope, ask_entry
from mcp_memory.integrations.config_entries import rule_for
from mcp_memory.integrations.config_plan import ConfigTarget
from mcp_memory.integrations.installed_plugin import InstalledPlugin, find_installed_plugin
from mcp_memory.integrations.openclaw_plugin import OpenClawPlugin
from mcp_memory.integrations.own_memory import OwnMemory
from mcp_memory.integrations.server_entry import ServerEntry, command_of, helper_of
from mcp_memory.settings.settings import Settings

VERSION_S = 20.0
"""The time for a client to print its version; OpenClaw takes three seconds."""

_WAYS = {"install": "by install", "plugin": "by the plugin", "stdio": "over stdio"}


@dataclass(frozen=True, slots=True)
class ConnectedBy:
    """A connection of a client. `how` is `install` (or an entry like its own), the client's `plugin`, or `stdio`.
    `reachable` is None if the daemon answers this entry, otherwise the reason why not."""

    scope: Scope
    how: str
    file: str
    reachable: str | None


@dataclass(slots=True)
class ClientStatus:
    """The state of one client. `found` maps its programs on the PATH to their versions. `hooks` maps events to states,
    as far as its files show. `tools` maps our server's name to whether the agent may call its tools, if the client has
    rules for that. `own_memory` is what to do about the client's own memory, if that is on. `last_hook` and `last_call`
    are what last ran, and when. `todo` has a line for each thing that you may want to do."""

    client: str
    found: dict[str, str]
    wired: list[ConnectedBy] = field(default_factory=list[ConnectedBy])
    hooks: dict[str, str] = field(default_factory=dict[str, str])
    tools: dict[str, str] = field(default_factory=dict[str, str])
    own_memory: str = ""
    last_hook: str | None = None
    last_call: str | None = None
    todo: list[str] = field(default_factory=list[str])


def _add_todo(status: ClientStatus, line: str | None) -> None:
    if line and line not in status.todo:
        status.todo.append(line)


def _lines(status: ClientStatus) -> Iterator[str]:
    wired = [f"{_WAYS[way.how]} ({way.scope}: {way.file})" for way in status.wired]
    reached = ["yes" if way.reachable is None else f"no: {way.reachable}" for way in status.wired]
    rows = {
        "found": ", ".join(f"{version} ({file})" for file, version in status.found.items()) or "no",
        "wired": ", ".join(wired) or "no",
        "reachable": ", ".join(reached) or "not connected",
        "hooks": ", ".join(f"{event} {state}" for event, state in status.hooks.items()) or "none",
        "tools": ", ".join(f"{name} {permission}" for name, permission in status.tools.items()),
        "own memory": status.own_memory if status.wired else "",
        "last hook": status.last_hook or "none yet",
        "last call": status.last_call or "none since the daemon started",
    }
    yield Heading(TITLES[status.client])
    yield from (f"  {name:<10}  {value}" for name, value in rows.items() if value)
    yield from (f"  → {line}" for line in status.todo)


def show_clients(cli: CommandContext) -> bool:
    """Check all clients at once, since some take seconds to print their version, and show the result. Returns whether
    there is nothing to do."""
    settings, paths = cli.settings, find_client_paths()
    calls, hooked = _last_calls(settings), _last_hooks(settings)

    def examine(client: str) -> ClientStatus:
        return _Examination(client, settings, paths, hooked.get(client)).run(calls)

    with ThreadPoolExecutor() as pool:
        found = list(pool.map(examine, PROGRAMS))
    shown = [status for status in found if status.found or status.wired or status.todo]
    lines = [line for status in shown for line in _lines(status)]
    if absent := ", ".join(TITLES[status.client] for status in found if status not in shown):
        lines += ["", f"neither found nor connected: {absent}"]
    cli.show({"clients": [asdict(status) for status in found]}, lines)
    return not any(status.todo for status in found)


class _Examination:
    """The check of one client."""

    def __init__(self, client: str, settings: Settings, paths: ClientPaths, last_hook: str | None) -> None:
        self._client = client
        self._settings = settings
        self._paths = paths
        self._status = ClientStatus(client, _programs(PROGRAMS[client], paths.environ), last_hook=last_hook)

    def run(self, calls: Mapping[str, str]) -> ClientStatus:
        """Check the client. `calls` maps the names under which clients call to the times of their last calls."""
        client, status = self._client, self._status
        names = {client}
        for other, scope in CONNECTABLE:
            if other != client or (scope == "project" and self._paths.project is None):
                continue
            for target in targets_of(client, scope, self._settings, self._paths):
                try:
                    content = text_file.read(target.file)
                except McpMemoryError as error:
                    _add_todo(status, str(error))
                else:
                    names |= self._check_file(scope, target, content)
        self._check_plugin()
        ways = sorted({way.how for way in status.wired})
        if len(ways) > 1:
            both = " and ".join(_WAYS[way] for way in ways)
            _add_todo(status, f"connected {both}: hooks and tools come twice; remove one")
        if status.found and not status.wired:
            _add_todo(status, f"not connected: mcp-memory install {client}")
        if len(set(status.found.values())) > 1:
            _add_todo(status, f"{len(status.found)} versions are on your PATH; the first one is used")
        status.last_call = max(
            (calls[name] for name in names if name in calls), key=datetime.fromisoformat, default=None
        )
        return status

    def _check_file(self, scope: Scope, target: ConfigTarget, content: bytes | None) -> set[str]:
        """Check one file. Returns the names under which its stdio entries call."""
        client, status = self._client, self._status
        remedy = f"mcp-memory install {client}{' --scope project' if scope == 'project' else ''}"
        why_unused = unused_file(client, target, content)
        _add_todo(status, why_unused)
        entry = ask_entry(target, content, ServerEntry, ServerEntry.entry_in)
        own_names = ask_entry(target, content, ServerEntry, ServerEntry.names)
        if entry is not None and own_names:
            name = own_names[0]
            why_unused = why_unused or unused_server(client, name, entry, self._paths)
            if why_unused:
                _add_todo(status, why_unused)
                status.wired.append(ConnectedBy(scope, "install", str(target.file), why_unused))
            elif client in OVER_STDIO:
                self._connect_by_stdio(scope, "install", target.file, command_of(entry), client, remedy)
            else:
                self._connect(scope, "install", target.file, name, entry, _server(target), remedy)
            self._check_permission(name, remedy)
        names: set[str] = set()
        for command, stdio in ask_entry(target, content, ServerEntry, ServerEntry.stdio_entries) or ():
            self._connect_by_stdio(scope, "stdio", target.file, command_of(stdio), command.client)
            names.add(command.client)
        if ask_entry(target, content, OpenClawPlugin, OpenClawPlugin.is_in):
            is_bought = ask_entry(target, content, OpenClawPlugin, OpenClawPlugin.is_from_marketplace)
            obstacle = no_daemon(self._settings)
            how = "plugin" if is_bought else "install"
            status.wired.append(ConnectedBy(scope, how, str(target.file), obstacle and obstacle.why))
            _add_todo(status, obstacle and f"{obstacle.why}: {obstacle.remedy}")
            if own_names:
                _add_todo(status, f"the tools come twice, by the plugin and the server {own_names[0]}: {remedy}")
        if ask_entry(target, content, OpenClawPlugin, OpenClawPlugin.is_shadowed):
            _add_todo(status, f"OpenClaw offers its own memory tools in place of ours, or none: {remedy}")
        if scope == "user" and ask_entry(target, content or b"", OwnMemory, OwnMemory.is_on):
            status.own_memory = f"on as well, so facts end up in two places: {remedy} --no-own-memory, or leave it so"
        states = hooks_of(client, scope, target, content, self._paths)
        status.hooks.update(states)
        self._check_hooks(states, remedy)
        return names

    def _check_plugin(self) -> None:
        """Check the client's plugin, unless it was made for another vault."""
        plugin = find_installed_plugin(self._client, self._paths)
        if plugin is None:
            return
        targets = targets_of(self._client, "user", self._settings, self._paths)
        ours = next(_server(t) for t in targets if any(isinstance(entry, ServerEntry) for entry in t.entries))
        if commands.read(helper_of(plugin.entry)) != commands.read(helper_of(ours)):
            return
        self._connect(
            "user", "plugin", plugin.file, plugin.server, plugin.entry, ours, _plugin_remedy(plugin, self._settings)
        )
        states = hooks_of_plugin(self._client, plugin.key, self._paths)
        remedy = f"add {rule_for(plugin.server)!r} to permissions.allow in its settings.json"
        self._check_permission(plugin.server, remedy, hook=states.get("PreToolUse"))
        self._status.hooks.update({f"{event} (plugin)": state for event, state in states.items()})
        self._check_hooks(states, "to add it: mcp-memory plugin")

    def _connect(
        self,
        scope: Scope,
        how: str,
        file: Path,
        name: str,
        entry: Mapping[str, Any],
        ours: Mapping[str, Any],
        remedy: str,
    ) -> None:
        obstacle = unreachable(self._client, name, entry, file, ours, self._settings, self._paths)
        _add_todo(self._status, obstacle and f"{obstacle.why}: {obstacle.remedy or remedy}")
        self._status.wired.append(ConnectedBy(scope, how, str(file), obstacle and obstacle.why))

    def _connect_by_stdio(
        self, scope: Scope, how: str, file: Path, command: Sequence[str], name: str, remedy: str | None = None
    ) -> None:
        why_not = unreachable_by_stdio(command, name, file, self._settings, self._paths)
        self._status.wired.append(ConnectedBy(scope, how, str(file), why_not))
        _add_todo(self._status, f"{why_not}: {remedy}" if why_not and remedy else why_not)

    def _check_permission(self, server: str, remedy: str, hook: str | None = None) -> None:
        """Check whether the agent may call the server's tools. `hook` is the state of the plugin's hook before tools,
        which allows our tools where no rule of yours applies."""
        if self._client != "claude-code":
            return
        permission, hooks = ClaudeSettings.read(self._paths).permission(server), self._settings.hooks
        if permission == "no rule" and hook == TRUSTED and hooks.enabled and hooks.own_tools:
            self._status.tools[server] = "allowed by our hook"
            return
        self._status.tools[server] = permission
        _add_todo(self._status, missing_rule(server, self._paths, remedy))

    def _check_hooks(self, states: Mapping[str, str], remedy: str) -> None:
        for state in sorted({*states.values()} - {TRUSTED, WIRED, UNREAD}):
            why = why_hooks_are_off(self._client, self._paths) if state == OFF else None
            default = REMEDIES.get((self._client, state), f"hooks are {state}: {remedy}")
            _add_todo(self._status, f"{why} switches our hooks off, too" if why else default)


def _plugin_remedy(plugin: InstalledPlugin, settings: Settings) -> str:
    """Return how to point the plugin at the daemon. Only Claude Code has a setting for the plugin's address."""
    address = address_of(settings)
    if plugin.has_address and plugin.entry.get("url") != address:
        return f"claude plugin install {plugin.key} --config url={address}"
    return "make one for this machine: mcp-memory clients plugin --write FOLDER --here"


def _server(target: ConfigTarget) -> Mapping[str, Any]:
    return next(entry.entry for entry in target.known if isinstance(entry, ServerEntry))


def _programs(name: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Map every program of that name on the PATH, in order, to its version, or to the reason why it prints none."""
    found: dict[Path, str] = {}
    for folder in environ.get("PATH", os.defpath).split(os.pathsep):
        file = Path(folder or ".", name)
        if file.is_file() and os.access(file, os.X_OK) and file.resolve() not in {p.resolve() for p in found}:
            found[file] = _version(file)
    return {str(file): version for file, version in found.items()}


def _version(program: Path) -> str:
    try:
        done = run_program([program, "--version"], VERSION_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"does not start: {type(error).__name__}"
    number = re.search(r"\d+(?:\.\d+)+\S*", done.stdout)
    return number[0] if number else f"exit code {done.returncode}"


def _last_calls(settings: Settings) -> dict[str, str]:
    try:
        running = launch.connect(settings)
        return running.call("status", {}, deadline_s=ANSWER_S).get("clients", {}) if running else {}
    except McpMemoryError:
        return {}


def _last_hooks(settings: Settings) -> dict[str, str]:
    """Map each client to its last hook and when it ran. The log, where this comes from, outlives the daemon."""
    with suppress(OSError):
        lines = hook_log.read_lines(str(settings.state.hooks))
        return {str(line.get("client")): f"{line.get('event')}, {line.get('at')}" for line in lines}
    return {}
