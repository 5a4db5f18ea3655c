"""Checks whether the daemon answers a client, by using the client's entry as the client would.

An entry may come with a stranger's repository, so a command in it is run only if we would write the same command.
"""

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple, cast

from mcp_memory import __version__
from mcp_memory.cli.clients import snippets
from mcp_memory.cli.clients.daemon_address import address_of
from mcp_memory.cli.clients.installing import targets_of
from mcp_memory.cli.clients.outgoing_proxy import find_proxy
from mcp_memory.client.connection import MCP, Address
from mcp_memory.client.http_connection import HttpConnection
from mcp_memory.daemon import launch
from mcp_memory.errors import McpMemoryError
from mcp_memory.integrations import commands, text_file
from mcp_memory.integrations.clients import ClientPaths
from mcp_memory.integrations.envfile import EnvVariable
from mcp_memory.integrations.server_entry import helper_of
from mcp_memory.settings.settings import Settings

HELPER_S = 45.0
"""The time limit of a headers helper, or of `stdio`, which may have to start the daemon."""

ANSWER_S = 10.0

CODEX_VARIABLES = {"HOME", "PATH", "LANG"}
"""The variables that Codex 0.169.0 passes to a headers helper, besides PWD. Claude Code passes its whole
environment."""

GREETING = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "mcp-memory doctor", "version": __version__},
    },
}


class Obstacle(NamedTuple):
    """The reason why the daemon would not answer a client. `remedy` is the command that helps, or None if that is
    `install`."""

    why: str
    remedy: str | None = None


def unreachable(
    client: str,
    name: str,
    entry: Mapping[str, Any],
    file: Path,
    ours: Mapping[str, Any],
    settings: Settings,
    paths: ClientPaths,
) -> Obstacle | None:
    """Return why the daemon would not answer this client over HTTP; None if it would. `name` is the client's name of
    the server; `ours` is the entry that `install` writes."""
    address = address_of(settings)
    if address is None or entry.get("url") != address:
        return Obstacle(f"{file} names {entry.get('url')}, but the daemon is at {address}")
    if proxy := find_proxy(client, name, address, settings, paths):
        return Obstacle(proxy.why, proxy.remedy)
    helper = helper_of(ours)
    if why_not := _foreign_helper(helper_of(entry), helper, file, paths):
        return Obstacle(why_not)
    try:
        headers = _headers(helper, settings, paths)
    except McpMemoryError as error:
        return Obstacle(f"no headers: {error.message}", error.hint)
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        return Obstacle(f"no headers: {error}")
    if obstacle := no_daemon(settings):
        return obstacle
    running = Address.read(settings.state.daemon)
    status = _greet(running.authority, (running.host, running.port), headers)
    if status == 401:
        rotate = "mcp-memory clients token --client openclaw --rotate, then mcp-memory install openclaw"
        return Obstacle("its token is unknown, or was revoked", None if helper else rotate)
    why_not = f"the daemon answers with HTTP {status}" if status else "no daemon answers"
    return None if status == 200 else Obstacle(why_not, "mcp-memory status")


def no_daemon(settings: Settings) -> Obstacle | None:
    """Return why no daemon answers at all; None if a daemon answers."""
    try:
        if launch.connect(settings):
            return None
    except McpMemoryError:
        pass
    error = launch.explain_absence(settings, start_command=snippets.typed_command(settings))
    return Obstacle(error.message, error.hint)


