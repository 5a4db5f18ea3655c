"""Extracts from a user's message the sentences that are the user's own words.

A message also holds other text: pasted logs, mails and pages, code, quotations, what a client adds, and notes recalled
from memory. All of it is left out, and when in doubt more rather than less, since the user's words are stored without
review.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from mcp_memory.text.conversation.typed_words import typed_words

MAX_CHARS = 4000
"""A longer message was hardly typed: nothing in it is stored without review."""
MAX_READ_CHARS = 20_000
"""The rest is a pasted page or log."""
MAX_SENTENCE_CHARS = 600
MASK = "▪"
"""Replaces each character of a quotation or code within a sentence."""


@dataclass(frozen=True, slots=True)
class UserSentence:
    """`text` is verbatim; `view` is as long, in lower case, with quotations and code masked. `may_be_pasted`: it comes
    after what looks like the beginning of a page. `line`: of what is yours in the message, from 0."""

    text: str
    view: str
    is_question: bool
    may_be_pasted: bool = False
    line: int = 0


def user_sentences(message: str, introduces: Callable[[str], bool]) -> list[UserSentence]:
    """In order. `introduces` decides whether a line in lower case introduces someone else's words."""
    message = message[:MAX_READ_CHARS].replace("\r\n", "\n").replace("\r", "\n")
    if not typed_words(message).strip():
        return []
    kept = _without_foreign(message)
    view = _lower(_QUOTED.sub(lambda quoted: _covered(quoted[0], MASK), kept))
    pasted_from = _pasted_from(message, kept)
    found: list[UserSentence] = []
    above: int | None = None
    for start, end in _sentences(view):
        masked = view[start:end]
        if introduces(masked):
            # A quotation in this sentence is masked already; what follows its colon isn't the user's either.
            break
        sentence = kept[start:end]
        text, begin = sentence.strip(), len(sentence) - len(sentence.lstrip())
        if len(text) <= MAX_SENTENCE_CHARS and any(c.isalnum() for c in masked):
            is_question = masked.rstrip(" \"'”’)*_").endswith("?")
            text_view = masked[begin : begin + len(text)]  # by the text's bounds: a quotation may begin with spaces
            line = message.count("\n", 0, start + begin)
            above = line if above is None else above
            found.append(UserSentence(text, text_view, is_question, start >= pasted_from, line - above))
    return found


def _without_foreign(message: str) -> str:
    """The message at the same length, with spaces for what is pasted, quoted line by line, or a client's own."""
    mail = _MAIL.search(message)
    text = message if mail is None else message[: mail.start()] + _covered(message[mail.start() :], " ")
    for pattern in _FOREIGN:
        text = pattern.sub(lambda foreign: _covered(foreign[0], " "), text)
    return text


def _pasted_from(message: str, kept: str) -> int:
    """Where a part may begin that the user didn't type. What is known to be foreign doesn't count: it is left out
    anyway, and the user goes on after it."""
    for opening in _OPENING.finditer(message):
        if not kept[opening.start()].isspace() and not kept[opening.end()].isspace():
            return opening.end()
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


def _lower(text: str) -> str:
    """In lower case at the same length, with typographic apostrophes, as the language tables have them."""
    lower = "".join(small if len(small := c.lower()) == 1 else c for c in text)
    return lower.replace("'", "’").replace("‘", "’").replace("\u00a0", " ").replace("\u202f", " ")


def _covered(text: str, cover: str) -> str:
    return re.sub(r"[^\n]", cover, text)


_OPENING = re.compile(
    r"[^\s.!…][*_\"'”’)]{0,4}[ \t]{0,20}\n[ \t]{0,20}\n\s*(?=\S)|[:?][*_\"'”’)]{0,4}[ \t]{0,20}\n\s*(?=\S)|"
    r"(?i:\b(?:i paste|pasted|sent (?:me|us|this|it|out|round|over)|forwarded|dropped (?:this|it)|wrote back|"
    r"wrote (?:to )?(?:me|us)|"
    r"(?:this|the|an?) (?:\w+ )?(?:mail|e-?mail|letter|memo|log)|geschickt|geschrieben|"
    r"(?:die|der|diese|eine) \w*mail|envoyé|reçu|(?:ce|le|un) (?:courriel|mail)|mandó|mandaron|envió|enviaron|"
    r"llegó|(?:el|este|un) correo)\b)[^\n]{0,80}\n\s*(?=\S)|"
    r"(?i:\b(?:got (?:this|that|it) (?:in the|from)|here(?:[’']s|s| is) what|(?:look|found)[^\n]{0,20} what|"
    r"from (?:the|our|their|his|her) [^\n]{0,30}\b(?:mail|letter|brochure|docs|ticket|contract))\b)"
    r"[^\n]{0,80}(?<![.!])[ \t]{0,20}\n\s*(?=\S)"
)
"""Something follows a line that ends with a colon or a question mark, or says that something came from elsewhere, or a
paragraph follows one that doesn't end as a sentence: a heading, or `I fetched it and got`. People type like that too,
so the rest waits for review."""

