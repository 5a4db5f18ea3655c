"""Locate the vault, its state folder and the configuration file.

Paths are strings: `pathlib` takes longer to import than the daemon takes to answer, and a prompt waits for both.
"""

from __future__ import annotations

import errno
import hashlib
import os

from mcp_memory.errors import ConfigInvalid

TYPE_CHECKING = False  # as in `typing`, which takes as long
if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "MCP_MEMORY_"  # of all our environment variables
DEFAULT_VAULT = "~/memory"

# In the state folder.
DAEMON, TOKENS, PORT = "daemon.json", "tokens.json", "port"
HOOKS_LOG = "log/hooks.jsonl"


def vault_folder(path: str) -> str:
    """Return the vault's folder with links resolved, so that one vault has one daemon however its path is spelled.

    Raises ConfigInvalid for an empty path, and for a path that leads nowhere."""
    if not path.strip():
        raise ConfigInvalid("vault.path is empty", hint="name the folder of your notes, e.g. ~/memory")
    try:
        folder = os.path.realpath(absolute(path))
        try:
            os.stat(folder)
        except OSError as error:
            if error.errno == errno.ELOOP:  # any other folder that is not there can be made
                raise
    except (OSError, ValueError) as error:
        raise ConfigInvalid(f"vault.path {path!r} leads nowhere: {error}") from error
    return folder


def state_folder(vault: str, environ: Mapping[str, str]) -> str:
    """Return the folder for everything about this vault that is stored outside of it."""
    digest = hashlib.sha256(os.fsencode(vault)).hexdigest()[:10]
    plain = "".join(c if c.isascii() and c.isalnum() else " " for c in os.path.basename(vault))
    slug = "-".join(plain.split()).lower() or "vault"
    return os.path.join(state_home(environ), "vaults", f"{slug}-{digest}")


def state_home(environ: Mapping[str, str]) -> str:
    """Return `$MCP_MEMORY_STATE`, else `$XDG_STATE_HOME/mcp-memory`, else `~/.local/state/mcp-memory`."""
    if chosen := environ.get(PREFIX + "STATE"):
        return absolute(chosen)
    return os.path.join(absolute(environ.get("XDG_STATE_HOME") or "~/.local/state"), "mcp-memory")


def config_file(environ: Mapping[str, str]) -> str:
    """Return `$MCP_MEMORY_CONFIG`, else `$XDG_CONFIG_HOME/mcp-memory/config.toml`, else the same under `~/.config`."""
    if chosen := environ.get(PREFIX + "CONFIG"):
        return absolute(chosen)
    return os.path.join(absolute(environ.get("XDG_CONFIG_HOME") or "~/.config"), "mcp-memory", "config.toml")


def absolute(path: str) -> str:
    """Make a path absolute, because a daemon works in another folder than the shell that started it. Raises
    ConfigInvalid."""
    found = os.path.expanduser(_plain(path))
    if found.startswith("~"):
        raise ConfigInvalid(f"no user's home for {path!r}", hint="spell the path out")
    # Only a relative path needs the current folder, which may be gone.
    return found if found.startswith("/") else os.path.join(os.getcwd(), found)


def _plain(path: str) -> str:
    """Normalize a path as `pathlib` does, without doubled slashes and dots: in a circle of links `realpath` makes `/`
    of `//`."""
    root = path[: len(path) - len(path.lstrip("/"))]
    parts = "/".join(part for part in path.split("/") if part not in {"", "."})
    return (root if root == "//" else root[:1]) + parts
