"""Checks whether each client is installed, connected and answered, and what its hooks do."""

import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path

from mcp_memory.cli.clients.connection_entries import stdio_entry
from mcp_memory.cli.clients.hook_trust import OFF, REMEDIES, TRUSTED, UNREAD, WIRED, hooks_of
from mcp_memory.cli.clients.installing import find_client_paths, targets_of
from mcp_memory.cli.clients.reachability import Obstacle, find_obstacle, greet
from mcp_memory.cli.command_context import CommandContext
from mcp_memory.cli.console import Heading, facts
from mcp_memory.daemon import launch
from mcp_memory.errors import McpMemoryError, Refused
from mcp_memory.hooks import hook_log
from mcp_memory.integrations import text_file
from mcp_memory.integrations.clients import CLIENTS, TITLES, ClientPaths, Scope
from mcp_memory.integrations.clients.claude_code import ClaudeSettings
from mcp_memory.integrations.clients.openclaw import OpenClawPlugin
from mcp_memory.integrations.config_plan import ConfigTarget
from mcp_memory.integrations.server_entry import ServerEntry
from mcp_memory.settings.settings import Settings

ANSWER_S = 10.0

_WAYS = {"install": "by install", "stdio": "over stdio"}


@dataclass(frozen=True)
class ConnectedBy:
    """A connection of a client. `how` is `install` (or an entry like its own) or `stdio`. `reachable` is None if the
    daemon answers this entry, otherwise the reason why not."""

    scope: Scope
    how: str
    file: str
    reachable: str | None


@dataclass
class ClientStatus:
    """The state of one client. `found` is its program on the PATH. `hooks` maps events to
    states, as far as its files show. `tools` maps our server's name to whether the agent may call its tools, if the
    client has rules for that. `last_hook` and
    `last_call` are what last ran, and when. `todo` has a line for each thing that you may want to do."""

    client: str
    found: str | None
    wired: list[ConnectedBy] = field(default_factory=list[ConnectedBy])
    hooks: dict[str, str] = field(default_factory=dict[str, str])
    tools: dict[str, str] = field(default_factory=dict[str, str])
    own_memory: str | None = None
    last_hook: str | None = None
    last_call: str | None = None
    todo: list[str] = field(default_factory=list[str])


def _lines(status: ClientStatus) -> Iterator[str]:
    wired = [f"{_WAYS[way.how]} ({way.scope}: {way.file})" for way in status.wired]
    reached = ["yes" if way.reachable is None else f"no: {way.reachable}" for way in status.wired]
    yield Heading(TITLES[status.client])
    yield from facts(
        {
            "found": status.found or "no",
            "wired": ", ".join(wired) or "no",
            "reachable": ", ".join(reached) or "not connected",
            "hooks": ", ".join(f"{event} {state}" for event, state in status.hooks.items()) or "none",
            "tools": ", ".join(f"{name} {permission}" for name, permission in status.tools.items()),
            "own memory": status.own_memory or "",
            "last hook": status.last_hook or "none yet",
            "last call": status.last_call or "none since the daemon started",
        }
    )
    yield from (f"  → {line}" for line in status.todo)


def show_clients(cli: CommandContext) -> bool:
    """Check all clients at once, since each answer takes a while, and show the result. Returns whether
    there is nothing to do."""
    settings, paths = cli.settings, find_client_paths()
    calls, hooked = _last_calls(settings), _last_hooks(settings)

    def examine(client: str) -> ClientStatus:
        return _Examination(client, settings, paths, hooked.get(client)).run(calls)

    with ThreadPoolExecutor() as pool:
        found = list(pool.map(examine, CLIENTS))
    shown = [status for status in found if status.found or status.wired or status.todo]
    lines = [line for status in shown for line in _lines(status)]
    if absent := ", ".join(TITLES[status.client] for status in found if status not in shown):
        lines += ["", f"neither found nor connected: {absent}"]
    cli.show({"clients": [asdict(status) for status in found]}, lines)
    return not any(status.todo for status in found)


