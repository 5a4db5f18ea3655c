"""Finds what a person takes back: `forget the rule about deploy days`, `we use Redis after all`."""

import re
from collections.abc import Iterable, Iterator, Sequence
from math import ceil

from mcp_memory.comparison.same_form import Contradiction
from mcp_memory.comparison.sentence import QUOTED, ParsedSentence, are_in_two_places, parse_statement
from mcp_memory.comparison.values import MEASURED, SAME_UNITS, STEM, Token, common_keys, tokens
from mcp_memory.index.base import Index
from mcp_memory.indexing.stated_texts import Contrary, StatedText, StatedTexts
from mcp_memory.models import Filters, NoteId
from mcp_memory.recall.moments.note_mentions import activities_in, forbidden_activities
from mcp_memory.statements.candidate import Candidate, Reversal
from mcp_memory.statements.cues import AGREEMENT, CUE, has_cue, is_limited, patterns
from mcp_memory.statements.self_contained import is_task
from mcp_memory.statements.user_sentences import UserSentence
from mcp_memory.text.conversation.own_words import lowered
from mcp_memory.text.language.denials import denies
from mcp_memory.text.language.terms import fold

MOST_TITLES = 2_000
"""The most notes of a project whose titles are compared with a reversal."""
NOT_REVERSED = frozenset({"log", "commitment"})
"""Kinds of notes with a history, or with reminders that nothing may silence."""
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
