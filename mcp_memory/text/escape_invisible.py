"""Makes stored text safe to show: escapes invisible and control characters, and quotes lines."""

import re
import unicodedata
from typing import Any, cast

QUOTED = ">"
"""The start of each quoted line without a mark of ours, so that no line of a note can be mistaken for ours."""

SOFT_HYPHEN = "\u00ad"
_PLAIN = re.compile("[\n\t -~\u00a0-\u02ff]*")
"""Matches texts without unusual characters, as most are, which need no closer look."""

_CODE = re.compile(r"\\u\{(0|[1-9A-F][0-9A-F]{0,4}|10[0-9A-F]{4})\}")
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\\\\\ud800-\udfff\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Matches control characters, backslash, lone surrogates (bytes that aren't UTF-8), line separators and bidirectional
overrides."""

_BLANK = re.compile("[\u115f\u1160\u2800\u3164\uffa0\ufe00-\ufe0e\U000e0100-\U000e01ef]")
"""Matches invisible letters, and variation selectors, which can encode invisible text."""


def visible(text: str) -> str:
    """Replace characters that hide or reorder text (controls, bidi marks, tags, zero-width) with codes, and CRLF with
    LF."""
    text = text.replace("\r\n", "\n")
    if _PLAIN.fullmatch(text):
        return text
    hidden = {ord(c): f"\\u{{{ord(c):X}}}" for c in set(text) if not _harmless(c)}
    return text.translate(hidden) if hidden else text


def visible_in(value: Any) -> Any:
    """Return a JSON value with all of its text made visible."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {visible(key): visible_in(item) for key, item in cast("dict[str, Any]", value).items()}
    return [visible_in(item) for item in cast("list[Any]", value)] if isinstance(value, (list, tuple)) else value


def named_again(name: str) -> str:
    """Return the stored form of an id or path that was shown."""
    return _CODE.sub(lambda code: c if visible(c := chr(int(code[1], 16))) == code[0] else code[0], name)


def in_line(text: str) -> str:
    """Return the visible text on one line."""
    return visible(" ".join(text.split()))


def in_quotes(text: str) -> str:
    """Return the visible text on one line, in quotation marks that the text cannot close."""
    return '"' + in_line(text).replace('"', "'") + '"'


def quoted(text: str) -> str:
    """Return the visible text with each line quoted."""
    return QUOTED + visible(text).replace("\n", f"\n{QUOTED}")


def _harmless(character: str) -> bool:
    if character in "\n\t\u200d\ufe0f":  # joiner and variation selector belong to emoji
        return True
    if character in "\u2028\u2029" or _BLANK.match(character):
        return False
    return unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Co"} or character == SOFT_HYPHEN


def printable(path: str) -> str:
    """Return the path as a line of valid Unicode, with the rest escaped."""
    return _UNPRINTABLE.sub(lambda found: ascii(found.group())[1:-1], path)
