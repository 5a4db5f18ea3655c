"""Defines what can be asked about topics."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass


@dataclass(frozen=True, slots=True)
class CompactRequest:
    """Fresh notes to file under topics, or with `dry_run` what would be filed."""

    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class EditTopicRequest:
    """A change of a topic, given by its folder, id or title. `verb`: rename it to `name`; move or merge it `into`
    another topic, or move it to the top if that is empty; or split it: these `notes` (ids or paths), or without any all
    notes with the words of `name`, get a topic of that name."""

    verb: str
    topic: str
    _: KW_ONLY
    name: str = ""
    into: str = ""
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class TreeRequest:
    """The topics, down to `depth` levels; of one `topic`, what is below it and the one above. `dropped`: instead the
    facts that the page of this topic, or (empty) of each, doesn't tell."""

    depth: int | None = None
    topic: str | None = None
    dropped: str | None = None
