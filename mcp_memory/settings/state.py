"""Where things are that are not the vault: the state folder, private and never synced, and the configuration file."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path

from mcp_memory.errors import ConfigInvalid, StorageFailed

PREFIX = "MCP_MEMORY_"
"""Of every environment variable that is ours."""


class StateFolder:
    """Where everything that is not the vault lives. Private (0700), never synced.

    No dataclass: the import of that module would be a fifth of what `headers` takes.
    """

    def __init__(self, root: Path, models: Path) -> None:
        self.root = root
        self.models = models

    @classmethod
    def of(cls, vault: Path, environ: Mapping[str, str]) -> StateFolder:
        home = state_home(environ)
        digest = hashlib.sha256(os.fsencode(vault)).hexdigest()[:10]
        slug = re.sub(r"[^A-Za-z0-9]+", "-", vault.name).strip("-").lower() or "vault"
        models = environ.get(PREFIX + "MODELS")
        return cls(home / "vaults" / f"{slug}-{digest}", absolute(models) if models else home / "models")

    @property
    def home(self) -> Path:
        """The folder that all vaults of this user share."""
        return self.root.parents[1]

    @property
    def lock(self) -> Path:
        return self.root / "daemon.lock"

    @property
    def daemon(self) -> Path:
        return self.root / "daemon.json"

    @property
    def tokens(self) -> Path:
        return self.root / "tokens.json"

    @property
    def port(self) -> Path:
        return self.root / "port"

    @property
    def index(self) -> Path:
        return self.root / "index"

    @property
    def ledger(self) -> Path:
        return self.root / "ledger.jsonl"

    @property
    def undo(self) -> Path:
        return self.root / "undo"

    @property
    def locks(self) -> Path:
        return self.root / "locks"

    @property
    def log(self) -> Path:
        return self.root / "log" / "daemon.log"

    @property
    def hooks(self) -> Path:
        return self.root / "log" / "hooks.jsonl"

    def make(self) -> None:
        """Create the folder, private from the start.

        Raises ConfigInvalid for one that somebody else owns, StorageFailed where it cannot be made.
        """
        try:
            for folder in (self.home, self.root.parent, self.root):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                owner = folder.stat().st_uid
                if owner != os.geteuid():
                    raise ConfigInvalid(
                        f"the state folder {folder} belongs to user {owner}",
                        hint=f"set {PREFIX}STATE to a folder of your own",
                    )
            self.root.chmod(0o700)
            for folder in (self.undo, self.locks, self.index, self.log.parent):
                folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise StorageFailed(
                f"cannot use the state folder {self.root}: {error.strerror}",
                hint=f"set {PREFIX}STATE to a folder that you can write",
            ) from error


def vault_folder(path: str) -> Path:
    """The vault's folder, links resolved, so that one vault has one daemon however it is spelled.

    Raises ConfigInvalid for an empty path and one that leads nowhere.
    """
    if not path.strip():
        raise ConfigInvalid("vault.path is empty", hint="name the folder of your notes, e.g. ~/memory")
    try:
        return absolute(path).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise ConfigInvalid(f"vault.path {path!r} leads nowhere: {error}") from error


def was_served(vault: Path) -> bool:
    """Whether the folder bears the marker of a vault (`engine.marker`, whose imports would take too long here)."""
    return (vault / ".mcp-memory" / "vault.toml").exists()


def state_home(environ: Mapping[str, str]) -> Path:
    """`$MCP_MEMORY_STATE`, else `$XDG_STATE_HOME/mcp-memory`, else `~/.local/state/mcp-memory`."""
    if chosen := environ.get(PREFIX + "STATE"):
        return absolute(chosen)
    return absolute(environ.get("XDG_STATE_HOME") or "~/.local/state") / "mcp-memory"


def config_path(environ: Mapping[str, str]) -> Path:
    """`$MCP_MEMORY_CONFIG`, else `$XDG_CONFIG_HOME/mcp-memory/config.toml`, else the same under `~/.config`."""
    if chosen := environ.get(PREFIX + "CONFIG"):
        return absolute(chosen)
    return absolute(environ.get("XDG_CONFIG_HOME") or "~/.config") / "mcp-memory" / "config.toml"


def absolute(path: str) -> Path:
    """Absolute, because a daemon works in another folder than the shell that started it."""
    try:
        return Path(path).expanduser().absolute()
    except RuntimeError as error:
        raise ConfigInvalid(f"no user's home for {path!r}", hint="spell the path out") from error
