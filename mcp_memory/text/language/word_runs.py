"""Finds runs of words without punctuation or function words between them, as candidates for phrases."""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple
from unicodedata import category

_MARKS = "*_`\"'“”‘’«»„()[]{}<>.,;:!?…#|—–-/\\。、，；：！？（）「」『』【】《》"
_OPENING, _CLOSING = '([{"“„«', '.,;:!?…)]}—"”»'
_SENTENCE_END = ".:!?…|"
_LINK = re.compile(r"!?\[([^\[\]\n]{0,300})\]\([^()\n]{0,1000}\)")
_NOISE = re.compile(r"\{[^{}\n]{0,300}\}|<[^<>\n]{1,300}>|https?://\S{1,1000}")
_MAX_CHARS = 40
"""The longest word; in a script without spaces, a longer string is a sentence."""

_UNSPACED = re.compile(r"[\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
_PARTICLES = (
    "的了是在和我你个個这這那有不也都与與或会會要将將把为為以对對从從到被由并"
    "並可能及等他她它们們一上下里裡就还還很让讓使时時"
)
_STRETCH = re.compile(
    rf"(?:(?![{_PARTICLES}])[\u3005\u3400-\u4dbf\u4e00-\u9fff])+|[\u30a0-\u30ff]+|[^\W\u3005\u3040-\u9fff]+"
)
"""Matches, in Chinese and Japanese, ideographs between the commonest particles, katakana, and foreign words; hiragana
is grammar."""


class WordRun(NamedTuple):
    """A run. `words` are spelled as written. `before` and `after` are the adjacent function words in lower case, or
    empty. `opens`: the run begins a sentence, so that its capital means nothing."""

    words: tuple[str, ...]
    before: str = ""
    after: str = ""
    opens: bool = False


def is_unspaced(text: str) -> bool:
    """Return whether the text contains Chinese or Japanese."""
    return bool(_UNSPACED.search(text))


def runs(text: str, is_empty: Callable[[str], bool]) -> Iterator[WordRun]:
    """Yield the runs in a line of plain text or Markdown. `is_empty` decides whether a lower-case word names
    nothing."""
    words: list[str] = []
    before = last = ""
    opens = starts = True
    for piece in _NOISE.sub(" ", _LINK.sub(r"\1", text)).split():
        bare = piece.strip(_MARKS)
        parted = piece[0] in _OPENING
        names = _is_name(bare) and not is_empty(bare.lower()) and not is_unspaced(bare)
        if words and (parted or not names):
            yield WordRun(tuple(words), before, "" if parted else bare.lower(), opens)
            words = []
        if names:
            before, opens = (before, opens) if words else ("" if parted else last, starts)
            words.append(bare)
        elif is_unspaced(bare):
            yield from (WordRun((stretch,)) for stretch in _STRETCH.findall(bare) if len(stretch) > 1)
        closed = piece[-1] in _CLOSING
        if words and closed:
            yield WordRun(tuple(words), before, "", opens)
            words = []
        last, starts = "" if closed else bare.lower(), piece[-1] in _SENTENCE_END
    if words:
        yield WordRun(tuple(words), before, "", opens)


def _is_name(word: str) -> bool:
    return (
        1 < len(word) <= _MAX_CHARS
        and all(c.isalnum() or c in "-'’_." or category(c)[0] == "M" for c in word)
        and any(c.isalpha() for c in word)
    )
