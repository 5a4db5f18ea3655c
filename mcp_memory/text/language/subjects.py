"""Determines the common subject of notes: the first of a note's tags, which agents choose like the name of a folder."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from mcp_memory.text.language.terms import content_words
from mcp_memory.text.language.word_lists import GENERIC_WORDS, LABELS

SHARED = 0.35
"""The minimum share of the notes with a subject for the subject to represent them all. Chosen on ten people's topics,
where most names above it and few below were acceptable (`tests/eval/topics`)."""

MOST_LEAD_WORDS = 6
"""A longer text before a colon is part of a sentence."""

_JOINTS = re.compile(r"[-_/]+")


def subject_of(tags: Sequence[str], project: str = "") -> str:
    """Return the first tag that names a subject, in plain words; empty without such a tag. The project's name and the
    kind of the note aren't subjects."""
    return next(iter(subjects_of(tags, project)), "")


def subjects_of(tags: Sequence[str], above: str = "") -> tuple[str, ...]:
    """Return the tags that name subjects, in plain words, broadest first. What is named `above` them, such as a
    project, and the kind of the note aren't subjects."""
    subjects = (" ".join(_JOINTS.sub(" ", tag).split()) for tag in tags)
    known = LABELS | GENERIC_WORDS | content_words(above)
    return tuple(one for one in subjects if any(not word.isdigit() for word in content_words(one) - known))


def lead_of(title: str) -> tuple[str, ...]:
    """Return the parts of the words before a title's colon: `Japan trip, food: no raw egg`."""
    lead, colon, _ = title.partition(": ")
    is_short = colon and len(lead.split()) <= MOST_LEAD_WORDS
    return tuple(part.strip() for part in lead.split(",")) if is_short else ()


def shared_subject(subjects: Sequence[str]) -> str:
    """Return the subject of most notes in its most frequent spelling; empty unless at least two notes and `SHARED` of
    them have it. `subjects` has an entry for each note, empty without a subject."""
    spelled = _most_named(subjects)
    if spelled.total() < max(2, SHARED * len(subjects)):
        return ""
    return max(spelled, key=lambda spelling: (spelled[spelling], spelling))


def is_outgrown(name: str, subjects: Sequence[str]) -> bool:
    """Return whether more than half of the notes have a common subject that `name` doesn't mention."""
    spelled = _most_named(subjects)
    return 2 * spelled.total() > len(subjects) and not content_words(" ".join(spelled)) & content_words(name)


def _most_named(subjects: Sequence[str]) -> Counter[str]:
    """Count the spellings of the most frequent subject."""
    spelled: defaultdict[frozenset[str], Counter[str]] = defaultdict(Counter)
    for subject in subjects:
        if words := content_words(subject):
            spelled[words][subject] += 1
    ranked = sorted(spelled, key=lambda words: (spelled[words].total(), sorted(words)))
    return spelled[ranked[-1]] if ranked else Counter()
