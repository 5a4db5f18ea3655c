"""Words of notes and questions in the form that the full-text tables hold.

The tables' tokenizer takes an unbroken run of Chinese, Japanese or Korean characters for one word, so a run is cut
here into overlapping pairs, followed by its last character alone: `ABCD` is indexed as `AB BC CD D`. A question's run
becomes the same pairs, any of which may match; one single character matches every pair that starts with it. Scripts
that use no spaces otherwise (Thai, Khmer, Lao) are found by the beginning of a run only.
"""

from __future__ import annotations

import re
from unicodedata import normalize

_CJK = "々〆〇ぁ-ゖゝ-ゟァ-ヺー-ヿㇰ-ㇿ㐀-䶿一-鿿가-힯豈-﫿\U00020000-\U0003ffff"
_RUN = re.compile(f"[{_CJK}]+")
_PIECES = re.compile(f"[{_CJK}]+|[^{_CJK}]+")


def searchable(text: str) -> str:
    """The form of `text` that is indexed; the same text always gives the same form, which deleting relies on."""
    return _RUN.sub(lambda run: f" {' '.join(_pairs(run[0]))} ", _plain(text))


def any_of(term: str) -> list[str]:
    """The FTS5 phrases of which a chunk must hold one to match `term`; none for a term without letter or digit.

    Whatever stands in the term is quoted: it cannot become syntax.
    """
    phrases: list[str] = []
    for piece in _PIECES.findall(_plain(term)):
        if not _RUN.fullmatch(piece):
            phrases += [_quoted(piece)] if _has_token(piece) else []
        elif len(piece) == 1:
            phrases.append(f"{_quoted(piece)} *")
        else:
            phrases += [_quoted(pair) for pair in _pairs(piece)[:-1]]
    return list(dict.fromkeys(phrases))


def exactly(term: str) -> str | None:
    """The one FTS5 phrase that stands for the whole of `term`, or None for a term without letter or digit."""
    pieces: list[str] = _PIECES.findall(_plain(term).strip())
    if not any(_has_token(piece) for piece in pieces):
        return None
    *before, last = pieces
    if not _RUN.fullmatch(last):
        return _quoted(searchable(term))
    tail = _pairs(last)[:-1] or [last]
    phrase = _quoted(" ".join([searchable("".join(before)), *tail]))
    return f"{phrase} *" if len(last) == 1 else phrase


def bindable(text: str) -> str:
    """`text` as SQLite can store and compare it: lone surrogates, which have no UTF-8, become escapes."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def _plain(text: str) -> str:
    """One spelling for what looks alike (full-width letters, composed accents), without NUL and surrogates."""
    if not text.isascii():
        text = normalize("NFKC", text.encode("utf-8", "replace").decode("utf-8"))
    return text.replace("\0", " ")


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run))]


def _has_token(piece: str) -> bool:
    return any(character.isalnum() for character in piece)


def _quoted(piece: str) -> str:
    return '"' + piece.replace('"', '""') + '"'
