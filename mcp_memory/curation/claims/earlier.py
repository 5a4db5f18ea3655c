"""Places the statements about a subject that newer ones may change below these. Pure."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from mcp_memory.comparison.other_value import NoteText
from mcp_memory.comparison.updates import Updates
from mcp_memory.curation.claims.claim import Claim, Evidence
from mcp_memory.curation.claims.subjects import Name, cues, shows
from mcp_memory.recall.note_list import date_of
from mcp_memory.text.language.terms import words
from mcp_memory.text.language.word_lists import ENGLISH

MOST_COMPARED = 50
"""The number of a name's newest claims that are compared with one another."""
_STATES = ("away", "barred", "wish", "role", "gone")
"""States that end: an absence, a ban, a wish that another one replaces, a duty that another person takes over, and
whatever was said of something that is gone. Their word tables are in `names.toml`."""


class Newer(NamedTuple):
    """A claim that may change these `parts` of an older one."""

    claim: Claim
    parts: Collection[str]


def find_newer(told: Sequence[Claim], name: Name) -> dict[int, Newer]:
    """Return the newer claims about a name that may change older ones, by the older one's `id()`. The claims are given
    latest first."""
    holding = [one for one in told if one.holds][MOST_COMPARED - 1 :: -1]
    times = [date_of(one.latest.note).isoformat() for one in holding]
    news = [name.pattern.sub("¤", _about(name, one.text)) for one in holding]
    updates = Updates(list(map(_note, news, holding)), times, is_about_one=True)
    found: dict[int, Newer] = {}
    for at, one in enumerate(holding[:-1]):
        changed: dict[str, int] = {}
        for part in _clauses(one.text):
            later = updates.find(at, _note(name.pattern.sub("¤", part), one))
            for state in _STATES if later is None else ():
                if shows(f"{state}_before", part):
                    ends = (new for new, text in enumerate(news) if shows(f"{state}_now", text))
                    later = next((new for new in ends if times[new] > times[at]), later)
            if later is not None and holding[later].project in {None, one.project}:
                changed[part] = later
        if changed:
            found[id(one)] = Newer(holding[max(changed.values())], changed)
    return found


def newest_first(told: Sequence[Claim], newer: Mapping[int, Newer], name: Name) -> list[Claim]:
    """Return the claims about a name, latest first, with the newer ones that may change them. A changed claim is among
    the `earlier` statements of the newer one; its other clauses remain a claim."""
    shown, earlier = {id(one): one for one in told}, defaultdict[int, list[Evidence]](list)
    for one in told:
        if id(one) in newer:
            newest, parts = newer[id(one)]
            while id(newest) in newer:
                newest = newer[id(newest)].claim
            shown.setdefault(id(newest), newest)
            earlier[id(newest)].append(one.latest)
            shown[id(one)] = replace(one, evidence=_without(one.evidence, parts, name))
    found = [replace(one, earlier=(*one.earlier, *earlier[at])) for at, one in shown.items()]
    return sorted((one for one in found if one.evidence), key=lambda one: date_of(one.latest.note), reverse=True)


def _about(name: Name, text: str) -> str:
    """Return the clauses that contain a name, or all if the statement begins with it or doesn't name it."""
    own = [one for one in _clauses(text) if name.pattern.search(one)]
    return text if not own or name.begins(text) else " ".join(own)


def _without(evidence: Sequence[Evidence], parts: Collection[str], name: Name) -> tuple[Evidence, ...]:
    """Return evidence without the parts of the first statement that were changed, and without clauses that need them.
    Return nothing if the rest says nothing about the name."""
    rest, is_gone = list[str](), False
    clauses = _clauses(evidence[0].text)
    for clause in clauses:
        is_gone = clause in parts or (is_gone and cues()["depends"].match(clause) is not None)
        rest += [] if is_gone else [clause]
    text = cues()["joint"].sub("", " ".join(rest).strip(" ,;:"))
    is_named = name.pattern.search(text)
    if not set(words(text)) - {*words(name.text)} - ENGLISH or not (is_named or name.pattern.search(clauses[0])):
        return ()
    return evidence[0]._replace(said=text, subject="" if is_named else name.text), *evidence[1:]


def _clauses(text: str) -> list[str]:
    return cues()["between"].split(text)


def _note(text: str, one: Claim) -> NoteText:
    return NoteText(text, kind="log" if one.latest.note.is_log else "fact")
