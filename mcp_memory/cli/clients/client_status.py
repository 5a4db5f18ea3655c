"""doctor --clients: for each client, whether it is there, connected, reached, and what its hooks do."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from mcp_memory.cli.clients.hook_trust import OFF, REMEDIES, TRUSTED, UNREAD, WIRED, hooks_of, hooks_of_plugin
from mcp_memory.cli.clients.installing import address_of, find_client_paths, targets_of
from mcp_memory.cli.clients.reachability import ANSWER_S, no_daemon, unreachable, unreachable_by_stdio
from mcp_memory.cli.clients.unused_config import by_hand, rule_wanted, unused_file, unused_server, why_hooks_are_off
from mcp_memory.cli.console import emit, head, say
from mcp_memory.daemon import launch
from mcp_memory.errors import McpMemoryError
from mcp_memory.hooks import hook_log
from mcp_memory.integrations import commands, config_files
from mcp_memory.integrations.claude_settings import ClaudeSettings
from mcp_memory.integrations.clients import (
    CONNECTABLE,
    PROGRAMS,
    TITLES,
    ClientPaths,
    Scope,
    ask_entry,
)
from mcp_memory.integrations.config_entries import ServerEntry, helper_of
from mcp_memory.integrations.config_plan import ConfigTarget
from mcp_memory.integrations.installed_plugin import InstalledPlugin, find_installed_plugin
from mcp_memory.integrations.openclaw_plugin import OpenClawPlugin
from mcp_memory.settings.settings import Settings

VERSION_S = 20.0
"""For a client to say its version: OpenClaw takes three seconds."""

HOOKS_ALONE = ("openclaw", "plugin")
"""Whose plugin cannot bring the tools: the token would have to come from a variable that no shop can set."""


@dataclass(frozen=True, slots=True)
class ConnectedBy:
    """`how` is by `install` (or an entry like its own), by the client's `plugin`, or `stdio`. `reachable` is None where
    the daemon answers what this entry says, else why not."""

    scope: Scope
    how: str
    file: str
    reachable: str | None


@dataclass(frozen=True, slots=True)
class ClientStatus:
    """`found`: its programs on the PATH with their versions. `hooks`: event → what becomes of it, as far as its files
    tell. `tools`: our server's name → whether the agent may call its tools, for a client that has rules for that.
    `last_hook` and `last_call`: what actually ran, and when. `todo`: a line for each thing that you may want
    to do."""

    client: str
    found: dict[str, str]
    wired: list[ConnectedBy]
    hooks: dict[str, str]
    tools: dict[str, str]
    last_hook: str | None
    last_call: str | None
    todo: list[str]


def examine(settings: Settings) -> list[ClientStatus]:
    """All clients that we know, at once: some take seconds to say their version."""
    place = find_client_paths()
    latest, hooked = _last_calls(settings), _last_hooks(settings)
    with ThreadPoolExecutor() as pool:
        looks = [pool.submit(_condition, client, settings, place, latest, hooked) for client in PROGRAMS]
        return [look.result() for look in looks]


def show(found: list[ClientStatus], *, as_json: bool) -> bool:
    """Print it; whether there is nothing to do."""
    if as_json:
        emit({"clients": [asdict(each) for each in found]})
    else:
        for each in found:
            _show(each)
    return not any(each.todo for each in found)


def _condition(
    client: str, settings: Settings, place: ClientPaths, latest: Mapping[str, str], hooked: Mapping[str, str]
) -> ClientStatus:
    seen = ClientStatus(client, _programs(PROGRAMS[client], place.environ), [], {}, {}, hooked.get(client), None, [])
    names = {client}
    for other, scope in CONNECTABLE:
        if other != client or (scope == "project" and place.project is None):
            continue
        for target in targets_of(client, scope, settings, place):
            try:
                content = config_files.read(target.file)
            except McpMemoryError as error:
                seen.todo.append(str(error))
                continue
            names |= _look(seen, client, scope, target, content, settings, place)
    _look_for_plugin(seen, settings, place)
    tools = [each for each in seen.wired if (client, each.how) != HOOKS_ALONE]
    hows = sorted({each.how for each in tools})
    if len(hows) > 1:
        seen.todo.append(f"connected {' and '.join(map(_by, hows))}: what both bring comes twice; take one out")
    if seen.wired and not tools:
        seen.todo.append(f"its plugin brings the hooks, but not the tools: mcp-memory install {client}")
    if seen.found and not seen.wired:
        seen.todo.append(f"not connected: mcp-memory install {client}")
    if len(set(seen.found.values())) > 1:
        seen.todo.append(f"{len(seen.found)} versions are on your PATH; the first one is used")
    calls = [latest[name] for name in names if name in latest]
    last = max(calls, key=datetime.fromisoformat, default=None)
    return replace(seen, last_call=last)


def _look(
    seen: ClientStatus,
    client: str,
    scope: Scope,
    target: ConfigTarget,
    content: bytes | None,
    settings: Settings,
    place: ClientPaths,
) -> set[str]:
    """At one file of the client. Returns the names under which what it connects by stdio calls."""
    option = " --scope project" if scope == "project" else ""
    remedy = f"mcp-memory install {client}{option}"
    why_unused = unused_file(client, target, content)
    seen.todo.extend([why_unused] if why_unused else [])
    entry = ask_entry(target, content, ServerEntry, ServerEntry.entry_in)
    names_there = ask_entry(target, content, ServerEntry, ServerEntry.names)
    if entry is not None and names_there:
        name = names_there[0]
        why_unused = why_unused or unused_server(client, name, entry, place)
        obstacle = None if why_unused else unreachable(entry, target.file, _ours(target), settings, place)
        line = why_unused or (f"{obstacle.why}: {obstacle.remedy or remedy}" if obstacle else None)
        seen.todo.extend([line] if line and line not in seen.todo else [])
        _look_at_permission(seen, name, place, remedy)
        seen.wired.append(ConnectedBy(scope, "install", str(target.file), why_unused or (obstacle and obstacle.why)))
    names: set[str] = set()
    for command, stdio in ask_entry(target, content, ServerEntry, ServerEntry.stdio_entries) or ():
        why_not = unreachable_by_stdio(stdio, command.client, target.file, settings, place)
        seen.wired.append(ConnectedBy(scope, "stdio", str(target.file), why_not))
        seen.todo.extend([why_not] if why_not else [])
        names.add(command.client)
    if ask_entry(target, content, OpenClawPlugin, OpenClawPlugin.is_from_marketplace):
        obstacle = no_daemon(settings)
        seen.wired.append(ConnectedBy(scope, "plugin", str(target.file), obstacle and obstacle.why))
        seen.todo.extend([f"{obstacle.why}: {obstacle.remedy}"] if obstacle else [])
    if ask_entry(target, content, OpenClawPlugin, OpenClawPlugin.is_shadowed):
        seen.todo.append(f"OpenClaw offers memory tools of its own, and agents prefer them: {remedy}")
    states = hooks_of(client, scope, target, content, place)
    seen.hooks.update(states)
    _say_of_hooks(seen, states, place, remedy)
    return names


def _look_for_plugin(seen: ClientStatus, settings: Settings, place: ClientPaths) -> None:
    """One that is made for another vault connects that."""
    plugin = find_installed_plugin(seen.client, place)
    if plugin is None:
        return
    ours = next(_ours(target) for target in targets_of(seen.client, "user", settings, place) if _has_server(target))
    if commands.read(helper_of(plugin.entry)) != commands.read(helper_of(ours)):
        return
    obstacle = unreachable(plugin.entry, plugin.file, ours, settings, place)
    seen.wired.append(ConnectedBy("user", "plugin", str(plugin.file), obstacle and obstacle.why))
    seen.todo.extend([f"{obstacle.why}: {obstacle.remedy or _mending(plugin, settings)}"] if obstacle else [])
    _look_at_permission(seen, plugin.server, place, by_hand(plugin.server))
    states = hooks_of_plugin(seen.client, plugin.key, place)
    seen.hooks.update({f"{event} (plugin)": state for event, state in states.items()})
    _say_of_hooks(seen, states, place, "mcp-memory plugin says how to put it in")


def _look_at_permission(seen: ClientStatus, server: str, place: ClientPaths, remedy: str) -> None:
    if seen.client == "claude-code":
        seen.tools[server] = ClaudeSettings.read(place).permission(server)
        line = rule_wanted(server, place, remedy)
        seen.todo.extend([line] if line else [])


def _mending(plugin: InstalledPlugin, settings: Settings) -> str:
    """Claude Code alone has a setting for the plugin's address."""
    address = address_of(settings)
    if plugin.has_address and plugin.entry.get("url") != address:
        return f"claude plugin install {plugin.key} --config url={address}"
    return "make one for this machine: mcp-memory plugin --write FOLDER --here"


