"""Finds what a person takes back or refuses: `forget the rule about deploy days`, `we use Redis after all`, `400 ms,
not 150`, `Marketing changed its mind, 15 minutes`."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import ceil
from typing import NamedTuple

from mcp_memory.comparison.other_value import NoteText
from mcp_memory.comparison.same_form import Contradiction
from mcp_memory.comparison.sentence import QUOTED, ParsedSentence, are_in_two_places, is_modified, parse_statement
from mcp_memory.comparison.values import MEASURED, SAME_UNITS, STEM, WITH_UNIT, Token, common_keys, tokens
from mcp_memory.extraction.replaced_notes import NOT_REVERSED, has_doubt, holds_for, is_plain
from mcp_memory.index.base import Index
from mcp_memory.indexing.stated_texts import LONG_AGO, Contrary, StatedText, StatedTexts
from mcp_memory.models import Filters, NoteId, PrivateMarks
from mcp_memory.recall.moments.note_mentions import activities_in, forbidden_activities
from mcp_memory.statements.candidate import Candidate, Reversal, make_title
from mcp_memory.statements.corrections import Refusal, find_refusal, values_in, with_value
from mcp_memory.statements.cues import AGREEMENT, CUE, has_cue, is_limited, is_task, patterns
from mcp_memory.statements.user_sentences import UserSentence
from mcp_memory.text.conversation.own_words import lowered
from mcp_memory.text.language.denials import denies
from mcp_memory.text.language.terms import fold

MOST_TITLES = 2_000
"""The most notes of a project whose titles are compared with a reversal."""
MOST_NAMED = 3
"""The most rules that one name may mean; a more general name means none of them."""
MOST_SENTENCES = 3
"""The most sentences of a note that one statement may take back as a whole."""
FORM = 0.6
"""The share of the longer word that two forms of a word have in common: `rounding`, `rounded`."""
MOST_OWN, LEAST_SHARED = 2, 2
"""The most words of a statement that the note lacks, and the fewest in common unless it names the old value."""
_AGAINST = re.compile(r"\b(?:against|gegen|contre|en contra)\b", re.IGNORECASE)
_ELISION = re.compile(r"\b(?:[cdjlmnst]|qu)['’]|['’](?:ve|ll|re|m|d|s)\b|-(?:moi|nous|les?|la)\b", re.IGNORECASE)
"""Matches what French and English join to a word: `n’envoie`, `I’ve`, `réponds-moi`."""
_UNIT_KEYS = frozenset(map(fold, SAME_UNITS))
_FOR = re.compile(
    r"\b(?:for|from|für|bei|pour|chez|para)(?: (?:the|all|our|de[nmr]|die|les?|la|los|las|el))? $", re.IGNORECASE
)
"""Matches what stands before the only thing that a statement is about."""
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


def find_reversed(
    candidate: Candidate, taken_back: NoteId | None, project: str | None, index: Index, texts: StatedTexts
) -> list[Contrary]:
    """Return the note that a statement takes back: the one that this session has just stored (`no, forget that`), or
    the one note of the project that stands out. It is `outright` if the person means this note and no other. If they
    name several rules, return these. Raises IndexUnavailable."""
    reverses, words = candidate.reverses, candidate.said or candidate.statement
    named = list[StatedText]()
    if taken_back:
        found = [stated for note in index.note_by_id(taken_back) for stated in texts.at(note.path)]
    elif reverses is None:
        return []
    else:
        lifts = reverses.lifts
        near = list(_near(candidate, "" if lifts else reverses.named or words, project, index, texts))
        named = found = [one for one in near if _is_lifted(one, lifts)] if lifts else _named(reverses.named, near)
        if len(found) != 1 and not lifts:
            found = [one for one in found or near if _is_reversed(one, reverses, words)]
    is_meant = len(found) == 1 and bool(taken_back or (reverses and (reverses.named or named)))
    if len(found) != 1:
        found = [one for one in named if _is_rule(one)]
    return [(one, Contradiction(one.note.title, None, is_meant)) for one in found if len(found) <= MOST_NAMED]


def confirms(sentence: UserSentence, note: str, proposal: str) -> bool:
    """Return whether a sentence says that a contested note stays true: `it stays at 18:00`, `18:00 it is`. It names
    something that the proposal lacks, and nothing that the note lacks."""
    view, keeps = sentence.view, patterns(AGREEMENT)["keeps"]
    is_unsure = sentence.is_question or sentence.may_be_pasted or has_cue(view, "hedge", "reported") or is_limited(view)
    if is_unsure or not keeps.search(view):
        return False
    said, old, new = map(_keys, (keeps.sub(" ", view), note, proposal))
    return said <= old and not said <= new


def _near(
    candidate: Candidate, words: str, project: str | None, index: Index, texts: StatedTexts
) -> Iterator[StatedText]:
    """Yield the earlier short notes of the project whose title has a form of a word; the index finds equal words
    only. Without words, yield all."""
    keys = _keys(words)
    earlier = Filters(project=project, kinds_out=NOT_REVERSED, foreign=False, until=candidate.at)
    for note in index.notes(earlier, MOST_TITLES):
        is_near = not words or any(_has_form(key, keys) for key in _keys(note.title))
        if is_near and (note.project == project or (note.kind == "preference" and note.project is None)):
            yield from (one for one in texts.at(note.path) if 0 < len(_sentences(one)) <= MOST_SENTENCES)


def _named(named: str, near: Iterable[StatedText]) -> list[StatedText]:
    """Return the notes with all words of a name, if possible those that begin with one. A unit names no thing, `deploy
    days`."""
    keys = {key for key in _keys(named) if key not in _UNIT_KEYS} or _keys(named)
    known = [(one, _keys(f"{one.note.title}\n{QUOTED.sub('', one.note.text)}")) for one in near if keys]
    fitting = [one for one, words in known if all(_has_form(key, words) for key in keys)]
    return [one for one in fitting if any(_has_form(old.lead, keys) for old in _sentences(one))] or fitting


def _is_rule(one: StatedText) -> bool:
    view = lowered(one.note.text)
    return has_cue(view, "norm") or is_limited(view) or denies(view)


def _is_lifted(one: StatedText, lifts: str) -> bool:
    """Return whether a statement forbids what is allowed again, or anything if that isn't named."""
    banned = forbidden_activities(one.note.text)
    return not banned.isdisjoint(activities_in(lifts) or banned)


