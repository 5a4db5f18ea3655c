"""Checks whether the daemon answers a client through the entry in its configuration.

An entry may come with a stranger's repository, so no command in it is run: ours is, if the entry has the same command.
"""

import ipaddress
import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from mcp_memory import __version__
from mcp_memory.cli.clients.connection_entries import stdio_entry
from mcp_memory.daemon.listen import known_url
from mcp_memory.integrations import commands
from mcp_memory.integrations.clients import CLIENTS, ClientPaths
from mcp_memory.integrations.clients.claude_code import ClaudeSettings
from mcp_memory.integrations.server_entry import command_line
from mcp_memory.settings.settings import Settings

ANSWER_S = 45.0
"""The time limit of `mcp-memory stdio`, which may have to start the daemon."""

PASSED_ON = {"HOME", "PATH", "LANG"}
"""The variables that every client passes on. Codex 0.169.0 passes no others, besides PWD."""

_ANY = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")
_PROXIES: Mapping[str, tuple[str, ...]] = {"claude-code": _ANY, "codex": _ANY[2:]}
"""The variables by which a client calls an http address through a proxy. Claude Code also uses the variables for
https."""

GREETING = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "mcp-memory clients", "version": __version__},
    },
}


class Obstacle(NamedTuple):
    """The reason why the daemon would not answer a client. `remedy` is the command that helps, None if that is
    `install`, and empty if `why` has the remedy."""

    why: str
    remedy: str | None = None


def find_obstacle(
    client: str,
    entry: Mapping[str, Any],
    file: Path,
    ours: Mapping[str, Any],
    settings: Settings,
    paths: ClientPaths,
) -> Obstacle | None:
    """Return why the daemon would not answer this client; None if it would. `ours` is the entry that `install`
    writes."""
    if "url" in ours:
        address = known_url(settings)
        if address is None or entry.get("url") != address:
            return Obstacle(f"{file} names {entry.get('url')}, but the daemon is at {address}")
        if proxy := find_proxy(client, address, paths):
            return proxy
    if why := _foreign_command(command_line(entry), command_line(ours), file, paths):
        return Obstacle(why, None if client in CLIENTS else "")
    return greet(client, settings, paths)


def find_proxy(client: str, url: str, paths: ClientPaths) -> Obstacle | None:
    """Return the proxy that keeps the client from the daemon's `url`; None if it connects directly."""
    variables = dict[str, tuple[str, str]]()
    for where, values in _environments(client, paths):
        variables |= {name: (value, where) for name, value in values.items()}
    variables = {name: found for name, found in variables.items() if found[0]}
    used = next((name for name in _PROXIES.get(client, ()) if name in variables), None)
    spared = ",".join(variables[name][0] for name in ("NO_PROXY", "no_proxy") if name in variables)
    target = urlsplit(url)
    host, port = target.hostname or "", target.port
    if used is None or any(_spares(each, host, port, client) for each in spared.replace(",", " ").split()):
        return None
    why = f"{used} in {variables[used][1]} sends {CLIENTS[client].title}'s calls to a proxy, which can't reach {url}"
    exempt = ",".join(filter(None, (spared, host)))
    if client != "claude-code":
        return Obstacle(why, f"start it with NO_PROXY={exempt}")
    file = paths.folder("CLAUDE_CONFIG_DIR", ".claude") / "settings.json"
    return Obstacle(why, f'add "NO_PROXY": "{exempt}" to "env" in {file}')


def greet(client: str, settings: Settings, paths: ClientPaths) -> Obstacle | None:
    """Return why the daemon would not answer `mcp-memory stdio` under this client's name; None if it does."""
    ours = stdio_entry(settings, client)
    environ = {name: paths.environ[name] for name in PASSED_ON & {*paths.environ}}
    try:
        done = subprocess.run(
            [ours["command"], *ours["args"]],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            input=json.dumps(GREETING) + "\n",
            env=environ,
            timeout=ANSWER_S,
            check=False,
        )
        answer: dict[str, Any] = json.loads(done.stdout.partition("\n")[0] or "{}")
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        return Obstacle(f"mcp-memory stdio does not answer: {type(error).__name__}", "mcp-memory status")
    if "result" in answer:
        return None
    return Obstacle(answer.get("error", {}).get("message") or " ".join(done.stderr.split()) or "no answer", "")


def _foreign_command(line: object, ours: object, file: Path, paths: ClientPaths) -> str | None:
    """Return what is wrong with a command that differs from ours. Our program's bare name is fine if PATH has it."""
    if line == ours:
        return None
    program, read = commands.program_of(line), commands.read(ours)
    if program not in {commands.PROGRAM, commands.program_of(ours)} or commands.read(line) != read:
        return f"{file} names another command than {ours}"
    lacking = [word for word in commands.variables_of(ours) if word not in commands.variables_of(line)]
    if lacking and read and read.verb == "headers":
        return f"{file} starts {commands.PROGRAM} without {' '.join(lacking)}, which not every client passes on"
    if program != commands.PROGRAM or shutil.which(program, path=paths.environ.get("PATH")):
        return None
    return f"{file} names {program}, which is not on your PATH"


def _environments(client: str, paths: ClientPaths) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the places from which the client takes variables, with their values; a later place overrides an earlier
    place."""
    yield "your environment", paths.environ
    if client == "claude-code":
        for layer in ClaudeSettings.read(paths).layers:
            values = layer.values.get("env")
            if isinstance(values, Mapping):
                yield str(layer.file), {str(name): str(value) for name, value in values.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] -- of a JSON file


def _spares(exemption: str, host: str, port: int | None, client: str) -> bool:
    """Return whether an entry of NO_PROXY applies to the host, as Claude Code 2.1.329 reads it. Codex reads no ports
    there."""
    if exemption == "*" or exemption.strip("[]").lower() == host:
        return True
    if client == "claude-code" and exemption.lower() == f"{host}:{port}":
        return True
    if "/" in exemption:
        with suppress(ValueError):
            return ipaddress.ip_address(host) in ipaddress.ip_network(exemption, strict=False)
    return exemption.startswith(".") and host.endswith(exemption.lower())
