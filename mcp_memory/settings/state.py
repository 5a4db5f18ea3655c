"""The state folder: where everything is kept that is not the vault. Private, never synced."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from mcp_memory.errors import ConfigInvalid, StorageFailed
from mcp_memory.runtime import paths
from mcp_memory.runtime.paths import PREFIX

MARKER = ".mcp-memory/vault.toml"
"""Below a vault's folder."""


class StateFolder:
    """Where everything that is not the vault lives. Private (0700), never synced.

    No dataclass: the import of that module would be a fifth of what `headers` takes.
    """

    def __init__(self, root: Path, models: Path) -> None:
        self.root = root
        self.models = models

    @classmethod
    def for_vault(cls, vault: Path, environ: Mapping[str, str]) -> StateFolder:
        models = environ.get(PREFIX + "MODELS")
        home = Path(paths.state_home(environ))
        root = paths.state_folder(str(vault), environ)
        return cls(Path(root), Path(paths.absolute(models)) if models else home / "models")

    @property
    def home(self) -> Path:
        """The folder that all vaults of this user share."""
        return self.root.parents[1]

    @property
    def lock(self) -> Path:
        return self.root / "daemon.lock"

    @property
    def daemon(self) -> Path:
        return self.root / paths.DAEMON

    @property
    def tokens(self) -> Path:
        return self.root / paths.TOKENS

    @property
    def port(self) -> Path:
        return self.root / paths.PORT

    @property
    def in_force(self) -> Path:
        return self.root / "in-force.json"

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
        return self.root / paths.HOOKS_LOG

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


def was_served(vault: Path) -> bool:
    """Whether the folder bears the marker of a vault (`engine.marker`, whose imports would take too long here)."""
    return (vault / MARKER).exists()
