"""Separates a person's own words in a message from pasted text and from text that a program added.

A message may also contain logs, mails and pages, code, quotations, chats, additions of a client, and notes recalled
from memory. If in doubt, a part is treated as pasted, since typed words are stored as the person's own.
"""

import re

from mcp_memory.text.conversation.typed_words import typed_words
from mcp_memory.text.language.word_tables import either, read_table

_TABLE = read_table("mcp_memory.text.conversation", "own_words.toml")
_FOREIGN = [re.compile(either([one], _TABLE["parts"])) for one in _TABLE["foreign"]]
_HEADING, _HANDING, _QUOTED, _HANDS_OVER = (
    re.compile(either([one], _TABLE["parts"])) for one in _TABLE["openings"].values()
)
INLINE_CODE = re.compile(r"(?<!`)`[^`\n]+`(?!`)")
_HIDDEN = str.maketrans("</", "\0\1")
"""Hides what would begin a tag or a comment."""
MASK = "▪"
"""Replaces each character of a quotation or code within a sentence."""


def own_words(message: str) -> str:
    """Return the message at the same length, with spaces for everything except the person's own words. Lines end with
    LF."""
    if not typed_words(message).strip():
        return covered(message, " ")
    text = INLINE_CODE.sub(lambda code: code[0].translate(_HIDDEN), message)
    for pattern in _FOREIGN:
        text = pattern.sub(lambda foreign: covered(foreign[0], " "), text)
    return _without_handed_over(text.replace("\0", "<").replace("\1", "/"))


def pasted_words(message: str) -> str:
    """Return the words that aren't the person's own, with spaces for the others."""
    message = message.replace("\r\n", "\n").replace("\r", "\n")
    own = own_words(message)
    start = pasted_from(message, own)
    return "".join(c if at >= start or own[at].isspace() else " " for at, c in enumerate(message))


def masked(text: str) -> str:
    """Return the text in lower case at the same length, with quotations and code masked."""
    return lowered(_QUOTED.sub(lambda quoted: covered(quoted[0], MASK), text))


def lowered(text: str) -> str:
    """Return the text in lower case at the same length, with typographic apostrophes."""
    lower = "".join(small if len(small := c.lower()) == 1 else c for c in text)
    return lower.replace("'", "’").replace("‘", "’").replace("\u00a0", " ").replace("\u202f", " ")


def covered(text: str, cover: str) -> str:
    """Replace every character except line ends with `cover`."""
    return re.sub(r"[^\n]", cover, text)


def pasted_from(message: str, typed: str) -> int:
    """Return the place where pasted text may begin. Openings in text that `typed` masks as foreign are skipped, since
    the person continues after such text."""
    return min(_first(_HEADING, message, typed), handed_from(message, typed))


def handed_from(message: str, typed: str) -> int:
    """Return the place from which a message has text after a question, or text that it says comes from elsewhere."""
    return _first(_HANDING, message, typed)


def _first(openings: re.Pattern[str], message: str, typed: str) -> int:
    for opening in openings.finditer(message):
        if not typed[opening.start()].isspace() and not typed[opening.end()].isspace():
            return opening.end()
    return len(message)


def _without_handed_over(text: str) -> str:
    """Mask the text that a line above or below asks to explain, correct, translate or sum up: `explain this`."""
    view = lowered(text)
    for wish in _HANDS_OVER.finditer(view):
        above, below = text[: wish.start()], text[wish.end() :]
        if not below.strip():
            return covered(above, " ") + text[wish.start() :]
        if wish["colon"] or not (above.strip() or wish["opinion"]):  # text after a question may be a person's own
            return text[: wish.end()] + covered(below, " ")
    return text