def unreachable_by_stdio(
    command: Sequence[str], client: str, file: Path, settings: Settings, paths: ClientPaths
) -> str | None:
    """Return why `mcp-memory stdio` would not answer under that client's name; None if it would."""
    ours = snippets.stdio_entry(settings, client)
    whole = [ours["command"], *ours["args"]]
    program, usual = (commands.program_of(shlex.join(words)) for words in (command, whole))
    if program not in {usual, commands.PROGRAM}:
        return f"{file} starts another program than {usual}"
    if program == commands.PROGRAM and shutil.which(program, path=paths.environ.get("PATH")) is None:
        return f"{file} starts {program}, which is not on your PATH"
    try:
        done = run_program(whole, HELPER_S, data=json.dumps(GREETING) + "\n")
        answer: dict[str, Any] = json.loads(done.stdout.partition("\n")[0] or "{}")
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        return f"mcp-memory stdio does not answer: {type(error).__name__}"
    if "result" in answer:
        return None
    why = answer.get("error", {}).get("message") or " ".join(done.stderr.split()) or "nothing"
    return f"mcp-memory stdio answers: {why}"


def run_program(
    command: Sequence[str | Path], timeout_s: float, environ: Mapping[str, str] | None = None, *, data: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a program, and return its result. Raises OSError and TimeoutExpired."""
    return subprocess.run(
        command, capture_output=True, encoding="utf-8", errors="replace", input=data, env=environ, timeout=timeout_s,
        check=False,
    )  # fmt: skip


def _foreign_helper(line: object, helper: object, file: Path, paths: ClientPaths) -> str | None:
    """Return what is wrong with a headers helper that differs from ours. Our program's bare name is fine if PATH has
    it."""
    if line == helper:
        return None
    if commands.program_of(line) != commands.PROGRAM or commands.read(line) != commands.read(helper):
        return f"{file} names another headers helper than install writes"
    if lacking := [word for word in commands.variables_of(helper) if word not in commands.variables_of(line)]:
        return f"{file} starts {commands.PROGRAM} without {' '.join(lacking)}, which not every client passes on"
    found = shutil.which(commands.PROGRAM, path=paths.environ.get("PATH"))
    return None if found else f"{file} names {commands.PROGRAM}, which is not on your PATH"


def _headers(helper: object, settings: Settings, paths: ClientPaths) -> dict[str, str]:
    """Return the headers that the client would send: the output of `helper`, or else OpenClaw's token. Raises our
    helper's error, OSError, ValueError and TimeoutExpired."""
    if isinstance(helper, str):
        environ = {name: paths.environ[name] for name in CODEX_VARIABLES & {*paths.environ}}
        done = run_program(["/bin/sh", "-c", helper], HELPER_S, environ)
        if done.returncode:
            raise _printed_error(done.stderr) or ValueError(f"the helper exits with {done.returncode}")
        headers: object = json.loads(done.stdout)
        values = list(cast("dict[str, object]", headers).values()) if isinstance(headers, dict) else [None]
        if not all(isinstance(value, str) for value in values):
            raise ValueError("the helper does not print a JSON object of strings")
        return cast("dict[str, str]", headers)
    for target in targets_of("openclaw", "user", settings, paths):
        for entry in target.known:
            if isinstance(entry, EnvVariable):
                text = (text_file.read(target.file) or b"").decode(errors="replace")
                if token := paths.environ.get(entry.name) or entry.value_in(text):
                    return {"Authorization": f"Bearer {token}"}
                raise ValueError(f"{entry.name} is not in {target.file}")
    raise ValueError("the entry names no helper")


def _printed_error(output: str) -> McpMemoryError | None:
    """Return the error that our program printed on one line: its message, and its hint in brackets at the end."""
    found = re.fullmatch(r"mcp-memory: (.*?)(?: \((.*)\))?", " ".join(output.split()))
    return McpMemoryError(found[1], hint=found[2]) if found else None


def _greet(authority: str, peer: tuple[str, int], headers: Mapping[str, str]) -> int | None:
    """Return the HTTP status of an MCP greeting, or None if nobody answers."""
    types = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    until = monotonic() + ANSWER_S
    try:
        with HttpConnection(peer, authority, until) as channel:
            return channel.exchange("POST", MCP, {**types, **headers}, json.dumps(GREETING).encode(), until)[0]
    except (OSError, ValueError):
        return None
