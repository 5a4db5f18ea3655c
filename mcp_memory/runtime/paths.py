"""Locates the vault, its state folder, the configuration file and an agent's project.

Paths are strings: `pathlib` takes longer to import than the daemon takes to answer, and a prompt waits for both.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat

from mcp_memory.errors import ConfigInvalid

TYPE_CHECKING = False  # as in `typing`, which takes as long
if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "MCP_MEMORY_"  # of all our environment variables
DEFAULT_VAULT = "~/memory"

# In the state folder.
DAEMON, TOKENS, PORT = "daemon.json", "tokens.json", "port"
HOOKS_LOG = "log/hooks.jsonl"

MAX_PROJECT_CHARS = 100  # as in every tool
MOST_LINE_BYTES = 4200
"""Of a file of git's that holds a path; a path has 4,096 at most."""


def vault_folder(path: str) -> str:
    """The vault's folder with links resolved, so that one vault has one daemon however its path is spelled.

    Raises ConfigInvalid for an empty path and for one that leads nowhere.
    """
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
    """The folder for everything about this vault that is not in it."""
    digest = hashlib.sha256(os.fsencode(vault)).hexdigest()[:10]
    plain = "".join(c if c.isascii() and c.isalnum() else " " for c in os.path.basename(vault))
    slug = "-".join(plain.split()).lower() or "vault"
    return os.path.join(state_home(environ), "vaults", f"{slug}-{digest}")


def state_home(environ: Mapping[str, str]) -> str:
    """`$MCP_MEMORY_STATE`, else `$XDG_STATE_HOME/mcp-memory`, else `~/.local/state/mcp-memory`."""
    if chosen := environ.get(PREFIX + "STATE"):
        return absolute(chosen)
    return os.path.join(absolute(environ.get("XDG_STATE_HOME") or "~/.local/state"), "mcp-memory")


def config_file(environ: Mapping[str, str]) -> str:
    """`$MCP_MEMORY_CONFIG`, else `$XDG_CONFIG_HOME/mcp-memory/config.toml`, else the same under `~/.config`."""
    if chosen := environ.get(PREFIX + "CONFIG"):
        return absolute(chosen)
    return os.path.join(absolute(environ.get("XDG_CONFIG_HOME") or "~/.config"), "mcp-memory", "config.toml")


def absolute(path: str) -> str:
    """Absolute, because a daemon works in another folder than the shell that started it. Raises ConfigInvalid."""
    found = os.path.expanduser(_plain(path))
    if found.startswith("~"):
        raise ConfigInvalid(f"no user's home for {path!r}", hint="spell the path out")
    # Only a relative path needs the current folder, which may be gone.
    return found if found.startswith("/") else os.path.join(os.getcwd(), found)


def project_of(folder: str, vault: str = "") -> str | None:
    """The name of the git repository that holds `folder`, the same in all of its worktrees; of a submodule, its own.
    None outside of one, in the `vault`, or if its name is not plain. Doesn't start git, which would take as long as
    everything else."""
    if "\0" in folder or not folder.startswith("/"):
        return None
    folder = "/" + _plain(folder).lstrip("/")
    if vault and f"{folder}/".startswith(f"{vault}/"):
        return None
    while not (found := _common_folder(folder)) and folder != "/":
        folder = os.path.dirname(folder)
    if not found:
        return None
    place, name = os.path.split(found)
    name = os.path.basename(place) if name in {".git", ".bare"} else name.removesuffix(".git")
    return name if name.strip() and name.isprintable() and len(name) <= MAX_PROJECT_CHARS else None


def _common_folder(folder: str) -> str | None:
    """The folder in which git keeps what all worktrees share, if `folder` is the root of one, or a bare repository.
    If its `.git` is a file that leads nowhere, the folder that it named before the repository moved, else `.git`."""
    inside = f"{folder}/.git"
    try:
        is_file = stat.S_ISREG(os.stat(inside).st_mode)
    except OSError:
        if os.path.lexists(inside):
            return inside
        is_bare = os.path.isfile(f"{folder}/HEAD") and os.path.isdir(f"{folder}/objects")
        return folder if is_bare and os.path.isdir(f"{folder}/refs") else None
    named = _line_of(inside).removeprefix("gitdir:").strip() if is_file else ""
    if not named:
        return inside
    own = os.path.normpath(os.path.join(os.path.realpath(folder), named))
    if shared := _line_of(f"{own}/commondir").strip():
        return os.path.normpath(os.path.join(own, shared))
    if os.path.isfile(f"{own}/HEAD"):
        return own
    above = os.path.dirname(own)
    return os.path.dirname(above) if os.path.basename(above) == "worktrees" else inside


def _line_of(file: str) -> str:
    """Its first line; empty for what can't be read, has no end, or would wait."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        try:
            is_plain = stat.S_ISREG(os.fstat(descriptor).st_mode)
            return os.fsdecode(os.read(descriptor, MOST_LINE_BYTES)).partition("\n")[0] if is_plain else ""
        finally:
            os.close(descriptor)
    except (OSError, ValueError):
        return ""


def _plain(path: str) -> str:
    """As `pathlib` reads it, without doubled slashes and dots: in a circle of links `realpath` makes `/` of `//`."""
    root = path[: len(path) - len(path.lstrip("/"))]
    parts = "/".join(part for part in path.split("/") if part not in {"", "."})
    return (root if root == "//" else root[:1]) + parts
