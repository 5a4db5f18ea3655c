"""Defines the ports of summarizers and language models, and the values that they exchange; opens a summarizer."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple, Protocol

from mcp_memory.runtime.backend_registry import Registry
from mcp_memory.summarizers.config import SummarizerConfig
from mcp_memory.text.tokens import count_tokens

LEAST_TITLE_WORDS, MOST_TITLE_WORDS = 5, 15
MOST_TITLE_CHARS = 100

MOST_ANSWER_BYTES = 100_000
"""The most bytes read of a model's answer: 25 times the longest useful summary."""


@dataclass(frozen=True)
class Prompt:
    """A prompt for a language model. `instructions` are ours; `material` quotes notes, whose authors may be anybody,
    between two marks. `turns` are earlier messages of a conversation, as role and text; only endpoints use them."""

    instructions: str
    material: str
    budget_tokens: int
    mark: str
    turns: Sequence[tuple[str, str]] = ()
    is_page: bool = False
    """Whether the prompt asks for a name, a gist, a list and a line for each source, instead of only a list."""

    @property
    def tokens(self) -> int:
        texts = [self.instructions, self.material, *(text for _, text in self.turns)]
        return sum(map(count_tokens, texts))

    @property
    def most_tokens(self) -> int:
        """The expected cost, including the answer."""
        return self.tokens + self.budget_tokens


class LlmReply(NamedTuple):
    """A model's answer. `tokens` is the cost of prompt and answer together; `cut`: the answer is incomplete."""

    text: str
    tokens: int
    cut: bool = False


@dataclass(frozen=True)
class ModelUsage:
    """Today's use of a language model, and its daily limits. `problem`: the reason why its last call failed."""

    calls: int
    calls_a_day: int
    tokens: int
    tokens_a_day: int
    problem: str = ""


class LlmClient(Protocol):
    """A synchronous, thread-safe language model."""

    @property
    def name(self) -> str:
        """The name of the model or program, shown to people."""
        ...

    def write(self, prompt: Prompt) -> LlmReply:
        """Return the answer within the client's own deadline. Raises SummarizerUnavailable."""
        ...

    def close(self) -> None:
        """End waiting calls; later calls raise SummarizerUnavailable. Idempotent."""
        ...


class StatementRank(IntEnum):
    """The order of statements on a page. It has room for all rules and facts, as far as a page is long, and for others
    only within its budget."""

    RULE = 0
    FACT = 1
    OTHER = 2


@dataclass(frozen=True)
class SummarySource:
    """A note, or the summary of a subtopic. `text` is its body without frontmatter."""

    title: str
    text: str
    kind: str = ""
    tags: Sequence[str] = ()
    is_overtaken: bool = False
    """Whether a newer note contradicts the source; the summary doesn't present such a source as true."""
    statement: str = ""
    """The whole sentences of the source that a page quotes."""
    rank: StatementRank = StatementRank.OTHER
    newer: int | None = None
    """The index of a later source that may change what this one says. A page quotes this source below the later one."""
    is_changed: bool = False
    """Whether the later source clearly changes it."""
    day: str = ""


@dataclass(frozen=True)
class SummaryRequest:
    """A request for a summary. `sources` are oldest first, because the later of two contradicting sources is right.
    `budget_tokens` limits the body of the summary (4 characters per token)."""

    sources: Sequence[SummarySource]
    budget_tokens: int
    depth: int = 1
    """The depth of the topic tree: 1 for a topic of notes, plus 1 for each level of subtopics."""
    common: Mapping[str, float] = field(default_factory=dict[str, float])
    """Maps a word, as `text.language.terms.words` returns it, to the share of all passages that contain it, 0 to 1. A
    common word is hardly specific to this topic."""
    previous: str = ""
    """The summary to update, without its title; empty to start from scratch. Start from scratch when a source is gone
    or forgotten, because the previous summary quotes its sources."""
    changed: Set[int] = frozenset()
    """The indices of `sources` that are new or changed since the `previous` summary."""
    gist_sentences: int = 0
    """The number of sentences in `Summary.gist`; 0 for a plain list."""
    hint: str = ""
    """A property that all sources share, such as their project. The title shouldn't repeat it."""


@dataclass(frozen=True)
class Summary:
    """A summary. `text` is Markdown without headings; `by` names the summarizer."""

    title: str
    text: str
    by: str
    gist: str = ""
    """The gist, a sentence per line; `text` doesn't repeat it."""
    questions: Sequence[str] = ()
    """The questions that the sources leave open."""
    labels: Mapping[int, str] = field(default_factory=dict[int, str])
    """Maps a source to 5 to 15 words about its content, if a language model wrote them."""
    overtaken: Set[int] = frozenset()
    """The sources that newer sources replace."""
    provisional: bool = False
    """Whether a language model should replace this summary later."""
    problem: str = ""
    """The reason why the summary is provisional, shown to people; never contains the text of a note."""


class Summarizer(Protocol):
    """A synchronous, thread-safe summarizer; called in worker threads, outside any lock."""

    @property
    def name(self) -> str:
        """The summarizer's name, shown to people."""
        ...

    def summarize(self, request: SummaryRequest) -> Summary:
        """Summarize the sources. Raises SummarizerUnavailable once the summarizer is closed."""
        ...

    def ask(self, prompt: Prompt) -> LlmReply:
        """Return a language model's unchecked answer to any other prompt, within the same limits.

        Raises SummarizerUnavailable, also if no language model is configured."""
        ...

    def asked_in_s(self) -> float:
        """Return the seconds until a language model may be called: 0 for now, infinite without a model. Makes no
        call."""
        ...

    def usage(self) -> ModelUsage | None:
        """Return what the language model was asked today; None without a model."""
        ...

    def close(self) -> None:
        """End a call that waits for an answer. Idempotent."""
        ...


SUMMARIZERS = Registry(
    "summarizer",
    {
        "extractive": "mcp_memory.summarizers.extractive:open_extractive",
        "openai": "mcp_memory.summarizers.openai_chat:open_endpoint",
        "claude": "mcp_memory.summarizers.agents:open_claude",
        "codex": "mcp_memory.summarizers.agents:open_codex",
        "gemini": "mcp_memory.summarizers.agents:open_gemini",
    },
)
"""Maps a provider to a function `(config, spent) -> Summarizer`; plugins use the entry point group
`mcp_memory.summarizer`."""


def open_summarizer(config: SummarizerConfig, spent: Path) -> Summarizer:
    """Open the summarizer of `config.provider` without calling a model.

    `spent` is our file that counts the cost of language models, created when needed. Raises ConfigInvalid for a setting
    that can never work, and ExtraMissing for a provider that isn't installed."""
    return SUMMARIZERS.get(config.provider)(config, spent)
