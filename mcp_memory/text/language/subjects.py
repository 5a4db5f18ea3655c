"""The subject that notes share: what agents put first among a note's tags, as they would name a folder for it."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from mcp_memory.text.language.terms import content_words
from mcp_memory.text.language.word_lists import GENERIC_WORDS, LABELS

SHARED = 0.35
"""The least share of the notes that name a subject which stands for all. Of ten people's topics, 37 of 52 names with
more were acceptable to them, and 3 of 29 with less (`tests/eval/topics`)."""

_JOINTS = re.compile(r"[-_/]+")


def subject_of(tags: Sequence[str], project: str = "") -> str:
    """The first tag that names one, in plain words; empty if none does. Its project's name is none, nor what sort of
    note it is."""
    subjects = (" ".join(_JOINTS.sub(" ", tag).split()) for tag in tags)
    known = LABELS | GENERIC_WORDS | content_words(project)
    return next((one for one in subjects if any(not w.isdigit() for w in content_words(one) - known)), "")


def shared_subject(subjects: Sequence[str]) -> str:
    """The subject of most notes, as most of them spell it; empty unless two and `SHARED` of them name it. `subjects`
    has one for each note, empty if it names none."""
    spelled = _most_named(subjects)
    if spelled.total() < max(2, SHARED * len(subjects)):
        return ""
    return max(spelled, key=lambda spelling: (spelled[spelling], spelling))


def is_outgrown(name: str, subjects: Sequence[str]) -> bool:
    """Whether more than half of the notes have one subject, and `name` says nothing of it."""
    spelled = _most_named(subjects)
    return 2 * spelled.total() > len(subjects) and not content_words(" ".join(spelled)) & content_words(name)


def _most_named(subjects: Sequence[str]) -> Counter[str]:
    """The spellings of the most frequent one."""
    spelled: defaultdict[frozenset[str], Counter[str]] = defaultdict(Counter)
    for subject in subjects:
        if words := content_words(subject):
            spelled[words][subject] += 1
    ranked = sorted(spelled, key=lambda words: (spelled[words].total(), sorted(words)))
    return spelled[ranked[-1]] if ranked else Counter()
