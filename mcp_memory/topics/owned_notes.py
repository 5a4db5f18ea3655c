"""Finds the project or large subject that a note of the topics belongs to. Pure."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from mcp_memory.text.language.terms import content_words
from mcp_memory.topics.config import TopicsConfig
from mcp_memory.topics.page import FRESH, age_key

OF_MOST = 0.6
"""The share of an owner's notes whose common subject says no more than the owner's name."""


SUBJECT = "#"
"""Begins the owner of a subject's notes, which no project's name does."""


@lru_cache(maxsize=4096)
def key_of(subject: str) -> str:
    """Return the subject's words in a fixed order, so that spellings of a subject are equal."""
    return " ".join(sorted(content_words(subject)))


@dataclass(frozen=True)
class PlanNote:
    """A note to plan. `place` is its path below the folder of all topics. A note elsewhere gets a name in the folder of
    the topic that links to it, else in `_fresh`. Notes are planned in the order of `day`, then of their places."""

    place: str
    day: str = ""
    project: str = ""
    is_fixed: bool = False
    """Whether the note is yours, so that it stays in place."""
    subjects: tuple[str, ...] = ()
    """The subjects named by its tags and title, broadest first."""
    words: frozenset[str] = frozenset()
    """The folded words of its title and tags."""
    said: frozenset[str] = frozenset()
    """The folded words of its text, if it names no subject."""

    @property
    def subject(self) -> str:
        return next(iter(self.subjects), "")

    @property
    def subject_key(self) -> str:
        return key_of(self.subject)

    @property
    def folder(self) -> str:
        return self.place.rpartition("/")[0]

    @property
    def sort_key(self) -> tuple[str, tuple[str, int, str]]:
        return self.day, age_key(self.place)


def find_owners(notes: Sequence[PlanNote], config: TopicsConfig) -> tuple[list[PlanNote], list[str]]:
    """Return the notes without subjects that own them, and the owner of each note: the project or large subject whose
    single topic it belongs to; empty without any. A subject owns its notes, as a project does, once it has more of them
    than fit in a topic, or half of that and two subjects below."""
    below: dict[str, Counter[str]] = defaultdict(Counter)
    for note in notes:
        if not note.project and note.subject_key:
            below[note.subject_key][key_of("".join(note.subjects[1:2]))] += 1

    def is_large(counts: Counter[str]) -> bool:
        divides = sum(count >= config.min_leaves for key, count in counts.items() if key) > 1
        return counts.total() > config.max_leaves // (2 if divides else 1)

    large = {key for key, counts in below.items() if is_large(counts)}

    owners = [note.project or (f"{SUBJECT}{note.subject_key}" if note.subject_key in large else "") for note in notes]
    first: dict[str, Counter[str]] = defaultdict(Counter)
    for note, owner in zip(notes, owners, strict=True):
        first[owner][note.subject_key] += 1
    # the subjects that most notes of an owner name first don't tell its notes apart
    shared = {
        owner: {key for key, count in keys.items() if key and count > OF_MOST * keys.total()}
        for owner, keys in first.items()
    }
    found: list[PlanNote] = []
    for note, owner in zip(notes, owners, strict=True):
        narrower = tuple(subject for subject in note.subjects if not owner or key_of(subject) not in shared[owner])
        found.append(note if narrower == note.subjects else replace(note, subjects=narrower))
    return found, owners


def by_owner(notes: Sequence[PlanNote], owners: Sequence[str]) -> dict[str, list[int]]:
    """Return the rows of each owner. Everything below a top-level topic belongs to the owner of its notes, or to the
    subject that most of them have; to none if there are several."""
    tops = [note.folder.partition("/")[0] for note in notes]
    below: dict[str, Counter[str]] = defaultdict(Counter)
    for owner, top in zip(owners, tops, strict=True):
        below[top][owner] += 1
    found: dict[str, list[int]] = defaultdict(list)
    for row, (owner, top) in enumerate(zip(owners, tops, strict=True)):
        found[owner if top == FRESH else _most_owning(below[top])].append(row)
    return found


def _most_owning(owners: Counter[str]) -> str:
    owner, count = owners.most_common(1)[0]
    has_projects = any(other and not other.startswith(SUBJECT) for other in owners)
    return owner if len(owners) == 1 or (not has_projects and 2 * count > owners.total()) else ""
