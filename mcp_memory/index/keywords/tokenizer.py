"""Turn the words of notes and questions into the keys that the keyword searches count and look up.

A key is a 64-bit hash of a word's stem, so that postings need no dictionary. Among a million words two share a key with
a probability of 3e-8.

Besides its words, a text has further keys. Each pair of words joined without white space has one, which finds
`read_file`, `v1.2` and `a-b` as a whole. So has each hump of `retryBookingSync`, each abbreviation of a long hash, each
emoji, each name with signs (`C++`, `.NET`), and the name that the text begins with (`- Ada: …`).

Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese have no white space between words. A run of their characters
becomes its overlapping pairs, and single characters for questions of one character.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray
from Stemmer import Stemmer  # pyright: ignore[reportUnknownVariableType] -- has no types

from mcp_memory.text.language.identifiers import abbreviations, humps
from mcp_memory.text.language.terms import is_symbol, one_letter_away, plain, symbol_name, symbol_names

_UNSPACED = (
    "々〆〇ぁ-ゖゝ-ゟァ-ヺー-ヿㇰ-ㇿ㐀-䶿一-鿿가-힯豈-﫿\U00020000-\U0003ffff"  # Chinese, Japanese, Korean
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
)
_RUN = re.compile(f"[{_UNSPACED}]+")
_PIECES = re.compile(f"[{_UNSPACED}]+|[^\\W_{_UNSPACED}]+")
_PLAIN_PIECES = re.compile(r"[0-9a-z]+")


class _Stemmer(Protocol):
    def stemWord(self, word: str, /) -> str: ...


_stemmer = cast("_Stemmer", Stemmer("porter", 0))


def count(text: str) -> tuple[Counter[int], int]:
    """Count how often each key occurs, and the text's length in words (of unspaced scripts: characters)."""
    keys: Counter[int] = Counter()
    length = 0
    for together in plain(text).split():
        pieces = _pieces(together)
        for piece in pieces:
            if _is_run(piece):
                keys.update(_key(character) for character in piece)
                keys.update(map(_key, _pairs(piece)))
                length += len(piece)
            else:
                keys[_key(piece)] += 1
                keys.update(map(_key, abbreviations(piece)))
                length += 1
        if len(pieces) > 1:
            keys.update(_compounds(pieces))
    keys.update(map(_key, humps(text)))
    keys.update(map(_hashed, symbol_names(text)))
    return keys, length


def any_of(term: str) -> list[int]:
    """Return the keys of `term`. A matching chunk has at least one key; a chunk with the whole term has all keys. Empty
    for a term without letters and digits."""
    return list(dict.fromkeys(_wanted(term)))


def lead_key(name: str) -> int:
    """Return the key of texts that begin with this name and a colon."""
    return _hashed(f"{plain(name)}:")


@lru_cache(maxsize=256)
def keys_nearby(word: str) -> tuple[tuple[str, ...], NDArray[np.uint64]]:
    """Return the spellings one letter away from a word, and the key (n,) of each."""
    spellings = one_letter_away(word)
    keys = [_hashed(_stem(spelling)) for spelling in spellings]  # not by `_key`, whose cache they would flood
    return tuple(spellings), np.array(keys, dtype=np.uint64)


def bindable(text: str) -> str:
    """Return `text` as SQLite can store and compare it: lone surrogates become escapes."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def _wanted(term: str) -> Iterator[int]:
    if is_symbol(term):
        yield _hashed(symbol_name(term))
        return
    for together in plain(term).split():
        pieces = _pieces(together)
        words = [piece for piece in pieces if not _is_run(piece)]
        compounds = list(_compounds(pieces))
        yield from compounds or map(_key, words)
        yield from (_key(short) for word in words for short in abbreviations(word))
        for run in filter(_is_run, pieces):
            yield from map(_key, _pairs(run) if len(run) > 1 else run)


def _compounds(pieces: list[str]) -> Iterator[int]:
    """Yield a key for each two adjacent words."""
    for before, after in pairwise(pieces):
        if not _is_run(before) and not _is_run(after):
            yield _key(f"{_stem(before)}_{_stem(after)}")


@lru_cache(maxsize=32_768)
def _key(word: str) -> int:
    return _hashed(_stem(word))


def _hashed(stem: str) -> int:
    return int.from_bytes(blake2b(stem.encode(), digest_size=8).digest(), "little")


def _stem(word: str) -> str:
    """Return the stem of an English word, by Porter's algorithm (1980); other words stay."""
    return _stemmer.stemWord(word) if word.isascii() and word.isalpha() else word


def _pieces(together: str) -> list[str]:
    return (_PLAIN_PIECES if together.isascii() else _PIECES).findall(together)


def _is_run(piece: str) -> bool:
    return not piece.isascii() and _RUN.match(piece) is not None


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)]
