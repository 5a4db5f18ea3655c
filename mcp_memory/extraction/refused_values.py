"""Finds the one note whose value a person refuses: `400 ms, not 150`, `Marketing changed its mind, 15 minutes`."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from mcp_memory.comparison.other_value import NoteText
from mcp_memory.comparison.same_form import Contradiction
from mcp_memory.comparison.sentence import QUOTED, is_modified, parse_statement
from mcp_memory.comparison.values import WITH_UNIT, tokens
from mcp_memory.extraction.replaced_notes import has_doubt, holds_for, is_plain
from mcp_memory.extraction.reversed_notes import MOST_SENTENCES, NOT_REVERSED, find_reversed
from mcp_memory.index.base import Index
from mcp_memory.indexing.stated_texts import LONG_AGO, Contrary, StatedText, StatedTexts
from mcp_memory.models import NoteId, PrivateMarks
from mcp_memory.statements.candidate import Candidate, make_title
from mcp_memory.statements.corrections import Refusal, find_refusal, values_in, with_value
from mcp_memory.statements.cues import AGREEMENT, patterns
from mcp_memory.text.conversation.own_words import lowered

MOST_NOTES = 200
"""The most passages with the refused value that are compared."""
SURE_WORDS = 2
"""The number of words of the sentence before the refusal in a note that is surely meant."""
_GOES_ON = re.compile(r"[,;(—–]|\b(?:because|since|except|unless|weil|denn|außer|parce|car|sauf|porque|salvo)\b", re.I)
"""Matches the beginning of a reason or exception, which may not be true of the new value."""


class _Meant(NamedTuple):
    """A note that states the refused value. `shared`: how many words of the sentence before the refusal it has;
    `renewed`: its text with the new value, empty if it says more about the old value."""

    stated: StatedText
    why: Contradiction
    is_named: bool
    shared: int
    renewed: str


def find_meant(
    candidate: Candidate, taken_back: NoteId | None, project: str | None, index: Index, texts: StatedTexts
) -> tuple[list[Contrary], Candidate]:
    """Return the notes that a statement takes back, or the note whose value it refuses; the candidate then has the
    note's statement with the new value. Raises IndexUnavailable."""
    found, refusal = find_reversed(candidate, taken_back, project, index, texts), find_refusal(candidate.said)
    context = candidate.reverses and candidate.reverses.context
    if found or refusal is None or context is None or has_doubt(candidate):
        return found, candidate
    near = list(_stating(candidate, refusal, context, project, texts))
    meant = [one for one in near if one.is_named] or near
    old, new = refusal
    has_unit = old is not None and bool({old.type, new.type} & WITH_UNIT or new.noun or old.noun)
    if len(meant) != 1 or not (meant[0].is_named or meant[0].shared >= (0 if has_unit else 1)):
        return [], candidate
    stated, why, is_named, shared, renewed = meant[0]
    is_sure = old is not None and renewed != "" and (is_named or shared >= SURE_WORDS)
    if renewed:
        title = make_title(renewed.partition("\n")[0])
        candidate = replace(candidate, text=f"{renewed}\n\n> {candidate.said}", title=title)
    return [(stated, why._replace(outright=is_sure))], candidate


def _stating(
    candidate: Candidate, refusal: Refusal, context: Sequence[str], project: str | None, texts: StatedTexts
) -> Iterator[_Meant]:
    """Yield the earlier short notes of the project that state the refused value of what the person may mean."""
    view, (old, new) = lowered(candidate.said), refusal
    for name in ("changed_mind", "wrong"):
        view = patterns(AGREEMENT)[name].sub(" ", view)
    said, own = replace(candidate, text=f"{view}.", said=view), _names(view)
    to = NoteText(old.text if old else view, project=project)
    for stated in texts.nearest(to, PrivateMarks(), MOST_NOTES):
        text = QUOTED.sub("", stated.note.text).strip()
        is_older = candidate.at is None or (stated.when or LONG_AGO) <= candidate.at
        is_fit = is_older and stated.note.kind not in NOT_REVERSED and project in {None, stated.note.project}
        for value in values_in(text) if is_fit and 0 < len(parse_statement(text, "")) <= MOST_SENTENCES else ():
            is_label = value.type == "number" and text.count(" ", 0, value.start) < 2  # `Sprint 14 ends on Friday`
            why = Contradiction(value.text, new.text)
            if is_label or not refusal.is_of(value):
                continue
            if holds_for(said, stated, why) and is_plain(said, stated, why):
                renewed = "" if _GOES_ON.search(text, value.end) else with_value(text, value, new)
                shared = _shared(context, text, value.key.split()[0])
                yield _Meant(stated, why, bool(own & _names(text)), shared, renewed)


def _shared(context: Sequence[str], text: str, number: str) -> int:
    """Return how many words of what was said before a note has; -1 if that is about another value, or about something
    else with the same value."""
    stated, names = parse_statement(text, ""), _names(text)
    with_number = [said for said in context if number in _numbers(said)]
    most = 0
    for said in with_number or context:
        is_other = any(is_modified(old, one) for one in parse_statement(said, "") for old in stated)
        most = max(most, 0 if is_other else len(_names(said) & names))
    return most or (-1 if any(map(_numbers, context)) else 0)


def _numbers(text: str) -> set[str]:
    return {one.key.split()[0] for one in values_in(text)}


def _names(text: str) -> set[str]:
    """Return the words that name a thing, without units."""
    found = tokens(text)
    return {token.key for token in found if token.type in {"word", "name", "identifier"}} - {one.noun for one in found}
