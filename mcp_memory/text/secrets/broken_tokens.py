"""Finds tokens that a space or a line end splits, as copies from terminals and mails do."""

import re
from collections.abc import Iterator

from mcp_memory.text.secrets.shapes import SecretShape, looks_drawn

_BREAK = r"(?:[ \t]{0,4}\r?\n[ \t>|]{0,8}|[ \t])"
_FIRST_PIECE = re.compile(r"[\w\-.+/=$:]{4,200}")
_NEXT_PIECES = re.compile(rf"(?:{_BREAK}[\w\-.+/=]{{1,200}}){{1,6}}")
_SPLIT = re.compile(_BREAK)
_NEXT_LINE = re.compile(r"[ \t]{0,4}\r?\n[ \t>|]{0,8}(?P<rest>[\w\-.+/=]{8,2000})(?![\w\-.+/=])")
_WORD = re.compile(r"[A-Z]?[a-z]*(?:[\-.][a-z]*)*|[A-Z]+")
_MOST_LINES = 60


def find_broken(form: SecretShape, text: str) -> Iterator[tuple[int, int]]:
    """Yield the tokens of a form that only match once their pieces are joined."""
    for prefix in form.hints:
        at = text.find(prefix)
        while at >= 0:
            first = _FIRST_PIECE.match(text, at)
            others = _NEXT_PIECES.match(text, first.end()) if first else None
            end = _end_of_broken(form, text[at : others.end()]) if others else 0
            if end:
                yield at + len(prefix), at + end
            at = text.find(prefix, at + max(end, len(prefix)))


def _end_of_broken(form: SecretShape, pieces: str) -> int:
    """Return where the token ends in its pieces, or 0 if they aren't a token."""
    joined, at = "", 0
    for gap in [*_SPLIT.finditer(pieces), None]:
        piece = pieces[at : gap.start()] if gap else pieces[at:]
        if at and _WORD.fullmatch(piece):
            return 0
        joined += piece
        match = form.pattern.match(joined)
        if match and not at:
            return 0  # whole without the others
        if match and match.end() == len(joined) and form.is_real(match["secret"]):
            return at + len(piece)
        if not gap:
            return 0
        at = gap.end()
    return 0


def with_next_lines(text: str, end: int) -> int:
    """Return the end of a token that goes on in the next lines, each of which is a random run of characters."""
    for _ in range(_MOST_LINES):
        line = _NEXT_LINE.match(text, end)
        if not line or not looks_drawn(line["rest"]):
            break
        end = line.end()
    return end
