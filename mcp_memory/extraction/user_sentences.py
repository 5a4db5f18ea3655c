"""Extracts from a user's message the sentences that are the user's own words.

A message also holds what its writer did not say: pasted logs, mails and pages, code, quotations, what a client adds,
and notes that memory put before the agent. All of it is left out, and in doubt more rather than less, since what counts
as the user's word is stored without review.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

MOST_CHARS = 4000
"""A longer message was hardly typed: nothing in it counts at once."""
MOST_READ_CHARS = 20_000
"""Nothing behind this is looked at: a page that was pasted, or a log."""
MOST_SENTENCE_CHARS = 600
MASK = "▪"
"""What stands for a quotation or code within a sentence: something that is no word."""


@dataclass(frozen=True, slots=True)
class UserSentence:
    """`text` is verbatim; `view` is as long, in small letters and with quotations and code masked. `is_asked`: it ends
    as a question. `may_be_pasted`: it stands behind what looks like the beginning of a page, so it may be another's."""

    text: str
    view: str
    is_asked: bool
    may_be_pasted: bool = False


def spoken(message: str, introduces: Callable[[str], bool]) -> list[UserSentence]:
    """In their order. `introduces` says of a line in small letters whether what follows it is somebody else's."""
    message = message[:MOST_READ_CHARS]
    if _MACHINE.match(message):
        return []
    kept = _without_foreign(message)
    view = _small(_QUOTED.sub(_masked, kept))
    pasted_from = _pasted_from(message, kept)
    found: list[UserSentence] = []
    for start, end in _sentences(view):
        seen = view[start:end]
        if introduces(seen):
            # What is quoted in the very sentence is masked already, what stands behind its colon is not said either.
            break
        said = kept[start:end]
        text, begins = said.strip(), len(said) - len(said.lstrip())
        if len(text) <= MOST_SENTENCE_CHARS and any(c.isalpha() for c in seen):
            is_asked = seen.rstrip(" \"'”’)*_").endswith("?")
            shown = seen[begins : begins + len(text)]  # by the text's bounds: a quotation may begin with blanks
            found.append(UserSentence(text, shown, is_asked, may_be_pasted=start >= pasted_from))
    return found


def _without_foreign(message: str) -> str:
    """As long as the message, blanks in place of what is pasted, quoted line by line, or a client's own."""
    mail = _MAIL.search(message)
    text = message if mail is None else message[: mail.start()] + _blanked_text(message[mail.start() :])
    for pattern in _FOREIGN:
        text = pattern.sub(_blanked, text)
    return text


def _pasted_from(message: str, kept: str) -> int:
    """Where in a message that may begin which the person did not type. What is known as another's does not count: it
    is left out anyway, and the person goes on behind it."""
    for opening in _OPENING.finditer(message):
        follows = opening.end()
        if not kept[opening.start()].isspace() and not kept[follows].isspace():
            return follows
    return len(message)


def _sentences(view: str) -> Iterator[tuple[int, int]]:
    for line in re.finditer(r"[^\n]+", view):
        marker = _MARKER.match(line[0])
        begin = line.start() + (marker.end() if marker else 0)
        for end in _END.finditer(view, begin, line.end()):
            yield begin, end.end()
            begin = end.end()
        if begin < line.end():
            yield begin, line.end()


def _small(text: str) -> str:
    """In small letters and as long; typographic apostrophes as in the tables of languages."""
    lower = "".join(small if len(small := c.lower()) == 1 else c for c in text)
    return lower.replace("'", "’").replace("‘", "’").replace("\u00a0", " ").replace("\u202f", " ")


def _masked(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", MASK, match[0])


def _blanked(match: re.Match[str]) -> str:
    return _blanked_text(match[0])


def _blanked_text(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


_MACHINE = re.compile(
    r"\s{0,50}(?:This session is being continued from a previous conversation|Caveat: The messages below|"
    r"\[Request interrupted|Base directory for this skill:)"
)
"""What Claude Code puts into a person's mouth."""

_OPENING = re.compile(
    r"[^\s.!…][*_\"'”’)]{0,4}[ \t]{0,20}\n[ \t]{0,20}\n\s*(?=\S)|[:?][*_\"'”’)]{0,4}[ \t]{0,20}\n\s*(?=\S)"
)
"""Something follows a line that ends with a colon or asks; or a paragraph one that ends as no sentence: a heading, or
`I fetched it and got`. Whoever types goes on like that as well, so what stands there waits for review."""

_FOREIGN = (
    re.compile(r"^[ \t]*(```+|~~~+)[^\n]*\n.*?(?:^[ \t]*\1[^\n]*$|\Z)", re.DOTALL | re.MULTILINE),
    re.compile(r"<<<([0-9a-f]{8})\n.*?(?:\1>>>|\Z)", re.DOTALL),  # memory, as recall quotes it
    re.compile(r"<([A-Za-z][\w.:-]*)(?:\s[^<>\n]*)?>.*?(?:</\1\s*>|\Z)", re.DOTALL),
    re.compile(r"\A.*(?<!`)</[A-Za-z][\w.:-]*\s{0,9}>(?!`)", re.DOTALL),  # an end is left: there was one tag in another
    re.compile(
        r"^[^\n]{1,60}[ \t]\[?[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?: ?[APap]\.?[Mm]\.?)?\]?[ \t]*\n.*",
        re.DOTALL | re.MULTILINE,
    ),  # a chat
    re.compile(r"^commit [0-9a-f]{6,40}\b.*", re.DOTALL | re.MULTILINE),
    re.compile(r"^[ \t]*>[^\n]*(?:\n(?!\s*\n)[^\n]+)*", re.MULTILINE),  # with its lazy continuation
    re.compile(r"^#{1,6} [^\n]*(?:\n(?!#{1,6} )[^\n]*\S[^\n]*)*", re.MULTILINE),
    re.compile(r"^(?:[^\W\d_][\w.-]*(?: [\w.-]+)?: [^\n]+\n){2,}(?:[^\W\d_][\w.-]*: [^\n]*)?", re.MULTILINE),  # a talk
    re.compile(r"^Traceback \(most recent call last\):[^\n]*(?:\n[^\n]+)*", re.MULTILINE),
    re.compile(r"^(?: {4}|\t)[^\n]*", re.MULTILINE),
    re.compile(r"^[^\n]*\|[^\n]*\|[^\n]*$", re.MULTILINE),
    re.compile(
        r"^[ \t]*(?:[$%] |>>> |@@ |diff --git |\[?[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:|\[?[0-9]{2}:[0-9]{2}:[0-9]{2}"
        r"|\[?(?:ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL|TRACE)\b|at [\w.$]+\(|File \")[^\n]*",
        re.MULTILINE,
    ),
)
_MAIL = re.compile(r"^(?:From|Subject|Von|Betreff|De|Objet|Asunto|Sent|Gesendet): ", re.MULTILINE)
_QUOTED = re.compile(
    r"`[^`\n]+`|\"[^\"]{1,2000}\"|“[^”]{1,2000}”|„[^“”\n]{1,400}[“”]|«[^»\n]{1,400}»|(?<!\w)'[^'\n]{2,400}'(?!\w)"
)
_MARKER = re.compile(r"\s*(?:[-*+•]\s+(?:\[[ xX]\]\s+)?|[0-9]{1,3}[.)]\s+)?")
_END = re.compile(r"(?<![.!?…])[.!?…]+[\"'”’)\]*_▪]*(?=\s)(?!\s+[a-z]{1,3}\.)")
