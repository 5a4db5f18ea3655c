"""Normalizes a text before secrets are looked for: fullwidth and other compatibility letters, accents apart from their
letter, and invisible characters would hide a name or split a token."""

import re
import unicodedata
from bisect import bisect_right

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef]+"
)
_LETTER = re.compile(f"(?:[\x00-\x7f](?=[\u0300-\u036f])|[^\x00-\x7f])(?:[\u0300-\u036f]|{_INVISIBLE.pattern})*")
"""Matches a letter with its accents, if it isn't a mere ASCII character."""


class NormalizedText:
    """A text in normal form NFKC without invisible characters, which finds its characters in the original again."""

    def __init__(self, original: str) -> None:
        self.text = original
        # The positions after each changed piece, in the new text and in the original text.
        self._ends, self._original_ends = [0], [0]
        if not original.isascii() and (_INVISIBLE.search(original) or not unicodedata.is_normalized("NFKC", original)):
            pieces: list[str] = []
            length = at = 0
            for letter in _LETTER.finditer(original):
                normal = unicodedata.normalize("NFKC", _INVISIBLE.sub("", letter[0]))
                if normal == letter[0]:
                    continue
                pieces += (original[at : letter.start()], normal)
                length += letter.start() - at + len(normal)
                at = letter.end()
                self._ends.append(length)
                self._original_ends.append(at)
            self.text = "".join([*pieces, original[at:]])

    def original_position(self, position: int) -> int:
        """Return where in the original a position of the normalized text is."""
        after = bisect_right(self._ends, position)
        shifted = self._original_ends[after - 1] + position - self._ends[after - 1]
        return min([shifted, *self._original_ends[after : after + 1]])
