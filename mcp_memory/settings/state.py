"""Names the files of the state folder: everything that isn't the vault. Private, never synced."""

import errno
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from mcp_memory.errors import ConfigInvalid, StorageFailed
from mcp_memory.runtime import paths
from mcp_memory.runtime.paths import PREFIX

MARKER = ".mcp-memory/vault.toml"
"""The path of a vault's marker below its folder."""


class StateFolder:
    """The private files of one vault (mode 0700), and `home`, the folder that all vaults of this user share.

    It isn't a dataclass: importing that module would be a fifth of the time that `headers` takes."""

    def __init__(self, root: Path, models: Path) -> None:
        self.root = root
        self.models = models
        self.home = root.parents[1]
        self.lock = root / "daemon.lock"
        self.daemon = root / paths.DAEMON
        self.tokens = root / paths.TOKENS
        self.port = root / paths.PORT
        self.in_force = root / "in-force.json"
        self.index = root / "index"
        self.marker_copy = root / "vault.toml"
        self.log = root / "log" / "daemon.log"
        self.hooks = root / paths.HOOKS_LOG

    @classmethod
    def for_vault(cls, vault: Path, environ: Mapping[str, str]) -> Self:
        models = environ.get(PREFIX + "MODELS")
        root = Path(paths.state_folder(str(vault), environ))
        return cls(root, Path(paths.absolute(models) if models else f"{paths.state_home(environ)}/models"))

    def make(self) -> None:
        """Create the folder, private from the start.

        Raises ConfigInvalid for a folder that another user owns, StorageFailed if it can't be made."""
        from mcp_memory.runtime.private_files import make_private

        try:
            for folder in (self.home, self.root.parent, self.root):
                make_private(folder)
                owner = folder.stat().st_uid
                if owner != os.geteuid():
                    raise ConfigInvalid(
                        f"the state folder {folder} belongs to user {owner}",
                        hint=f"set {PREFIX}STATE to a folder of your own",
                    )
            if stat.S_IMODE(self.root.stat().st_mode) != 0o700:
                self.root.chmod(0o700)
            for folder in (self.root / "undo", self.root / "locks", self.index, self.log.parent):
                folder.mkdir(mode=0o700, exist_ok=True)
            if not os.access(self.root, os.W_OK):  # as in a sandbox, which lets everything be read
                raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        except OSError as error:
            raise StorageFailed(
                f"cannot use the state folder {self.root}: {error.strerror}",
                hint=f"set {PREFIX}STATE to a folder that you can write",
            ) from error


def was_served(vault: Path) -> bool:
    """Return whether the folder has the marker of a vault (importing `vault.marker` would take too long here)."""
    return (vault / MARKER).exists()
