"""Finds the promises that you report as kept: `sent Petra the list`, `the contract went out, tick that off`."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from datetime import datetime, time, tzinfo
from functools import partial

from mcp_memory.capture.readers.message import Transcript, TranscriptMessage
from mcp_memory.comparison.values import CLAUSE, tokens
from mcp_memory.models import NoteRecord
from mcp_memory.statements.candidate import Candidate, Voice
from mcp_memory.statements.cues import has_cue
from mcp_memory.statements.user_sentences import UserSentence, user_sentences
from mcp_memory.text.conversation.own_words import lowered
from mcp_memory.text.dates.due import DueDate, due_from, find_due, future_days, in_english
from mcp_memory.text.language.sentences import sentences
from mcp_memory.text.language.terms import are_two, content_words, coverage
from mcp_memory.text.language.word_tables import read_cues
from mcp_memory.vault.ownership import PROMISED

SHARED, SHARED_SHARE, SHORTEST = 2, 0.5, 4
"""The minimum number of common words, and their minimum share of the sentence's own words, that link a report to a
promise. One word suffices if the sentence names nothing else, and asks to tick it off or names the same act. Only words
of four letters or more matter, or of three, `the DPA`, before an explicit request to tick it off."""
_PERSON = re.compile(
    r"\b(?:der|die|das|de[mns]|k?eine?[mnrs]?|[mds]eine?[mnrs]?|unsere?[mnrs]?|zu[mr]|[iv]m|am|bis|on|by|until) \w+"
    r"|(?<=\w )((?:(?:de|von|of) |d['’])?(?-i:[A-ZÀ-Þ])\w+(?:['’]s\b)?)",
    re.IGNORECASE,
)
"""Matches a name, perhaps with what makes it an owner. The first line matches days, and things in German."""
_DAYS = frozenset({"date", "month", "ordinal", "time", "weekday"})

_cues = partial(read_cues, "mcp_memory.extraction", "kept.toml")


def kept(messages: Transcript, promises: Sequence[NoteRecord], before: Transcript = ()) -> dict[str, list[NoteRecord]]:
    """Return the promises that you report as done, by the sentence that reports it. The sentence names the promise, is
    a plain yes to a question about it, or asks to tick off what the sentence or message before it names."""
    found: dict[str, list[NoteRecord]] = {}
    just_said: list[str] = []
    asked = ""
    for message in (*before, *messages):
        if message.is_assistants:
            just_said = [sentence.text for sentence in sentences(message.text)]
            asked = message.text.rpartition("?")[0].rpartition(".")[2]
        for sentence in user_sentences(message.text) if message.is_persons else ():
            older = [one for one in promises if _is_older(one, message)] if message in messages else []
            fitting = _fitting(sentence, asked, just_said, older)
            if fitting and all(_is_same_promise(one, fitting[0]) for one in fitting):  # else it isn't clear which
                found[sentence.text] = [one for one in older if _is_same_promise(one, fitting[0])]
            just_said = [sentence.text]
    return found


def find_moved(
    message: TranscriptMessage, promises: Sequence[NoteRecord], zone: tzinfo
) -> Iterator[tuple[UserSentence, NoteRecord, DueDate]]:
    """Yield the promises that a message moves to another day or time: `Marta moved the report to Monday`. Each
    sentence names a single promise, perhaps with the sentence before it."""
    cues, before = _cues(), ""
    at = message.at.astimezone(zone) if message.at and message.is_persons else None
    for sentence in user_sentences(message.text) if at else ():
        for clause in () if sentence.may_be_pasted or sentence.is_question else CLAUSE.split(sentence.view):
            target = cues["moves"].search(clause) and cues["target"].search(clause)
            plain = cues["moves"].sub(" ", clause)
            if not target or not at or cues["not_done"].search(plain) or has_cue(sentence.view, "hedge"):
                continue
            own = _long(content_words(cues["moves"].sub(" ", clause[: target.start(1)])))
            words = {*own, *(_long(content_words(before)) if cues["it"].search(clause) else ())}
            fitting = [one for one in promises if _is_older(one, message) and _is_within(words, own, one)]
            old = due_from(fitting[0].meta.get("due"), zone) if len(fitting) == 1 else None
            is_same_day = not any(future_days(in_english(target[1]), at))
            if old and (due := find_due(target[1], datetime.combine(old.day, time(), zone) if is_same_day else at)):
                yield sentence, fitting[0], due
        before = sentence.view


def is_restated(promise: NoteRecord, candidate: Candidate) -> bool:
    """Return whether a candidate is an older promise of the same author made again, and no further reminder."""
    words, at, is_agents = candidate.statement, candidate.at, promise.meta.get("voice") == PROMISED
    is_older = at is not None and (promise.created or at) < at and is_agents is (candidate.voice is Voice.PROMISED)
    return is_older and not _cues()["further"].search(lowered(words)) and is_same_duty(words, promise.title)


def is_same_duty(said: str, stored: str) -> bool:
    """Return whether a stored text has the duty that was said, still open, and nothing else but a day. Either text
    may lack the verb. In `send Anna Bob's contract`, each person has another part."""
    if "?" in stored or any(
        _cues()[name].search(_cues()["frame"].sub(" ", lowered(stored))) for name in ("done", "tick")
    ):
        return False
    words, others = _duty(said), _duty(stored)
    is_same = words ^ others <= _acts().keys() and not are_two(words, others) and len(words & others) >= SHARED
    return is_same and not are_swapped(said, stored)


def are_swapped(said: str, stored: str) -> bool:
    """Return whether two persons have changed places, or what was one's, `Bob's`, is the other's."""
    people, others = _PERSON.findall(said), _PERSON.findall(stored)
    common = {name for name in people if name.isalpha()}.intersection(others)
    order, other_order = ([name for name in some if name in common] for some in (people, others))
    return order != other_order or are_two({*filter(None, people)}, {*filter(None, others)})


def _duty(text: str) -> Set[str]:
    view = _cues()["frame"].sub(" ", lowered(text))
    for name, act in _acts().items():
        view = act.sub(f" {name} ", view)
    return {token.key for token in tokens(view) if token.type not in _DAYS}


def _is_same_promise(one: NoteRecord, other: NoteRecord) -> bool:
    """Return whether two promises have the same day, and the shorter promise adds nothing to the longer."""
    words, others = sorted((_duty(one.title), _duty(other.title)), key=len)
    is_within = all(_shared({word}, others) or _shared(others, {word}) for word in words) and len(words) >= SHARED
    return one.id == other.id or (is_within and str(one.meta.get("due"))[:10] == str(other.meta.get("due"))[:10])


def _is_older(promise: NoteRecord, message: TranscriptMessage) -> bool:
    return promise.created is None or message.at is None or message.at > promise.created


def _fitting(
    sentence: UserSentence, asked: str, just_said: Sequence[str], promises: Sequence[NoteRecord]
) -> list[NoteRecord]:
    view, cues = sentence.view, _cues()
    if cues["not_done"].search(view):
        return []
    if cues["tick"].search(view):
        named = _named(cues["tick"].sub(" ", view))
        about = [named] if named else [_named(said.lower(), least) for said in just_said for least in (SHORTEST, 3)]
        return _nearest(
            [
                one
                for one in promises
                if any(_is_within(words, words, one) or _says_only(words, one) for words in about)
            ],
            about,
        )
    if cues["plainly"].fullmatch(view.strip()):
        words = _long(content_words(asked))
        return [one for one in promises if _is_within(words, words, one)]
    view = cues["as_said"].sub(" ", view)
    if sentence.is_question or cues["others"].search(view) or cues["limit"].search(in_english(view)):
        return []
    if cues["moves"].search(view):  # a new day, unless it was promised to move something
        promises = [one for one in promises if cues["moves"].search(one.title.lower())]
    words = _long(content_words(sentence.text))
    found = [one for one in promises if cues["done"].search(view) and _is_within(words, words, one)]
    if found or not cues["own"].search(view):
        return found
    named = [one for one in promises if _says_only(_named(view), one)]
    return [one for one in named for act in _acts().values() if act.search(view) and act.search(one.title.lower())]


def _nearest(fitting: Sequence[NoteRecord], about: Sequence[Set[str]]) -> list[NoteRecord]:
    """Return the promises that share the most words with one of these texts."""
    shared = [max(len(words & content_words(one.title)) for words in about) for one in fitting]
    return [one for one, words in zip(fitting, shared, strict=True) if words == max(shared)]


def _named(view: str, least: int = SHORTEST) -> Set[str]:
    return _long(content_words(_cues()["aside"].sub(" ", view)), least)


def _long(words: Collection[str], least: int = SHORTEST) -> Set[str]:
    return {word for word in words if len(word) >= least}


def _is_within(words: Set[str], named: Set[str], promise: NoteRecord) -> bool:
    shared = _shared(words, content_words(promise.title))
    return len(shared) >= SHARED and coverage(named, shared) >= SHARED_SHARE


def _shared(words: Set[str], others: Set[str]) -> Set[str]:
    """Return the words that the others have, also as a beginning: `cert` of `certificate`."""
    return {word for word in words if word in others or (_long([word]) and any(one.startswith(word) for one in others))}


def _says_only(named: Set[str], promise: NoteRecord) -> bool:
    return set() < named <= content_words(promise.title)


def _acts() -> Mapping[str, re.Pattern[str]]:
    return {name: pattern for name, pattern in _cues().items() if name.startswith("act_")}
