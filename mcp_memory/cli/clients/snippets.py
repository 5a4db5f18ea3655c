"""Makes what a client's configuration needs to find the daemon, from the templates in `configs/clients`.

`start --snippets` prints it for you to paste, `install` writes it.
"""

import json
import os
import re
import shlex
import shutil
import sys
import tomllib
import unicodedata
from functools import cache
from pathlib import Path
from typing import Any

from mcp_memory.cli.clients.config_changes import short_path
from mcp_memory.errors import ConfigInvalid
from mcp_memory.integrations.clients import HOOK_EVENTS, OVER_STDIO, ClientPaths
from mcp_memory.integrations.commands import LAUNCHER, PROGRAM
from mcp_memory.runtime.paths import absolute, config_file, state_home
from mcp_memory.settings.settings import PREFERRED_PORT, Settings, load, shipped

TEMPLATE_URL = f"http://127.0.0.1:{PREFERRED_PORT}/mcp"
TEMPLATE_VARIABLE = "MCP_MEMORY_TOKEN"

SERVER_NAME = re.compile(r"[A-Za-z0-9_-]+")
"""What every client accepts; Codex 0.169.0 silently skips a server with another name."""
_MAX_NAME_CHARS = 24
"""For the part that tells vaults apart: clients put it into the names of tools, of which models take 64 characters."""


def snippets(settings: Settings, url: str) -> dict[str, str]:
    """Client and place → text to paste, with this daemon's address and this program's path in it."""
    name, variable = server_name(settings), token_variable(settings)
    claude = json.dumps(server_entry("claude-code", settings, url), ensure_ascii=False)
    template = _filled("codex.toml", settings, url).splitlines()
    codex = "\n".join(line for line in template if line and not line.startswith("#"))
    token = f"{command_path()} token --client openclaw{_options(settings)}"
    paths = ClientPaths(Path(absolute("~")), os.environ)
    fragments = {
        f"{client.title}: add to {short_path(client.folder(paths) / client.file)}": client.server(
            name, server_entry(client.name, settings, url), None
        ).insert("")
        for client in OVER_STDIO.values()
    }
    return {
        "Claude Code": f"claude mcp add-json --scope user {name} {shlex.quote(claude)}",
        "Codex: add to ~/.codex/config.toml": codex.replace("[mcp_servers.memory]", f"[mcp_servers.{name}]"),
        f"OpenClaw: start it with {variable} set to what this prints: {token}": f"openclaw mcp add {name} "
        f"--url {url} --transport streamable-http --no-probe "
        f"--header 'Authorization=Bearer ${{{variable}}}'",
        **fragments,
    }


def server_entry(client: str, settings: Settings | None, url: str, *, project: str | None = None) -> dict[str, Any]:
    """The server's entry in this client's configuration. `settings`: None for any machine's, as it is shipped.
    `project`: a name for its headers helper to send."""
    if client == "claude-code":
        return json.loads(_filled("claude-code.json", settings, url, project))
    if client in OVER_STDIO:
        entry = stdio_entry(settings, client, project=project)
        return OVER_STDIO[client].shape(entry["command"], entry["args"])
    if client == "codex":
        return tomllib.loads(_filled("codex.toml", settings, url, project))["mcp_servers"]["memory"]
    variable = token_variable(settings) if settings else TEMPLATE_VARIABLE
    text = _filled("openclaw.json", settings, url).replace(TEMPLATE_VARIABLE, variable)
    return json.loads(text)["mcp"]["servers"]["memory"]


def stdio_entry(settings: Settings | None, client: str = "NAME", *, project: str | None = None) -> dict[str, Any]:
    """The server's entry for a client that only speaks stdio; you choose NAME. `project`: a name for it to send."""
    more = (_options(settings) if settings else "") + (f" --project {_word(project)}" if project else "")
    line = f"{_program(settings, shared=bool(project))} stdio --client {_word(client)}{more}"
    command, *arguments = shlex.split(line)
    return {"command": command, "args": arguments}


def hook_commands(client: str, settings: Settings | None, *, shared: bool = False) -> dict[str, str]:
    """The client's name of an event → our command for it, as in `hook_line`; empty for a client without hooks."""
    events = HOOK_EVENTS.get(client, {})
    return {name: hook_line(event.name, client, settings, shared=shared) for name, event in events.items()}


def hook_line(event: str, client: str, settings: Settings | None, *, shared: bool = False) -> str:
    """Our command for an event. `settings`: None for any machine's. `shared`: see `command_path`."""
    options = _options(settings) if settings else ""
    return f"{_program(settings, shared=shared)} hook {event} --client {client}{options}"