_FOREIGN = (
    re.compile(r"^(?: {4}|\t)[^\n]*", re.MULTILINE),  # code, before what is covered looks like it
    re.compile(r"^[ \t]*(```+|~~~+)[^\n]*\n.*?(?:^[ \t]*\1[^\n]*$|\Z)", re.DOTALL | re.MULTILINE),
    re.compile(r"<<<([0-9a-f]{8})\n.*?(?:\1>>>|\Z)", re.DOTALL),  # notes, as recall quotes them
    re.compile(r"<([A-Za-z][\w.:-]*)(?:\s[^<>\n]*)?>.*?(?:</\1\s*>|\Z)", re.DOTALL),
    re.compile(r"\A.*(?<!`)</[A-Za-z][\w.:-]*\s{0,9}>(?!`)", re.DOTALL),  # a closing tag is left: tags were nested
    re.compile(
        r"^[^\n]{1,60}[ \t]\[?[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?: ?[APap]\.?[Mm]\.?)?\]?[ \t]*\n.*",
        re.DOTALL | re.MULTILINE,
    ),  # a chat
    re.compile(r"^commit [0-9a-f]{6,40}\b.*", re.DOTALL | re.MULTILINE),
    re.compile(r"^[ \t]*>[^\n]*(?:\n(?!\s*\n)[^\n]+)*", re.MULTILINE),  # with its lazy continuation
    re.compile(r"^#{1,6} [^\n]*(?:\n(?!#{1,6} )[^\n]*\S[^\n]*)*", re.MULTILINE),
    re.compile(
        r"^(?:[^\W\d_][\w.-]*(?: [\w.-]+)?: [^\n]+\n){2,}(?:[^\W\d_][\w.-]*: [^\n]*)?", re.MULTILINE
    ),  # a conversation
    re.compile(r"^Traceback \(most recent call last\):[^\n]*(?:\n[^\n]+)*", re.MULTILINE),
    re.compile(r"^[^\n]*\|[^\n]*\|[^\n]*$", re.MULTILINE),
    re.compile(r"^[^\n]*\{\s{0,9}\"[^\"\n]*\"\s{0,9}:[^\n]*$", re.MULTILINE),  # JSON
    re.compile(
        r"^[ \t]*(?:[$%] |>>> |@@ |diff --git |\[?[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:|\[?[0-9]{2}:[0-9]{2}:[0-9]{2}"
        r"|\[?(?:ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL|TRACE|DETAIL|HINT|NOTICE|CONTEXT)\b|at [\w.$]+\(|File \")[^\n]*",
        re.MULTILINE,
    ),
)
_MAIL = re.compile(r"^(?:From|Subject|Von|Betreff|De|Objet|Asunto|Sent|Gesendet): ", re.MULTILINE)
_QUOTED = re.compile(
    r"`[^`\n]+`|\"[^\"]{1,2000}\"|“[^”]{1,2000}”|„[^“”\n]{1,400}[“”]|«[^»\n]{1,400}»|(?<!\w)'[^'\n]{2,400}'(?!\w)"
)
_MARKER = re.compile(r"\s*(?:[-*+•]\s+(?:\[[ xX]\]\s+)?|[0-9]{1,3}[.)]\s+)?")
_END = re.compile(
    r"(?<!\b[^\W\d_])(?<!\b(?:dr|mr|ms|st|nr|vs|ca|sr))(?<!\b(?:mrs|mme|sra|ggf|bzw))(?<!\b(?:prof|incl|inkl|evtl))"
    r"(?<![.!?…])(?!\.\.|…)[.!?…]+[\"'”’)\]*_▪]*(?=\s)(?!\s+[a-z]{1,3}\.)"
    r"(?!(?<=\d\.)\s+(?:januar|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember)\b)"
)
"""Not after an abbreviation or a single letter, nor within a date: Prof. Li, z. B., 1. Mai. Some end nothing with
`...`, and go on."""
