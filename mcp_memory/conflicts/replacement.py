"""Decides whether a statement that tells of a change replaces the older one that has most in common with it.

People rarely repeat the words of what they change ("Renamed the variable: PAY_SECRET", "pip is fine in this repo now"),
so that no value can be compared. What is told as a change and is closest to one older note of its project mostly
replaces it. Of a developer's week of 132 notes, by somebody else, 10 of 11 found so were right, and the detector
alone had found 2 of 26; in `tests/eval/contradictions` it adds 3 right pairs and no wrong one.
"""

from collections.abc import Callable

from mcp_memory.conflicts.change_words import REPLACED, WEAK, words_of_change
from mcp_memory.conflicts.detector import MIN_COVERED, Contradiction, NoteText, clipped, is_modified, numbers_differ
from mcp_memory.conflicts.sentence import parse_statement
from mcp_memory.conflicts.values import WITH_UNIT, common_keys
from mcp_memory.text.language.word_lists import function_words

STRONG, FAINT = 0.2, 0.3
"""The least share of their words, by weight, for words of change such as `moved`, and for one as weak as `now`."""
FEWEST_WORDS = 3
"""Short look-alikes have one or two in common: "Search answers within 300 ms", "Checkout now answers within 450 ms". A
name in code (`@zxing/browser`, `offline_scan`) is enough: of the week it finds 2 more, both right, and among 614 notes
and log entries of seven people none."""
MOST_CHARS = 500
SHORT_WORD = 2
SHORT_NAME = 4

LOG = "log"
_STATING = frozenset({"fact", "decision"})
"""Kinds of notes that replace one another; others only replace their own kind."""
_OF_ONE_TIME = frozenset({LOG, "fix", "lesson", "idea", "task"})
"""Kinds of notes that say what was, and stay true."""


def least_share(newer: NoteText) -> float | None:
    """What an older statement must have in common with it at least; None if it doesn't tell of a change."""
    if newer.kind in _OF_ONE_TIME - {LOG} or len(newer.text) > MOST_CHARS:
        return None
    signs = words_of_change(newer.text) - {"again"}
    return STRONG if signs - WEAK or REPLACED.search(newer.text) else FAINT if signs else None


def may_be_replaced(older: NoteText, newer: NoteText) -> bool:
    """Whether the older one says what holds in the same project, and the two aren't apart in what they are about."""
    if older.project != newer.project or len(older.text) > MOST_CHARS:
        return False
    if older.kind in _OF_ONE_TIME or (not {older.kind, newer.kind} - {LOG} <= _STATING and older.kind != newer.kind):
        return False
    before, after = parse_statement(older.text, older.title), parse_statement(newer.text, newer.title)
    places, others = (set[str]().union(*(sentence.environments for sentence in said)) for said in (before, after))
    if not before or not after or (places and others and not places & others):
        return False
    measured, news = ({t.type for one in said for t in one.tokens if t.type in WITH_UNIT} for said in (before, after))
    if measured & news and least_share(newer) == FAINT:
        return False  # the detector has compared these values
    return not any(
        is_modified(old, new) or numbers_differ(old, new) or _is_judged(old.keys, common_keys(old.keys, new.keys))
        for old in before
        for new in after
    )


def _is_judged(keys: frozenset[str], common: set[str]) -> bool:
    """Whether the two are alike enough for the detector to compare their values."""
    return len(keys) > SHORT_WORD and len(common) >= MIN_COVERED * len(keys)


def share(older: NoteText, newer: NoteText, weight: Callable[[str], float]) -> float:
    """0 to 1: the weight of the words that both have, of that of the words of the one that has less."""
    one, two = ({*note.terms} - function_words(note.terms) for note in (older, newer))
    both = one & two
    if sum(len(word) > SHORT_WORD for word in both) < FEWEST_WORDS and not _names(older) & _names(newer):
        return 0.0
    return sum(map(weight, both)) / (min(sum(map(weight, one)), sum(map(weight, two))) or 1.0)


def _names(note: NoteText) -> set[str]:
    """Names in code, of which two statements rarely have the same by chance."""
    found = (token for sentence in parse_statement(note.text, note.title) for token in sentence.tokens)
    return {token.key for token in found if token.type == "identifier" and len(token.key) > SHORT_NAME}


def replacement(older: NoteText) -> Contradiction:
    return Contradiction(clipped(parse_statement(older.text, older.title)[0].text), None, is_likely=True)