def headers_line(settings: Settings, *, shared: bool = False) -> str:
    """Our command for the headers. `shared`: see `command_path`."""
    return f"{_program(settings, shared=shared)} headers{_options(settings)}"


def server_name(settings: Settings) -> str:
    """This vault's server in clients: named after its folder, or its state's number if that has no Latin letter."""
    if _is_default(settings):
        return "memory"
    plain = unicodedata.normalize("NFKD", settings.vault_path.name.lower()).encode("ascii", "ignore").decode()
    short = "-".join(re.findall(r"[a-z0-9]+", plain))[:_MAX_NAME_CHARS].strip("-")
    return f"memory-{short or settings.state.root.name.rpartition('-')[2]}"


def token_variable(settings: Settings) -> str:
    """The environment variable, one for each vault, that gives the token to a client without a headers helper."""
    own = "" if _is_default(settings) else "_" + re.sub(r"[^A-Z0-9]+", "_", settings.state.root.name.upper())
    return TEMPLATE_VARIABLE + own


def vault_option(settings: Settings) -> str | None:
    """The value of `--vault` in our commands; None for the default vault."""
    return None if _is_default(settings) else str(settings.vault_path)


def typed_command(settings: Settings, command: str = "start") -> str:
    """What you type to run a command for this vault: with the program's path, if you had to type it before."""
    typed = sys.argv[0] if Path(sys.argv[0]).name == "mcp-memory" and not shutil.which("mcp-memory") else "mcp-memory"
    return f"{_word(typed)} {command}{_options(settings)}"


def command_path(*, shared: bool = False) -> str:
    """The absolute path of `mcp-memory` as a shell word, since a client starts it without our PATH.

    `shared`: for a file that others use too, its name alone if that finds it here. `-P`: a client runs it in an agent's
    project, which must not be searched for modules."""
    beside = Path(sys.executable).with_name("mcp-memory")
    on_path = shutil.which("mcp-memory")
    if shared and on_path and (not beside.exists() or Path(on_path).resolve() == beside.resolve()):
        return "mcp-memory"
    found = str(beside) if beside.exists() else on_path
    return _word(found) if found else f"{_word(sys.executable)} -P -m mcp_memory"


def environment(settings: Settings) -> list[str]:
    """`NAME=value` for the folders of this machine that HOME alone doesn't lead to."""
    state = settings.state
    found = {
        "MCP_MEMORY_STATE": str(state.home) if str(state.home) != state_home({}) else None,
        "MCP_MEMORY_MODELS": str(state.models) if state.home not in state.models.parents else None,
    }
    return [f"{name}={value}" for name, value in found.items() if value]


def _filled(name: str, settings: Settings | None, url: str, project: str | None = None) -> str:
    """Both formats take JSON's string escapes, and both templates hold the command inside a string."""
    text = shipped(f"clients/{name}").replace(TEMPLATE_URL, url)
    if settings is None:
        return text
    command = headers_line(settings, shared=bool(project)) + (f" --project {_word(project)}" if project else "")
    return text.replace(f"{_program(None)} headers", json.dumps(command, ensure_ascii=False)[1:-1])


def _program(settings: Settings | None, *, shared: bool = False) -> str:
    """Our program as a client starts it, whose environment may be for another Python. `settings`: None for any
    machine's."""
    if settings is None:
        return f"{LAUNCHER} {PROGRAM}"
    return " ".join([LAUNCHER, *map(_word, environment(settings)), command_path(shared=shared)])


def _options(settings: Settings) -> str:
    """A client starts our commands with HOME and PATH alone, so the rest of what names the vault is spelled out."""
    vault = vault_option(settings)
    options = f" --vault {_word(vault)}" if vault else ""
    if settings.file and str(settings.file.absolute()) != config_file({}):
        options += f" --config {_word(str(settings.file.absolute()))}"
    return options


def _is_default(settings: Settings) -> bool:
    """Whether our commands find this vault without options, started with HOME and PATH alone."""
    file = Path(config_file({}))
    written = file.stat().st_mtime_ns if file.exists() else None
    return _default_vault(Path.home(), written) == settings.vault_path


@cache
def _default_vault(_home: Path, _written: int | None) -> Path | None:
    """Of this home and configuration file as it was written then: asked for with each line of each client."""
    try:
        return load({}).vault_path
    except ConfigInvalid:  # in the usual file, while another one is used here
        return None


def _word(text: str) -> str:
    """One shell word, in double quotes if it needs any, since the whole line gets single quotes later."""
    if shlex.quote(text) == text:
        return text
    escaped = "".join(f"\\{c}" if c in '"\\$`' else c for c in text)
    return f'"{escaped}"'
