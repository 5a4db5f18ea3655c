"""Finds the proxy through which a client would call the daemon; a proxy elsewhere can't reach a loopback address."""

import ipaddress
import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from mcp_memory.cli.clients import snippets
from mcp_memory.integrations.claude_settings import ClaudeSettings
from mcp_memory.integrations.clients import PROGRAMS, TITLES, ClientPaths
from mcp_memory.settings.settings import Settings

_ANY = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")
_PROXIES: Mapping[str, tuple[str, ...]] = {"claude-code": _ANY, "codex": _ANY[2:]}
"""The variables by which a client calls an http address through a proxy. Claude Code also uses the variables for
https."""


class ProxyInTheWay(NamedTuple):
    """A proxy between a client and the daemon. `remedy` is what works instead, for you to choose."""

    why: str
    remedy: str


def find_proxy(client: str, server: str, url: str, settings: Settings, paths: ClientPaths) -> ProxyInTheWay | None:
    """Return the proxy that keeps the client from its entry `server` at the daemon's `url`; None if it connects
    directly."""
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
    why = f"{used} in {variables[used][1]} sends {TITLES[client]}'s calls to a proxy, which can't reach {url}"
    exempt = ",".join(filter(None, (spared, host)))
    stdio, program = snippets.stdio_entry(settings, client), PROGRAMS[client]
    line = shlex.join([stdio["command"], *stdio["args"]])
    scope = " -s user" if client == "claude-code" else ""
    return ProxyInTheWay(
        why,
        f"{_exempting(client, exempt, paths)}, or use the stdio form: {program} mcp remove{scope} {server} && "
        f"{program} mcp add{scope} {server} -- {line}",
    )


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


def _exempting(client: str, exempt: str, paths: ClientPaths) -> str:
    if client == "claude-code":
        file: Path = paths.folder("CLAUDE_CONFIG_DIR", ".claude") / "settings.json"
        return f'add "NO_PROXY": "{exempt}" to "env" in {file}'
    return f"start it with NO_PROXY={exempt}"
