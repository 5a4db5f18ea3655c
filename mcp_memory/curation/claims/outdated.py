"""Finds the statements that newer ones make untrue, as a whole or in part, and what is left of them. Pure."""

from collections import defaultdict
from collections.abc import Collection, Sequence, Set
from functools import lru_cache
from typing import NamedTuple

from mcp_memory.comparison.comparison import Comparison
from mcp_memory.comparison.other_value import NoteText
from mcp_memory.comparison.values import TITLES, rejections, values_in, words_of_change
from mcp_memory.curation.claims.claim import Evidence
from mcp_memory.curation.claims.subjects import Name, cues, find_mentions, shows
from mcp_memory.models import Conflict, NoteId
from mcp_memory.recall.note_list import date_of
from mcp_memory.text.language.denials import denies
from mcp_memory.text.language.terms import plain, words
from mcp_memory.text.language.word_lists import ENGLISH, stop_words

MOST_COMPARED = 50
"""The number of a name's newest statements that are compared with one another."""
LEAST_SHARE = 0.33
"""The smallest share of a clause's words that a newer statement repeats if it replaces the clause."""
_STATES = ("away", "wish", "role")
"""An absence that ends, a wish in place of which another is named, and a duty that another person takes over."""
_STEM = 5
"""The number of letters by which forms of a word are recognized."""


class Change(NamedTuple):
    """The `parts` of a statement that don't hold anymore, the newer statement, and the statement's subject."""

    parts: Sequence[str]
    newer: Evidence | None
    subject: str
    conflict: Conflict | None = None


def find_changes(stated: Sequence[Evidence], names: Sequence[Name], conflicts: Sequence[Conflict]) -> dict[int, Change]:
    """Return the changes of statements, by their `id()`. A newer note contradicts an older one, or says something else
    about the same name."""
    notes = defaultdict[NoteId, list[Evidence]](list)
    for one in stated:
        notes[one.note.id].append(one)
    found: dict[int, Change] = {}
    for known in conflicts:
        older, newer = notes[known.older], notes[known.newer]
        before = known.before.removesuffix(" …").strip() if known.is_certain else ""
        by = next(
            (one for one in newer if known.after and known.after in one.text.replace("`", "")), next(iter(newer), None)
        )
        for one in [one for one in older if before in one.text.replace("`", "")] or older:
            found[id(one)] = Change([before or one.text], by, one.note.title, known)
    named = _stems(" ".join(name.text for name in names))
    for name, places in find_mentions(names, [one.text for one in stated]):
        about = sorted((stated[place] for place in places), key=lambda one: date_of(one.note))[-MOST_COMPARED:]
        for newer in [one for note in dict.fromkeys(one.note.id for one in about) for one in notes[note]]:
            for older in about:
                is_other = len({older.note.project, newer.note.project} - {None}) > 1 or older.note.is_log
                if is_other or date_of(newer.note) <= date_of(older.note):
                    continue
                if parts := replaced_parts(older.text, newer.text, name, named):
                    known = found.get(id(older))
                    parts += known.parts if known and not known.conflict else ()
                    found[id(older)] = Change(parts, newer, name.text, known and known.conflict)
    return found


def replaced_parts(older: str, newer: str, name: Name, named: Set[str]) -> list[str]:
    """Return the clauses of the older statement that a newer one replaces, or everything if the thing is gone. `named`
    are the stems of all names."""
    newer = _about(name, newer)
    own = name.pattern.sub("¤", newer)
    if shows("gone", own):
        return [older]
    lost = (_stems(_lost(newer)) - _stems(name.text)) | values_in(_lost(newer))
    begins = name.begins(newer)
    signs = () if shows("added", newer) else _signs(newer) - _signs(older)
    known = _stems(newer) - named
    found, before = list[str](), ""
    for clause in _clauses(older):
        stems = _stems(clause) - named
        shared = len(stems & known)
        is_repeated = shared >= LEAST_SHARE * (len(stems) + 2 * before.endswith(","))
        is_denied = shared > 1 and any(denies(one) != denies(clause) for one in _clauses(newer) if stems & _stems(one))
        is_replaced = shared and is_repeated and (is_denied or (signs and not lost))
        if begins and shared and not is_replaced:
            has_number = shared > 1 and stems <= known and not values_in(clause) <= values_in(newer)
            is_newer = Comparison(NoteText(name.pattern.sub(" ", clause)), NoteText(own)).is_newer_state
            is_replaced = has_number or (is_newer and not lost and shared >= LEAST_SHARE * len(stems))
        is_over = any(shows(f"{state}_before", clause) and shows(f"{state}_now", own) for state in _STATES)
        is_lost = (begins or is_repeated) and lost & (_stems(clause) | values_in(clause))
        if not clause.endswith(":") and (is_replaced or is_over or is_lost):
            found.append(clause)
        before = clause
    return found


def _about(name: Name, text: str) -> str:
    """Return the clauses that contain a name, or all if the statement begins with it, rejects it or doesn't name
    it."""
    clauses = [one for one in _clauses(text) if name.pattern.search(one)]
    return text if not clauses or name.begins(text) or name.pattern.search(_lost(text)) else " ".join(clauses)


@lru_cache(4096)
def _signs(text: str) -> frozenset[str]:
    return frozenset(words_of_change(text)) | {found.lower() for found in cues()["changed"].findall(text)}


@lru_cache(4096)
def _lost(text: str) -> str:
    """Return the words for what is no longer so."""
    return " ".join(text[one.start : one.end] for one in rejections(text) if one.is_change)


@lru_cache(4096)
def _stems(text: str) -> frozenset[str]:
    """Return the beginnings of the words, except of those that name nothing or signal a change."""
    found = words(text)
    skipped = ENGLISH | TITLES | stop_words(found) | _signs(text)
    return frozenset(plain(word)[:_STEM].rstrip("0123456789") for word in found if word not in skipped) - {""}


def _clauses(text: str) -> list[str]:
    return cues()["between"].split(text)


def without_parts(text: str, parts: Collection[str], subject: str) -> str:
    """Return what a statement says besides the parts that were replaced: the clauses before them, and later sentences
    and clauses with a head of their own. Empty if that isn't enough."""
    rest, before = list[str](), ""
    for clause in _clauses(text):
        is_gone = any(part in clause or clause in part for part in parts)
        has_head = rest and not rest[-1].endswith(":")
        if not is_gone and (has_head or before[-1:] in ".!?:" or cues()["goes_on"].match(clause)):
            rest.append(clause)
        before = clause
    left = cues()["joint"].sub("", " ".join(rest).strip(" ,;:"))
    return left if set(words(left)) - {*words(subject)} - ENGLISH else ""
