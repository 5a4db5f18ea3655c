"""What every summarizer offers: some notes in, their gist out, within a budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Protocol

from mcp_memory.summarizers.llm_port import LlmReply, Prompt

LEAST_TITLE_WORDS, MOST_TITLE_WORDS = 5, 15
MOST_TITLE_CHARS = 100


@dataclass(frozen=True, slots=True)
class SummarySource:
    """One note, or the summary of a topic below. `text` is its body without frontmatter."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """What to summarise: `sources`, oldest first, since of two that contradict each other the later one counts.
    `budget_tokens` bounds the body of the answer (4 characters a token)."""

    sources: Sequence[SummarySource]
    budget_tokens: int
    depth: int = 1
    """1 for a topic of notes, one more for each level of topics below it."""
    common: Mapping[str, float] = field(default_factory=dict[str, float])
    """Of words, as `text.terms.words` gives them: the share of all passages in memory that have it, 0 to 1. What is
    said everywhere says little about this topic."""
    previous: str = ""
    """The summary to bring up to date, without its title; empty to start afresh. It tells what its sources said: where
    one of them is gone or forgotten, start afresh, or the next summary tells it again."""
    changed: Set[int] = frozenset()
    """With `previous`: the places in `sources` of those that are new or say something else since."""


@dataclass(frozen=True, slots=True)
class Summary:
    """`text` is Markdown without headings; `by` names who made it."""

    title: str
    text: str
    by: str
    provisional: bool = False
    """Whether it stands in for one that a language model is to write later."""
    problem: str = ""
    """Why it does, for a person to read; never holds the text of a note."""


class Summarizer(Protocol):
    """Synchronous and thread-safe; called in worker threads, outside any lock."""

    @property
    def name(self) -> str:
        """Who made it, for a person to read."""
        ...

    def summarize(self, request: SummaryRequest) -> Summary:
        """Raises SummarizerUnavailable once it is closed."""
        ...

    def ask(self, prompt: Prompt) -> LlmReply:
        """A language model's answer to anything else, at the same cost and within the same bounds; unjudged.

        Raises SummarizerUnavailable, also where there is none.
        """
        ...

    def asked_in_s(self) -> float:
        """In how many seconds a language model may be asked: 0 for now, infinite where there is none. Asks nobody."""
        ...

    def close(self) -> None:
        """Ends a call that waits for an answer; idempotent."""
        ...
