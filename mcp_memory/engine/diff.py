"""What changed on disk since the index last looked. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mcp_memory.models import Etag, NotePath
from mcp_memory.storage.base import Listing

MASS_LOSS_SHARE, MASS_LOSS_FILES = 0.9, 50
"""At least this share of at least this many files gone at once is an accident until a person says otherwise."""


@dataclass(frozen=True, slots=True)
class Known:
    """What the index was made from."""

    signature: str
    etag: Etag


@dataclass(frozen=True, slots=True)
class Difference:
    """`suspect` is why `gone` must not be believed yet, or None."""

    to_read: tuple[NotePath, ...]
    gone: tuple[NotePath, ...]
    suspect: str | None = None


def difference(listing: Listing, known: Mapping[NotePath, Known]) -> Difference:
    """Files to read again, and files that are no more.

    A file is read when its signature is new, or when it is too young for its signature to prove anything.
    """
    to_read = [
        path
        for path, stat in listing.files.items()
        if not stat.settled or (was := known.get(path)) is None or was.signature != stat.signature
    ]
    unreadable = {problem.path for problem in listing.problems}
    gone = [path for path in known if path not in listing.files and not _below(path, unreadable)]
    return Difference(tuple(to_read), tuple(gone), _suspicion(listing, len(gone), len(known)))


def _suspicion(listing: Listing, gone: int, known: int) -> str | None:
    if not listing.complete:
        return "the vault or its marker is missing"
    if gone >= MASS_LOSS_FILES and gone >= MASS_LOSS_SHARE * known:
        return f"{gone} of {known} notes vanished at once"
    return None


def _below(path: str, unreadable: set[str]) -> bool:
    """A file below a folder that cannot be read now is not gone."""
    if not unreadable:
        return False
    parts = path.split("/")
    return any("/".join(parts[:n]) in unreadable for n in range(1, len(parts) + 1))
