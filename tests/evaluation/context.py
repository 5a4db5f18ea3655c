"""Measures what an agent is told with a prompt: context precision and context recall. Pure.

A told note belongs if the prompt's labels name it, as `gold` or `also`. Of the characters, those of its labelled lines
belong; the frame, headers and everything else only count as told. Each figure is a ratio of two sums over prompts.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mcp_memory.text.tokens import count_tokens
from tests.evaluation.metrics import Interval, ratio_interval
from tests.evaluation.report import OVERALL
from tests.evaluation.sets import EvalQuestion, GoldSpan

NOTES, CHARS, ANY, ALL = "context_precision", "context_precision_chars", "context_recall_any", "context_recall_all"
TOKENS, SILENT, OUTDATED, TEXT = "tokens", "silent", "outdated_unmarked", "note_text"
PRIVATE = "private_told"

METRICS = {
    NOTES: "notes", CHARS: "chars", ANY: "any", ALL: "all", TOKENS: "tokens", SILENT: "silent", OUTDATED: "old",
    TEXT: "text", PRIVATE: "private",
}  # fmt: skip
"""The metrics, and their titles in a table.

The shares of told notes and of told characters that belong, over all prompts; the shares of wanted prompts with any and
with all of their notes told, and the mean tokens told with one; the share of other prompts with nothing told; the share
of outdated notes told without a mark; the share of told characters that are a note's, not
ours; of the prompts with notes labelled as private, the share with any of these told."""

FEWEST_CHARS = 4
"""A shorter line or sentence of a note is not looked for: it might be anybody's."""

_MARK = re.compile(r"superseded|outdated|contradict|[(;] ?was ", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?;:])\s+")
_BELOW_HEAD = (">", ":")
"""Begin the lines that belong to a head above: quoted ones, and those of a further passage."""


@dataclass(frozen=True, slots=True)
class ContextScore:
    """What was told with a prompt. `notes` are the notes and log entries that it quotes, `lines` those of each note
    that the labels name."""

    question: EvalQuestion
    text: str
    notes: Sequence[GoldSpan]
    lines: Mapping[str, Sequence[str]]

    def counts(self) -> dict[str, tuple[float, float]]:
        """Returns what each metric's sums get from this prompt: what counts, and of how much."""
        question, is_wanted = self.question, self.question.answerable
        belonging = (*question.gold, *question.also)
        of_belonging = [line for span in belonging for line in self._lines_of(span)]
        found = [self._is_told(span) for span in question.gold]
        old = [self._is_told(span) and not _is_marked(self.text, self._lines_of(span)) for span in question.outdated]
        return {
            NOTES: (sum(any(_overlap(note, span) for span in belonging) for note in self.notes), len(self.notes)),
            CHARS: (quoted_chars(self.text, of_belonging), len(self.text)),
            ANY: (any(found), is_wanted),
            ALL: (all(found) and is_wanted, is_wanted),
            TOKENS: (count_tokens(self.text) * is_wanted, is_wanted),
            SILENT: (not self.text and not is_wanted, not is_wanted),
            OUTDATED: (sum(old), len(old)),
            TEXT: (
                quoted_chars(self.text, [line for note in self.notes for line in self._lines_of(note)]),
                len(self.text),
            ),
            PRIVATE: (any(map(self._is_told, question.private)), bool(question.private)),
        }

    def _is_told(self, span: GoldSpan) -> bool:
        return any(_overlap(note, span) for note in self.notes)

    def _lines_of(self, span: GoldSpan) -> Sequence[str]:
        return self.lines.get(span.path, ())[span.start - 1 : span.end]


def quoted_chars(text: str, lines: Iterable[str]) -> int:
    """Returns how many characters of the text are quoted from these lines, each once: of a line that isn't there
    whole, the sentences that are."""
    quoted = bytearray(len(text))
    for line in map(str.strip, lines):
        for piece in [line] if line in text else _SENTENCE_END.split(line):
            if len(piece) >= FEWEST_CHARS:
                for found in re.finditer(rf"(?<!\w){re.escape(piece)}(?!\w)", text):
                    quoted[found.start() : found.end()] = b"\1" * len(piece)
    return sum(quoted)


@dataclass(frozen=True, slots=True)
class ContextFigures:
    """Of so many prompts, the metrics for which any of them counts."""

    prompts: int
    metrics: Mapping[str, Interval]


def context_figures(scores: Sequence[ContextScore]) -> dict[str, ContextFigures]:
    """Returns the figures of each category, and of all of them last."""
    by_category: dict[str, list[dict[str, tuple[float, float]]]] = {}
    for score in scores:
        counts = score.counts()
        for category in dict.fromkeys((score.question.category, OVERALL)):
            by_category.setdefault(category, []).append(counts)
    overall = by_category.pop(OVERALL, [])
    return {category: _figures(counts) for category, counts in [*by_category.items(), (OVERALL, overall)]}


def _figures(counts: Sequence[Mapping[str, tuple[float, float]]]) -> ContextFigures:
    pairs = {metric: [count[metric] for count in counts if count[metric][1]] for metric in METRICS}
    return ContextFigures(len(counts), {metric: ratio_interval(found) for metric, found in pairs.items() if found})


def context_json(figures: Mapping[str, ContextFigures]) -> dict[str, Any]:
    return {
        category: {"n": found.prompts}
        | {
            metric: {name: round(value, 4) for name, value in asdict(interval).items()}
            for metric, interval in found.metrics.items()
        }
        for category, found in figures.items()
    }


def _overlap(one: GoldSpan, other: GoldSpan) -> bool:
    return one.path == other.path and one.start <= other.end and other.start <= one.end


def _is_marked(text: str, lines: Iterable[str]) -> bool:
    """Whether each place that quotes one of the lines says, there or in the note's head, that it no longer holds; of
    a note that is told in other words, the whole text."""
    pieces = [line.strip() for line in lines if len(line.strip()) >= FEWEST_CHARS]
    header, quoting = "", list[str]()
    for line in text.split("\n"):
        if not line.startswith(_BELOW_HEAD):
            header = line
        for piece in pieces:
            if piece in line:
                quoting.append(f"{header}\n{line}".replace(piece, ""))
    return all(_MARK.search(place) for place in quoting or [text])
