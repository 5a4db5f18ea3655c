"""The project that an agent works on: the name of its git repository."""

from __future__ import annotations

import os
from pathlib import Path

MOST_CHARS = 100
"""Of a project's name, here as in every tool."""


def project_of(folder: str) -> str | None:
    """The name of the nearest folder upwards with a `.git` in it, as git itself looks; None where there is none, or
    none with a plain name. Asks no git: starting it would take as long as all else."""
    if "\0" in folder or not folder.startswith("/"):
        return None
    place = Path(folder)
    root = next((each for each in (place, *place.parents) if os.path.lexists(each / ".git")), None)
    name = root.name if root else ""
    return name if name.strip() and name.isprintable() and len(name) <= MOST_CHARS else None
