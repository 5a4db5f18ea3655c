"""Recognizes requests not to keep something: `off the record`, `das bleibt unter uns`, `<private>…</private>`.

The requests may be in English, German, French and Spanish; `off_record.toml` has the phrases. If in doubt, a request is
assumed, since text that was kept against somebody's will can't be unread. A sentence about a program (`don't save this:
write to temp instead`) is not a request.
"""

import re
from enum import Flag, auto
from functools import cache, lru_cache

from mcp_memory.text.conversation.own_words import masked, own_words
from mcp_memory.text.language.terms import content_words
from mcp_memory.text.language.word_tables import either, read_table


class OffRecord(Flag):
    """The parts of a session that a message asks not to keep."""

    NOTHING = 0
    THIS = auto()
    """The message, and everything until the person's next message."""
    NEXT = auto()
    """The person's next message, too."""
    BEFORE = auto()
    """The person's message before it, and everything after that message."""
    ALL = auto()
    """The messages before the request; if it names a thing, the turns that mention it."""
    SESSION = auto()
    """The messages from here on, until the person revokes the request."""


def off_record(message: str) -> OffRecord:
    """Return the request in a person's message. Pasted and quoted text contains none."""
    sentences = _sentences(own_words(message.replace("\r", "\n")))
    wishes = [sentence for sentence in sentences if _is_wish(sentence)]
    if not wishes:
        return OffRecord.NOTHING
    said, asked = " ".join(wishes), " ".join(match[0] for match in map(_patterns()["wish"].search, wishes) if match)
    others = [_patterns()["wish"].sub(" ", sentence) for sentence in sentences]
    is_announced = _has("announced", said)
    announces = is_announced or _has("coming", said)
    is_all = _is_little(others)
    speaks_of_that = _has("that", asked) and _is_little(others[: sentences.index(wishes[0])])
    found = OffRecord.THIS
    if any(_speaks_of_session(clause) for sentence in wishes for clause in _CLAUSE.findall(sentence)):
        found |= OffRecord.SESSION
    if _has("all_before", said):
        found |= OffRecord.BEFORE
        # `what I said about it` names nothing: it is the message before
        if words_taken_back(message) or not _has("of_a_thing", said):
            found |= OffRecord.ALL
    if (_has("said_before", said) and not is_announced) or ((speaks_of_that or is_all) and not announces):
        found |= OffRecord.BEFORE
    is_unclear = is_all and not speaks_of_that and not _has("of_a_thing", said)
    follows = is_unclear or is_announced or (announces and (is_all or said.endswith("?")))
    if follows and not _has("said_at_once", masked(own_words(message))):
        found |= OffRecord.NEXT
    return found


def words_taken_back(message: str) -> frozenset[str]:
    """Return the content words that name the thing of `forget what I said about …`."""
    sentences = _sentences(own_words(message.replace("\r", "\n")))
    rests = (_patterns()["of_a_thing"].split(sentence)[-1] for sentence in sentences if _has("of_a_thing", sentence))
    names = (_patterns()["after_a_thing"].split(_patterns()["polite"].sub(" ", rest))[0] for rest in rests)
    return frozenset(word for name in names for word in content_words(name))


def says_off_record(text: str) -> bool:
    """Return whether a sentence of a note asks that it not be kept."""
    return any(map(_is_wish, _sentences(text)))


def on_record_again(message: str) -> bool:
    """Return whether a person ends the off-the-record part of a session."""
    return _has("on_again", masked(own_words(message)))


def without_private(text: str, mark: str = "") -> str:
    """Remove the text between `<private>` and `</private>`, also `<privat>`, `<privé>` and `<privado>`, or up to the
    end. `mark` replaces it."""
    kept: list[str] = []
    depth = at = 0
    for tag in _TAG.finditer(text):
        if not depth and not tag[1]:
            kept.append(text[at : tag.start()])
        elif not depth:  # only the closing tag remains
            kept = [""]
        depth = max(0, depth - 1) if tag[1] else depth + 1
        at = tag.end()
    return mark.join([*kept, "" if depth else text[at:]])


def open_sentences(text: str) -> str:
    """Remove the sentences that contain something between `<private>` and `</private>`: their rest means little."""
    if not _TAG.search(text):
        return text
    return "".join(part for part in _WHOLE_SENTENCE.findall(without_private(text, _CUT)) if _CUT not in part)


_FEW = 2
"""The number of content words beside a request from which it concerns its own message; with fewer, it concerns another
message."""

_TAG = re.compile(r"(?<!`)<(/?)(?:private?|privée?|privad[oa])(?:\s[^<>]{0,80})?>", re.IGNORECASE)
_CUT = "\0"
_WHOLE_SENTENCE = re.compile(r"(?:[^\n.!?…]|[.!?…](?![.!?…\s]|$))+[.!?…]*|[\n.!?…]")
_SENTENCE = re.compile(r"[^\r\n.!?…]+[.!?…]{0,3}")
_CLAUSE = re.compile(r"(?=((?:^|[,;:(–—])[^,;:(–—]+[,;:(–—]?))")


def _sentences(text: str) -> list[str]:
    """Return the sentences; one that combines a request with something else, by its clauses without openings."""
    found: list[str] = []
    for sentence in _SENTENCE.findall(masked(text)):
        parts = list[str]()
        if _has("hint", sentence) and not _is_wish(sentence) and not _has("alternative", sentence):
            clauses = _CLAUSE.findall(_patterns()["joint"].sub(",", sentence))
            parts = [_patterns()["opening"].sub(r"\1", clause) for clause in clauses]
        found += parts if any(map(_is_wish, parts)) else [sentence]
    return found


@lru_cache(512)
def _is_wish(sentence: str) -> bool:
    is_wish = _has("hint", sentence) and _has("wish", sentence)
    return is_wish and not _has("of_a_program", sentence) and not _has("alternative", sentence)


def _speaks_of_session(clause: str) -> bool:
    """Return whether a clause of a request extends it: `between us, we use X from now on` doesn't."""
    is_alone = _is_little([_patterns()["session"].sub(" ", clause)])
    return _has("session", clause) and (is_alone or _has("wish", clause))


def _is_little(sentences: list[str]) -> bool:
    return sum(len(content_words(_patterns()["polite"].sub(" ", sentence))) for sentence in sentences) < _FEW


def _has(name: str, view: str) -> bool:
    return _patterns()[name].search(view) is not None


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    table = read_table("mcp_memory.text.conversation", "off_record.toml")
    wishes = table["wishes"]
    wishes["wish"] = [pattern for language in ("en", "de", "fr", "es") for pattern in wishes.pop(language)]
    return {name: re.compile(either(patterns, table["parts"])) for name, patterns in wishes.items()}
