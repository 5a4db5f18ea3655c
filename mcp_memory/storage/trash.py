"""Find a file that a person threw away: in the trash of Obsidian or of the desktop."""

import os
from contextlib import suppress
from glob import escape
from pathlib import Path, PurePosixPath

from mcp_memory.models import Etag, NotePath, etag_of


def find_thrown_away(root: Path, path: NotePath, etag: Etag) -> bytes | None:
    """Return the bytes with this etag of a file that was in the vault at `root`; in a trash, its name may have got a
    number. None if no such bytes can be read."""
    name, parts = PurePosixPath(path), PurePosixPath(path).parts
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share")
    for trash in (root / ".trash", data / "Trash/files", Path.home() / ".Trash"):
        with suppress(OSError):
            inside = (trash.joinpath(*parts[number:]) for number in range(len(parts) - 1))
            for file in (*inside, *trash.glob(f"{escape(name.stem)}*{name.suffix}")):
                if file.is_file() and not file.is_symlink():
                    found = file.read_bytes()
                    if etag_of(found) == etag:
                        return found
    return None
