"""Notes of made-up prose, and questions about them: the same number always gives the same note.

Words are the model's own vocabulary, which is ordered by frequency, drawn by Zipf's law (a rank's frequency is
proportional to 1 / rank); a third of them come from a few dozen that belong to the note's subject. An entry is four
to eight sentences, about 100 tokens, so that the chunker makes one chunk of it.
"""

from __future__ import annotations

import functools
import random
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from mcp_memory.embedders.bundled.graphs import VOCABULARY

FIRST_WORD = "the"
ENTRIES_A_SECTION = 5
SUBJECT_WORDS = 30
SUBJECT_SHARE = 1 / 3
SUBJECTS_FROM = 200
"""A subject's words are not among the most frequent ones."""


@dataclass(frozen=True)
class Corpus:
    """So many notes of so many entries each. `series` tells apart corpora that must share no text."""

    notes: int
    entries: int
    series: str = "notes"

    @property
    def chunks(self) -> int:
        return self.notes * self.entries

    @property
    def name(self) -> str:
        return f"{self.series}-{self.notes}x{self.entries}"

    def write(self, vault: Path) -> None:
        for number in range(self.notes):
            file = vault / self.path(number)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(self.text(number), encoding="utf-8")

    def path(self, number: int) -> str:
        return f"{self.series}/{number % 40:02}/{number:05}.md"

    def text(self, number: int) -> str:
        rng = self._rng(number)
        subject = _subject(rng)
        blocks = [f"# {_heading(rng, subject)}"]
        for entry in range(self.entries):
            if entry % ENTRIES_A_SECTION == 0 and entry:
                blocks.append(f"## {_heading(rng, subject)}")
            blocks.append(" ".join(_sentence(rng, subject) for _ in range(rng.randint(4, 8))))
        return "\n\n".join(blocks) + "\n"

    def question(self, number: int) -> str:
        """Five to ten words in a row of one entry of some note."""
        rng = random.Random(f"question {self.name} {number}")
        text = self.text(rng.randrange(self.notes))
        paragraphs = [block for block in text.split("\n\n") if not block.startswith("#")]
        words = rng.choice(paragraphs).replace(".", "").lower().split()
        count = rng.randint(5, 10)
        start = rng.randrange(max(1, len(words) - count))
        return " ".join(words[start : start + count])

    def _rng(self, number: int) -> random.Random:
        return random.Random(f"{self.series} {number}")


def _sentence(rng: random.Random, subject: list[str]) -> str:
    words = [_word(rng, subject) for _ in range(rng.randint(6, 18))]
    return f"{' '.join(words).capitalize()}."


def _heading(rng: random.Random, subject: list[str]) -> str:
    return " ".join(rng.sample(subject, 4)).capitalize()


def _word(rng: random.Random, subject: list[str]) -> str:
    if rng.random() < SUBJECT_SHARE:
        return rng.choice(subject)
    known, weights = _vocabulary()
    return rng.choices(known, cum_weights=weights)[0]


def _subject(rng: random.Random) -> list[str]:
    known, weights = _vocabulary()
    return rng.choices(known[SUBJECTS_FROM:], cum_weights=weights[: len(known) - SUBJECTS_FROM], k=SUBJECT_WORDS)


@functools.cache
def _vocabulary() -> tuple[list[str], list[float]]:
    """Words by falling frequency, and their cumulated weights."""
    pieces = VOCABULARY.read_text(encoding="utf-8").splitlines()
    known = [piece for piece in pieces[pieces.index(FIRST_WORD) :] if piece.isascii() and piece.isalpha()]
    return known, list(accumulate(1 / rank for rank in range(1, len(known) + 1)))
