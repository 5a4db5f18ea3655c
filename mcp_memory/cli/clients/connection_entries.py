"""Makes the part of a client's configuration that finds the daemon, from the templates in `configs/clients`.

`install generic` prints it for you to paste, `install` writes it.
"""

import json
import os
import re
import shlex
import shutil
import sys
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mcp_memory.cli.console import Heading, short_path
from mcp_memory.errors import ConfigInvalid
from mcp_memory.integrations import jsonc
from mcp_memory.integrations.clients import CLIENTS, ClientPaths
from mcp_memory.integrations.commands import LAUNCHER, PROGRAM
from mcp_memory.runtime.paths import absolute, config_file, state_home
from mcp_memory.settings.settings import PREFERRED_PORT, Settings, load, shipped

_TEMPLATE_URL = f"http://127.0.0.1:{PREFERRED_PORT}/mcp"

SERVER_NAME = re.compile(r"[A-Za-z0-9_-]+")
"""The names that every client accepts; Codex 0.169.0 silently skips a server with another name."""
_MAX_NAME_CHARS = 24
"""The most characters of the part that distinguishes vaults. Clients put it into the names of tools, of which models
take 64 characters."""


PASTED = {
    "windsurf": (".codeium/windsurf/mcp_config.json", "mcpServers"),
    "cline": (".cline/data/settings/cline_mcp_settings.json", "mcpServers"),
    "zed": (".config/zed/settings.json", "context_servers"),
}
"""Clients without hooks whose files are not edited: the file in your home folder, and the table for the entry."""


def entries_to_paste(client: str, settings: Settings, url: str) -> dict[str, str]:
    """Map each place to the text to paste, with this daemon's address and this program's path in it. `client` is one of
    `PASTED`, or any other for all that there are."""
    if client in PASTED:
        file, table = PASTED[client]
        entry = stdio_entry(settings, client)
        return {f"add to ~/{file}": jsonc.set_table("", (table, server_name(settings)), entry)}
    name, variable = server_name(settings), token_variable(settings)
    token = f"{command_path()} clients token --client openclaw{_options(settings)}"
    claude = json.dumps(server_entry("claude-code", settings, url), ensure_ascii=False)
    paths = ClientPaths(Path(absolute("~")), os.environ)
    headers = f"{_program(settings)} headers{_options(settings)} --client NAME"
    fragments = {
        f"Any client that speaks HTTP: {url}, with what this prints": headers,
        "Any client that speaks only stdio": json.dumps(stdio_entry(settings), ensure_ascii=False),
    }
    for known in CLIENTS.values():
        if known.name not in {"claude-code", "openclaw"}:
            place = f"{known.title}: add to {short_path(known.config_file('user', paths))}"
            entry = server_entry(known.name, settings, url)
            fragments[place] = known.syntax.set_table("", (*known.path, name), entry)
    return {
        "Claude Code": f"claude mcp add-json --scope user {name} {shlex.quote(claude)}",
        f"OpenClaw: start it with {variable} set to what this prints: {token}": f"openclaw mcp add {name} "
        f"--url {url} --transport streamable-http --no-probe "
        f"--header 'Authorization=Bearer ${{{variable}}}'",
        **fragments,
        "Instructions for the agent: add to AGENTS.md": shipped("clients/instructions.md"),
    }


def paste_lines(fragments: Mapping[str, str]) -> Iterator[str]:
    """Yield the texts to paste, each under the place that it is for."""
    for place, text in fragments.items():
        yield from (Heading(place), text.rstrip(), "")


def server_entry(client: str, settings: Settings, url: str, *, project: str | None = None) -> dict[str, Any]:
    """Return the server's entry in this client's configuration. `project` is a name for our command to send."""
    is_socket = settings.daemon.uds or urlsplit(url).port is None
    if is_socket and client in {"claude-code", "codex"}:  # neither speaks HTTP over a socket
        return stdio_entry(settings, client, project=project)
    if client == "claude-code":
        return json.loads(_filled(shipped("clients/claude-code.json"), settings, url, project))
    if client == "codex":
        text = _filled(shipped("clients/codex.toml"), settings, url, project)
        return tomllib.loads(text)["mcp_servers"]["memory"]
    entry = stdio_entry(settings, client, project=project)
    return CLIENTS[client].shape(entry["command"], entry["args"])


def _filled(text: str, settings: Settings, url: str, project: str | None) -> str:
    """Return a template with this daemon's address, and with our program's path and options in its command. That is
    inside a string, which takes JSON's escapes in JSON and TOML."""
    program, options = _program(settings, shared=bool(project)), _options(settings) + _project_option(project)
    ours = json.dumps(f"{program} headers{options} --client", ensure_ascii=False)[1:-1]
    return text.replace(f"{LAUNCHER} {PROGRAM} headers --client", ours).replace(_TEMPLATE_URL, url)