def _has_form(key: str, others: Iterable[str]) -> bool:
    """Return whether a word, or another form of it, is among others."""
    lengths = [(other, max(STEM, ceil(FORM * max(len(key), len(other))))) for other in others]
    return any(key == other or (len(other) >= STEM and key[:length] == other[:length]) for other, length in lengths)


def _is_reversed(one: StatedText, reverses: Reversal, words: str) -> bool:
    """Return whether a statement takes back a sentence of a note. What it says about the past isn't a reversal."""
    now = patterns(CUE)["agreed"].sub(" ", reverses.now).strip()
    said = parse_statement(_ELISION.sub("", now), "")
    if not said or said[0].is_event or has_cue(said[0].text.lower(), "i_did"):
        return False
    is_named = bool(reverses.named)
    return any(_takes_back(said[0], old, _keys(words), is_named=is_named) for old in _sentences(one))


def _takes_back(new: ParsedSentence, old: ParsedSentence, said: set[str], *, is_named: bool) -> bool:
    """Return whether a sentence denies what another says, or the other way round, or has something else in place of
    one thing in it. What it says of another thing, or in addition, isn't a reversal. `is_named`: the person names what
    the other sentence is about."""
    if are_in_two_places(old, new):
        return False
    shared = common_keys(new.keys, old.keys)
    own = [token for token in new.tokens if token.key not in shared]
    is_denied = _denies(old) != _denies(new)
    if is_denied and (is_named or not own):
        return len(shared) >= (1 if is_named else LEAST_SHARED) and not is_task(new.text.lower())
    words = [token for token in own if token.type not in MEASURED]
    if not own or len(words) > MOST_OWN:
        return False
    gone = [token for token in old.tokens if not common_keys({token.key}, new.keys)]
    is_refused = any(token.key in said and (token.is_value or token.text[:1].isupper()) for token in gone)
    is_other = is_refused or (len(shared) >= LEAST_SHARED and bool(_kinds(gone) & _kinds(own)))
    return bool(shared) and is_other and not any(_FOR.search(new.text, 0, token.start) for token in words)


def _denies(sentence: ParsedSentence) -> bool:
    return denies(sentence.text) or _AGAINST.search(sentence.text) is not None


def _kinds(found: Sequence[Token]) -> set[tuple[str, str]]:
    return {(token.type, token.noun) for token in found if token.is_value}


def _sentences(one: StatedText) -> Sequence[ParsedSentence]:
    return parse_statement(_ELISION.sub("", one.note.text), one.note.title)


def _keys(text: str) -> set[str]:
    return {token.key for token in tokens(_ELISION.sub("", text))}


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