def _say_of_hooks(seen: ClientStatus, states: Mapping[str, str], place: ClientPaths, remedy: str) -> None:
    for state in sorted({*states.values()} - {TRUSTED, WIRED, UNREAD}):
        line = REMEDIES.get((seen.client, state), f"hooks are {state}: {remedy}")
        why = why_hooks_are_off(seen.client, place) if state == OFF else None
        line = f"{why} switches our hooks off, too" if why else line
        seen.todo.extend([line] if line not in seen.todo else [])


def _has_server(target: ConfigTarget) -> bool:
    return any(isinstance(piece, ServerEntry) for piece in target.entries)


def _ours(target: ConfigTarget) -> Mapping[str, Any]:
    return next(piece.entry for piece in target.entries if isinstance(piece, ServerEntry))


def _by(how: str) -> str:
    return {"install": "by install", "plugin": "by the plugin", "stdio": "over stdio"}[how]


def _programs(name: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Every program of that name on the PATH, in order → its version, or why it does not say."""
    found: dict[Path, str] = {}
    for folder in environ.get("PATH", os.defpath).split(os.pathsep):
        file = Path(folder or ".", name)
        if file.is_file() and os.access(file, os.X_OK) and file.resolve() not in {p.resolve() for p in found}:
            found[file] = _version(file)
    return {str(file): version for file, version in found.items()}


def _version(program: Path) -> str:
    try:
        done = subprocess.run(
            [program, "--version"],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=VERSION_S,
            check=False,
        )
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
    """Client → which hook ran last, and when: from their log, which outlives the daemon."""
    with suppress(OSError):
        lines = hook_log.read_lines(str(settings.state.hooks))
        return {str(line.get("client")): f"{line.get('event')}, {line.get('at')}" for line in lines}
    return {}


def _show(each: ClientStatus) -> None:
    head(TITLES[each.client])
    programs = [f"{version} ({file})" for file, version in each.found.items()]
    wired = [f"{_by(wired.how)} ({wired.scope}: {wired.file})" for wired in each.wired]
    reached = ["yes" if wired.reachable is None else f"no: {wired.reachable}" for wired in each.wired]
    hooks = [f"{event} {state}" for event, state in each.hooks.items()]
    rows = [
        ("found", ", ".join(programs) or "no"),
        ("wired", ", ".join(wired) or "no"),
        ("reachable", ", ".join(reached) or "not connected"),
        ("hooks", ", ".join(hooks) or "none"),
        *([("tools", ", ".join(f"{name} {said}" for name, said in each.tools.items()))] if each.tools else []),
        ("last hook", each.last_hook or "none yet"),
        ("last call", each.last_call or "none since the daemon started"),
    ]
    for name, value in rows:
        say(f"  {name:<9}  {value}")
    for line in each.todo:
        say(f"  → {line}")
