"""What changed on disk since the index last looked. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mcp_memory.models import Etag, NotePath
from mcp_memory.storage.base import Listing

MASS_LOSS_SHARE, MASS_LOSS_FILES = 0.9, 50
"""At least this share of at least this many files gone at once is an accident until a person says otherwise."""


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """What the index was made from."""

    signature: str
    etag: Etag


@dataclass(frozen=True, slots=True)
class DiskDiff:
    """`doubtful`: not listed, but something was odd at their place or above it, so somebody has to look."""

    to_read: tuple[NotePath, ...]
    gone: tuple[NotePath, ...]
    doubtful: tuple[NotePath, ...] = ()


def difference(listing: Listing, known: Mapping[NotePath, IndexedFile]) -> DiskDiff:
    """Files to read again, and files that are no more.

    A file is read when its signature is new, or when it is too young for its signature to prove anything. Of a root
    that could not be listed nothing is gone.
    """
    to_read = [
        path
        for path, stat in listing.files.items()
        if not stat.settled or (was := known.get(path)) is None or was.signature != stat.signature
    ]
    absent = [path for path in known if path not in listing.files and not path.startswith(tuple(listing.missing))]
    odd = {problem.path for problem in listing.problems}
    doubtful = [path for path in absent if odd and _below(path, odd)]
    gone = set(absent) - set(doubtful)
    return DiskDiff(tuple(to_read), tuple(path for path in absent if path in gone), tuple(doubtful))


def vanished(
    gone: Sequence[NotePath], known: Mapping[NotePath, IndexedFile], arrived: Iterable[Etag]
) -> list[NotePath]:
    """Those of the gone whose bytes have not come back under a new name; the others were moved. Each file that has
    `arrived` vouches for one; those that were there before for none."""
    left = Counter(arrived)
    lost: list[NotePath] = []
    for path in gone:
        if left[known[path].etag]:
            left[known[path].etag] -= 1
        else:
            lost.append(path)
    return lost


def suspicion(listing: Listing, gone: int, known: int, *, unaccepted: bool) -> str | None:
    """Why it must not be believed yet that so many of the known notes are gone, or None.

    `unaccepted`: a loss was suspected before, so what is still missing waits for a person, however little it is now.
    """
    if not listing.complete:
        return "the vault or its marker is missing"
    if gone and (unaccepted or (gone >= MASS_LOSS_FILES and gone >= MASS_LOSS_SHARE * known)):
        return f"{gone} of {known} notes vanished at once"
    return None


def _below(path: str, odd: set[str]) -> bool:
    """A file below a folder that cannot be read now need not be gone; `.` is a root itself."""
    parts = path.split("/")
    above = {"/".join(parts[:n]) for n in range(1, len(parts) + 1)}
    return not odd.isdisjoint({*above, ".", f"{parts[0]}/."})
