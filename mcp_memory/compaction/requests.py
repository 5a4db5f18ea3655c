"""Defines what can be asked about topics."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass


@dataclass(frozen=True, slots=True)
class CompactRequest:
    """Fresh notes to file under topics, of one `topic` or all."""

    dry_run: bool = False
    topic: str | None = None


@dataclass(frozen=True, slots=True)
class EditTopicRequest:
    """A topic (`topic`: its folder, id or title). `verb`: rename it to `name`, move or merge it `into` another one, or
    split it: these `notes`, or those with the words of `name`, get a topic of that name."""

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