def stdio_entry(settings: Settings, client: str = "NAME", *, project: str | None = None) -> dict[str, Any]:
    """Return the server's entry for a client that only speaks stdio; you choose NAME. `project` is a name for it to
    send."""
    program, options = _program(settings, shared=bool(project)), _options(settings) + _project_option(project)
    command, *arguments = shlex.split(f"{program} stdio --client {_word(client)}{options}")
    return {"command": command, "args": arguments}


def hook_commands(client: str, settings: Settings, *, shared: bool) -> dict[str, str]:
    """Map the client's name of each event to our command for it, as in `hook_line`. Return an empty dict for a client
    without hooks."""
    events = CLIENTS[client].hooks
    return {name: hook_line(event.name, client, settings, shared=shared) for name, event in events.items()}


def hook_line(event: str, client: str, settings: Settings, *, shared: bool = False) -> str:
    """Return our command for an event. For `shared`, see `command_path`."""
    return f"{_program(settings, shared=shared)} hook {event} --client {client}{_options(settings)}"


def server_name(settings: Settings) -> str:
    """Return the name of this vault's server in clients. It comes from the vault's folder, or from its state's number
    if the folder's name has no Latin letter."""
    if _is_default(settings):
        return "memory"
    plain = unicodedata.normalize("NFKD", settings.vault_path.name.lower()).encode("ascii", "ignore").decode()
    short = "-".join(re.findall(r"[a-z0-9]+", plain))[:_MAX_NAME_CHARS].strip("-")
    return f"memory-{short or settings.state.root.name.rpartition('-')[2]}"


def token_variable(settings: Settings) -> str:
    """Return the environment variable that gives the token to a client without a headers helper. Each vault has its own
    variable."""
    own = "" if _is_default(settings) else "_" + re.sub(r"[^A-Z0-9]+", "_", settings.state.root.name.upper())
    return "MCP_MEMORY_TOKEN" + own


def vault_option(settings: Settings) -> str | None:
    """Return the value of `--vault` in our commands; None for the default vault."""
    return None if _is_default(settings) else str(settings.vault_path)


def typed_command(settings: Settings, command: str = "start") -> str:
    """Return the command to type for this vault, with the program's path if you had to type that before."""
    typed = sys.argv[0] if Path(sys.argv[0]).name == "mcp-memory" and not shutil.which("mcp-memory") else "mcp-memory"
    return f"{_word(typed)} {command}{_options(settings)}"


def command_path(*, shared: bool = False) -> str:
    """Return the absolute path of `mcp-memory` as a shell word, since a client starts it without our PATH.

    `shared` is for a file that others use, too: the result is only the program's name if that finds it here. `-P` is
    needed because a client runs it in an agent's project, which must not be searched for modules."""
    beside = Path(sys.executable).with_name("mcp-memory")
    on_path = shutil.which("mcp-memory")
    if shared and on_path and (not beside.exists() or Path(on_path).resolve() == beside.resolve()):
        return "mcp-memory"
    found = str(beside) if beside.exists() else on_path
    return _word(found) if found else f"{_word(sys.executable)} -P -m mcp_memory"


def _environment(settings: Settings) -> list[str]:
    """Return `NAME=value` for each folder of this machine that can't be derived from HOME."""
    state = settings.state
    found = {
        "MCP_MEMORY_STATE": str(state.home) if str(state.home) != state_home({}) else None,
        "MCP_MEMORY_MODELS": str(state.models) if state.home not in state.models.parents else None,
    }
    return [f"{name}={value}" for name, value in found.items() if value]


def _program(settings: Settings, *, shared: bool = False) -> str:
    """Return our program as a client starts it, whose environment may be for another Python."""
    return " ".join([LAUNCHER, *map(_word, _environment(settings)), command_path(shared=shared)])


def _project_option(project: str | None) -> str:
    return f" --project {_word(project)}" if project else ""


def _options(settings: Settings) -> str:
    """Return the options that name the vault. A client starts our commands with only HOME and PATH, so everything else
    is spelled out."""
    vault = vault_option(settings)
    options = f" --vault {_word(vault)}" if vault else ""
    if settings.file and str(settings.file.absolute()) != config_file({}):
        options += f" --config {_word(str(settings.file.absolute()))}"
    return options


def _is_default(settings: Settings) -> bool:
    """Return whether our commands find this vault without options when a client starts them with only HOME and PATH."""
    file = Path(config_file({}))
    written = file.stat().st_mtime_ns if file.exists() else None
    return _default_vault(Path.home(), written) == settings.vault_path


@cache
def _default_vault(_home: Path, _written: int | None) -> Path | None:
    """Return the default vault, cached by the home folder and the configuration file's time. Each line of each client
    asks for it."""
    try:
        return load({}).vault_path
    except ConfigInvalid:  # the usual file has a mistake, while another file is used here
        return None


def _word(text: str) -> str:
    """Return one shell word, in double quotes if it needs any, since the whole line gets single quotes later."""
    if shlex.quote(text) == text:
        return text
    escaped = "".join(f"\\{c}" if c in '"\\$`' else c for c in text)
    return f'"{escaped}"'
