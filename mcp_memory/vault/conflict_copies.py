"""Recognises the second versions of a file that sync clients and our own writes leave, by their names."""

from __future__ import annotations

import re

# What Dropbox and its kin, Syncthing and our own writes put into the name of a second version of a file.
CONFLICT_COPY = re.compile(
    r" \([^()]*(?:conflicted copy|conflict \d)[^()]*\)|\.sync-conflict-[0-9]+-[0-9]+(?:-[A-Z0-9]+)?"
    r"|[ _-]*conflicted copy[^./]*",
    re.IGNORECASE,
)


def original_of(path: str) -> str | None:
    """The path of the file whose second version this is, to judge by its name; None for any other file."""
    folder, slash, name = path.rpartition("/")
    plain = CONFLICT_COPY.sub("", name)
    return f"{folder}{slash}{plain}" if plain != name else None
