"""doctor --clients: for each client, whether it is there, connected, reached, and what its hooks do."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic
from typing import Any, cast

from mcp_memory import __version__
from mcp_memory.cli.console import emit, head, say
from mcp_memory.cli.hook_trust import REMEDIES, TRUSTED, WIRED, hooks_of
from mcp_memory.cli.installing import address_of, targets_of, where
from mcp_memory.client.channel import Channel
from mcp_memory.client.connection import MCP
from mcp_memory.daemon import launch
from mcp_memory.errors import McpMemoryError
from mcp_memory.settings.settings import Settings
from mcp_memory.wiring import envfile, files
from mcp_memory.wiring.clients import PROGRAMS, TITLES, WIRABLE, Scope, Where, entry_in, helper_of
from mcp_memory.wiring.edit import Target
from mcp_memory.wiring.pieces import Server, Variable

VERSION_S = 20.0
"""For a client to say its version: OpenClaw takes three seconds."""

HELPER_S = 45.0
"""For a headers helper: it may have to start the daemon."""

ANSWER_S = 10.0


@dataclass(frozen=True, slots=True)
class Wired:
    """`reachable` is None where the daemon answers with this entry's headers, else why not."""

    scope: Scope
    file: str
    reachable: str | None


@dataclass(frozen=True, slots=True)
class Condition:
    """`found`: its programs on the PATH with their versions. `hooks`: event → what becomes of it. `todo`: a line for
    each thing that a person may want to do."""

    client: str
    found: dict[str, str]
    wired: list[Wired]
    hooks: dict[str, str]
    last_call: str | None
    todo: list[str]


def examine(settings: Settings) -> list[Condition]:
    """All clients that we know, at once: some take seconds to say their version."""
    place = where()
    latest = _last_calls(settings)
    with ThreadPoolExecutor() as pool:
        looks = [pool.submit(_condition, client, settings, place, latest.get(client)) for client in PROGRAMS]
        return [look.result() for look in looks]


def show(found: list[Condition], *, as_json: bool) -> bool:
    """Print it; whether there is nothing to do."""
    if as_json:
        emit({"clients": [asdict(each) for each in found]})
    else:
        for each in found:
            _show(each)
    return not any(each.todo for each in found)


def _condition(client: str, settings: Settings, place: Where, last_call: str | None) -> Condition:
    programs = _programs(PROGRAMS[client], place.environ)
    wired: list[Wired] = []
    hooks: dict[str, str] = {}
    todo: list[str] = []
    for other, scope in WIRABLE:
        if other != client or (scope == "project" and place.project is None):
            continue
        option = " --scope project" if scope == "project" else ""
        for target in targets_of(client, scope, settings, place):
            try:
                content = files.read(target.file)
            except McpMemoryError as error:
                todo.append(str(error))
                continue
            entry = entry_in(target, content)
            if entry is not None:
                why_not = _unreachable(entry, target, settings, place)
                wired.append(Wired(scope, str(target.file), why_not))
                todo += [f"{why_not}: mcp-memory install {client}{option}"] if why_not else []
            states = hooks_of(client, scope, target, content, place)
            hooks |= states
            todo += [
                REMEDIES.get((client, state), f"hooks are {state}: mcp-memory install {client}{option}")
                for state in sorted({*states.values()} - {TRUSTED, WIRED})
            ]
    if programs and not wired:
        todo.append(f"not connected: mcp-memory install {client}")
    if len(set(programs.values())) > 1:
        todo.append(f"{len(programs)} versions are on your PATH; the first one is used")
    return Condition(client, programs, wired, hooks, last_call, todo)


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


def _unreachable(entry: Mapping[str, Any], target: Target, settings: Settings, place: Where) -> str | None:
    """Why the daemon would not answer this client; None where it does."""
    if entry.get("url") != (address := address_of(settings)):
        return f"{target.file} names {entry.get('url')}, but the daemon is at {address}"
    # An entry may come with a stranger's repository: of what it names, only our own line is ever run.
    helper = next(helper_of(piece.entry) for piece in target.pieces if isinstance(piece, Server))
    if helper_of(entry) != helper:
        return f"{target.file} names another headers helper than install writes"
    try:
        headers = _headers(helper, settings, place)
        running = launch.running(settings)
    except (McpMemoryError, OSError, subprocess.TimeoutExpired, ValueError) as error:
        return f"no headers: {error}"
    if running is None:
        return "no daemon answers"
    status = _ping(running.address.authority, (running.address.host, running.address.port), headers)
    return None if status == 200 else f"the daemon answers with HTTP {status}" if status else "no daemon answers"


def _headers(helper: object, settings: Settings, place: Where) -> dict[str, str]:
    """What the client would send: what `helper` prints, else OpenClaw's token. Raises OSError, ValueError,
    TimeoutExpired."""
    if isinstance(helper, str):
        done = subprocess.run(
            ["/bin/sh", "-c", helper],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=HELPER_S,
            check=False,
        )
        if done.returncode:
            raise ValueError(" ".join(done.stderr.split()) or f"the helper ends with {done.returncode}")
        headers: object = json.loads(done.stdout)
        values = list(cast("dict[str, object]", headers).values()) if isinstance(headers, dict) else [None]
        if not all(isinstance(value, str) for value in values):
            raise ValueError("the helper prints no JSON object of texts")
        return cast("dict[str, str]", headers)
    for target in targets_of("openclaw", "user", settings, place):
        for piece in target.pieces:
            if isinstance(piece, Variable):
                text = (files.read(target.file) or b"").decode(errors="replace")
                token = place.environ.get(piece.name) or envfile.value_of(text, piece.name)
                if token:
                    return {"Authorization": f"Bearer {token}"}
                raise ValueError(f"{piece.name} is not in {target.file}")
    raise ValueError("the entry names no helper")


def _ping(authority: str, peer: tuple[str, int], headers: Mapping[str, str]) -> int | None:
    """The HTTP status of a greeting in the protocol, None where nobody answers."""
    greeting = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "mcp-memory doctor", "version": __version__},
    }
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": greeting}).encode()
    said = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    until = monotonic() + ANSWER_S
    try:
        with Channel(peer, authority, until) as channel:
            return channel.exchange("POST", MCP, {**said, **headers}, body, until)[0]
    except (OSError, ValueError):
        return None


def _last_calls(settings: Settings) -> dict[str, str]:
    try:
        running = launch.running(settings)
        return running.call("status", {}, deadline_s=ANSWER_S).get("clients", {}) if running else {}
    except McpMemoryError:
        return {}


def _show(each: Condition) -> None:
    head(TITLES[each.client])
    programs = [f"{version} ({file})" for file, version in each.found.items()]
    wired = [f"{wired.scope}: {wired.file}" for wired in each.wired]
    reached = ["yes" if wired.reachable is None else f"no: {wired.reachable}" for wired in each.wired]
    hooks = [f"{event} {state}" for event, state in each.hooks.items()]
    rows = [
        ("found", ", ".join(programs) or "no"),
        ("wired", ", ".join(wired) or "no"),
        ("reachable", ", ".join(reached) or "not connected"),
        ("hooks", ", ".join(hooks) or "none"),
        ("last call", each.last_call or "none since the daemon started"),
    ]
    for name, value in rows:
        say(f"  {name:<9}  {value}")
    for line in each.todo:
        say(f"  → {line}")
