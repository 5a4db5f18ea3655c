"""Shows numbered lines to a language model, and reads its answer, which can only refer to these lines. Pure."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import Template
from typing import Any

from mcp_memory.summarizers.base import Prompt
from mcp_memory.summarizers.prompting import prompt_text, shown
from mcp_memory.text.parsed_values import json_within, list_at, value_at
from mcp_memory.text.text_hash import quote_mark, text_hash
from mcp_memory.text.tokens import CHARS_PER_TOKEN

ANSWER_TOKENS = 3000
MOST_LINE_CHARS, MOST_LINES = 700, 40
KEY_DIGITS = 24

Finding = Mapping[str, Any]
"""The answer of a model about a line: JSON values, in which the hashes of lines stand for their numbers."""


@dataclass(frozen=True)
class SourceLine:
    """A line of a note or log entry. `source` is the id of the note or entry, and `facts`, such as the day, are shown
    before the text without being part of its hash."""

    source: str
    text: str
    facts: str = ""

    @property
    def key(self) -> str:
        """The hash by which its finding is known."""
        return text_hash(f"{self.source}\n{self.text}", KEY_DIGITS)

    def render(self, number: int) -> str:
        text = f"{self.facts}: {self.text}" if self.facts else self.text
        return f"[{number}] {shown(' '.join(text.split()), MOST_LINE_CHARS)}"


@dataclass(frozen=True)
class LineTask:
    """A question about lines. `references` are the fields of an item that refer to earlier lines. `check` returns the
    other fields of an item as far as they're valid for its line, and raises ValueError for an invalid item."""

    name: str
    instructions: str
    references: Sequence[str]
    check: Callable[[Mapping[str, Any], SourceLine], Finding]


@dataclass(frozen=True)
class LinePrompt:
    """A question about the lines `fresh`, which are numbered after those `before`."""

    task: LineTask
    before: Sequence[SourceLine]
    fresh: Sequence[SourceLine]

    @property
    def prompt(self) -> Prompt:
        lines = "\n".join(line.render(number) for number, line in enumerate([*self.before, *self.fresh], 1))
        mark = quote_mark(lines)
        instructions = Template(prompt_text("lines")).substitute(
            task=self.task.instructions.strip(), mark=mark, first=len(self.before) + 1
        )
        return Prompt(instructions, f"<<<{mark}\n{lines}\n{mark}>>>", ANSWER_TOKENS, mark)

    def read(self, answer: str) -> dict[str, Finding] | None:
        """Return the finding for each fresh line by its hash, which is empty for a line without a valid item; None for
        an answer of another form."""
        given = json_within(answer)
        if not isinstance(value_at(given, "lines"), list):
            return None
        lines = [*self.before, *self.fresh]
        found: dict[str, Finding] = {line.key: {} for line in self.fresh}
        for item in list_at(given, "lines"):
            number = _number(value_at(item, "line"), len(lines) + 1)
            if number is None or number <= len(self.before):
                continue
            try:
                found[lines[number - 1].key] = self._finding(item, number, lines)
            except ValueError:
                continue  # an invalid item says nothing about its line
        return found

    def _finding(self, item: Mapping[str, Any], number: int, lines: Sequence[SourceLine]) -> Finding:
        """Return a valid item. Raises ValueError."""
        finding = dict(self.task.check(item, lines[number - 1]))
        for field in self.task.references:
            earlier = [_number(reference, number) for reference in list_at(item, field)]
            if None in earlier or not isinstance(item.get(field, []), list):
                raise ValueError(field)
            if keys := [lines[one - 1].key for one in dict.fromkeys(earlier) if one]:
                finding[field] = keys
        return finding


def batches(lines: Sequence[SourceLine], prompt_tokens: int) -> Iterator[Sequence[SourceLine]]:
    """Yield lines in order, as many at a time as fit into a prompt, with room for as many before them."""
    batch, length = list[SourceLine](), 0
    for line in lines:
        size = len(line.render(MOST_LINES))
        if batch and (length + size > prompt_tokens * CHARS_PER_TOKEN // 2 or len(batch) == MOST_LINES):
            yield batch
            batch, length = [], 0
        batch.append(line)
        length += size
    if batch:
        yield batch


def _number(value: object, end: int) -> int | None:
    """Return the number of a line before `end`."""
    return value if type(value) is int and 0 < value < end else None
