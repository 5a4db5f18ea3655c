"""Who may change a note: decided by its place and by the ledger, never by what the file says of itself."""

from __future__ import annotations

from enum import StrEnum

from mcp_memory.errors import Refused
from mcp_memory.topics.page import is_page
from mcp_memory.vault.note_file import ALWAYS_LOAD, Layout


class OwnershipTier(StrEnum):
    """Rising autonomy."""

    SOURCE = "source"
    PERSONAL = "personal"
    CURATED = "curated"
    AGENT = "agent"


def tier_of(path: str, *, layout: Layout, vouched: bool) -> OwnershipTier:
    """`vouched`: the ledger knows the note."""
    if path.startswith("@"):
        return OwnershipTier.SOURCE
    inner = layout.below_home(path)
    if path == "MEMORY.md" or path.startswith(("memory/", f"{layout.log_folder}/")):
        return OwnershipTier.CURATED
    if inner is None:
        return OwnershipTier.PERSONAL
    if inner.startswith(f"{ALWAYS_LOAD}/"):
        return OwnershipTier.CURATED
    return OwnershipTier.AGENT if vouched else OwnershipTier.PERSONAL


def may_retire(path: str, tier: OwnershipTier, *, layout: Layout, by_person: bool = False) -> None:
    """Raises Refused with the reason where a tool may not forget or supersede this note; a person may do so with their
    own notes, and with what is always loaded."""
    inner = layout.below_home(path) or ""
    if tier is OwnershipTier.SOURCE:
        raise Refused(f"{path} belongs to a read-only source", hint="change it where it comes from")
    if tier is OwnershipTier.PERSONAL and not by_person:
        raise Refused(
            f"{path} is a personal note: this installation did not write it",
            hint="a person can edit the file, or forget it at the command line"
            + (f", or hand it over: mcp-memory adopt {path}" if layout.below_home(path) is not None else ""),
        )
    if inner.startswith(f"{ALWAYS_LOAD}/") and not by_person:
        raise Refused(f"{path} is always loaded; only a person changes it", hint="edit or move the file by hand")
    if is_page(inner):
        raise Refused(f"{path} is made from other notes", hint="forget those; the next compaction makes the page anew")
    if path == "MEMORY.md":
        raise Refused("MEMORY.md is curated by a person", hint="edit the file by hand")