class _Examination:
    """The check of one client."""

    def __init__(self, client: str, settings: Settings, paths: ClientPaths, last_hook: str | None) -> None:
        self._client = CLIENTS[client]
        self._settings = settings
        self._paths = paths
        self._status = ClientStatus(
            client, shutil.which(self._client.program, path=paths.environ.get("PATH")), last_hook=last_hook
        )
        self._names = {client}

    def run(self, calls: Mapping[str, str]) -> ClientStatus:
        """Check the client. `calls` maps the names under which clients call to the times of their last calls."""
        client, status = self._client.name, self._status
        for scope in self._client.scopes:
            if scope == "user" or self._paths.project is not None:
                for target in targets_of(client, scope, self._settings, self._paths):
                    self._check_file(scope, target)
        ways = sorted({way.how for way in status.wired})
        if len(ways) > 1:
            both = " and ".join(_WAYS[way] for way in ways)
            self._add_todo(f"connected {both}: hooks and tools come twice; remove one")
        if status.wired:
            status.own_memory = self._client.why_remembered_twice(self._paths)
        elif status.found:
            self._add_todo(f"not connected: mcp-memory install {client}")
        last_calls = [calls[name] for name in self._names if name in calls]
        status.last_call = max(last_calls, key=datetime.fromisoformat, default=None)
        return status

    def _check_file(self, scope: Scope, target: ConfigTarget) -> None:
        remedy = f"mcp-memory install {self._client.name}{' --scope project' if scope == 'project' else ''}"
        try:
            content = text_file.read(target.file)
        except McpMemoryError as error:
            self._add_todo(str(error))
            return
        why_unused = self._client.why_unused(target, content)
        self._add_todo(why_unused)
        with suppress(Refused):  # a broken file shows nothing of ours
            text = text_file.decode(content)
            for entry in target.entries:
                if isinstance(entry, ServerEntry):
                    self._check_server(scope, target.file, entry, text, why_unused, remedy)
                elif isinstance(entry, OpenClawPlugin):
                    if entry.is_in(text):
                        obstacle = greet("openclaw", self._settings, self._paths)
                        self._connect("user", "install", target.file, obstacle, remedy)
                    if entry.is_shadowed(text):
                        self._add_todo(f"OpenClaw offers its own memory tools in place of ours, or none: {remedy}")
        states = hooks_of(self._client, scope, target, content, self._paths)
        self._status.hooks.update(states)
        for state in sorted({*states.values()} - {TRUSTED, WIRED, UNREAD}):
            why = self._client.why_hooks_off(self._paths) if state == OFF else None
            default = REMEDIES.get((self._client.name, state), f"hooks are {state}: {remedy}")
            self._add_todo(f"{why} turns off our hooks, too" if why else default)

    def _check_server(
        self, scope: Scope, file: Path, ours: ServerEntry, text: str, why_unused: str | None, remedy: str
    ) -> None:
        client, settings, paths = self._client, self._settings, self._paths
        if found := ours.entry_in(text):
            name = ours.names(text)[0]
            if why := why_unused or client.why_server_off(name, found, paths):
                obstacle = Obstacle(why, "")
            else:
                obstacle = find_obstacle(client.name, found, file, ours.entry, settings, paths)
            self._connect(scope, "install", file, obstacle, remedy)
            self._check_permission(name, remedy)
        for command, entry in ours.stdio_entries(text):
            usual = stdio_entry(settings, command.client)
            obstacle = find_obstacle(command.client, entry, file, usual, settings, paths)
            self._connect(scope, "stdio", file, obstacle, remedy)
            self._names.add(command.client)

    def _connect(self, scope: Scope, how: str, file: Path, obstacle: Obstacle | None, remedy: str) -> None:
        self._status.wired.append(ConnectedBy(scope, how, str(file), obstacle and obstacle.why))
        if obstacle:
            remedy = remedy if obstacle.remedy is None else obstacle.remedy
            self._add_todo(f"{obstacle.why}: {remedy}" if remedy else obstacle.why)

    def _check_permission(self, server: str, remedy: str) -> None:
        """Check whether the agent may call the server's tools."""
        if self._client.name != "claude-code":
            return
        permission = ClaudeSettings.read(self._paths).permission(server)
        self._status.tools[server] = permission
        if permission == "no rule":
            self._add_todo(f"Claude Code asks before each memory tool, and `claude -p` refuses it: {remedy}")
        elif permission == "denied":
            self._add_todo(f"a rule in permissions.deny blocks the memory tools: look for mcp__{server}")

    def _add_todo(self, line: str | None) -> None:
        if line and line not in self._status.todo:
            self._status.todo.append(line)


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
