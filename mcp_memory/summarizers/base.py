"""The ports of summarizers and language models, and what they exchange."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Protocol

from mcp_memory.text.tokens import count_tokens

LEAST_TITLE_WORDS, MOST_TITLE_WORDS = 5, 15
MOST_TITLE_CHARS = 100

MOST_ANSWER_BYTES = 100_000
"""We read no more of a model's answer: 25 times the longest useful summary."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """`instructions` are ours; `material` quotes notes, which anybody may have written, between two marks. `turns`:
    what was said before in a conversation, as role and text, for endpoints alone."""

    instructions: str
    material: str
    budget_tokens: int
    mark: str
    turns: Sequence[tuple[str, str]] = ()
    is_page: bool = False
    """Whether a name, a gist, a list and a line for each source are asked for, not only a list."""

    @property
    def tokens(self) -> int:
        texts = [self.instructions, self.material, *(text for _, text in self.turns)]
        return sum(map(count_tokens, texts))

    @property
    def most_tokens(self) -> int:
        """The expected cost including the answer."""
        return self.tokens + self.budget_tokens


@dataclass(frozen=True, slots=True)
class LlmReply:
    """`tokens` is the cost of prompt and answer together; `cut`: the answer is incomplete."""

    text: str
    tokens: int
    cut: bool = False


class LlmClient(Protocol):
    """Synchronous and thread-safe."""

    @property
    def name(self) -> str:
        """The model or program, shown to people."""
        ...

    def write(self, prompt: Prompt) -> LlmReply:
        """Answers within its own deadline. Raises SummarizerUnavailable."""
        ...

    def close(self) -> None:
        """Ends waiting calls; later ones raise SummarizerUnavailable. Idempotent."""
        ...


@dataclass(frozen=True, slots=True)
class SummarySource:
    """One note, or the summary of a subtopic. `text` is its body without frontmatter."""

    title: str
    text: str
    kind: str = ""
    tags: Sequence[str] = ()
    is_overtaken: bool = False
    """Whether a newer note contradicts it: what it says isn't told as what holds."""


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """`sources` are oldest first, because the later of two contradicting ones counts. `budget_tokens` limits the
    body of the summary (4 characters per token)."""

    sources: Sequence[SummarySource]
    budget_tokens: int
    depth: int = 1
    """1 for a topic of notes, one more for each level of subtopics."""
    common: Mapping[str, float] = field(default_factory=dict[str, float])
    """Word, as `text.language.terms.words` returns it → share of all passages that contain it, 0 to 1. A word that is
    everywhere says little about this topic."""
    previous: str = ""
    """The summary to update, without its title; empty to start from scratch. It quotes its sources: if one of them is
    gone or forgotten, start from scratch, or the next summary repeats it."""
    changed: Set[int] = frozenset()
    """With `previous`: which of the `sources` are new or changed since."""
    gist_sentences: int = 0
    """How many sentences of the summary are to come first, as `Summary.gist`; 0 for a plain list."""
    hint: str = ""
    """What the sources have in common already, such as their project: their title says something else."""


@dataclass(frozen=True, slots=True)
class Summary:
    """`text` is Markdown without headings; `by` names the summarizer."""

    title: str
    text: str
    by: str
    gist: str = ""
    """What it is all about, a sentence a line; not repeated in `text`."""
    questions: Sequence[str] = ()
    """What the sources leave open."""
    labels: Mapping[int, str] = field(default_factory=dict[int, str])
    """Source → what it says in 5 to 15 words, if a language model wrote it."""
    provisional: bool = False
    """Whether a language model is to replace it later."""
    problem: str = ""
    """Why it is provisional, shown to people; never contains the text of a note."""


class Summarizer(Protocol):
    """Synchronous and thread-safe; called in worker threads, outside any lock."""

    @property
    def name(self) -> str:
        """Shown to people."""
        ...

    def summarize(self, request: SummaryRequest) -> Summary:
        """Raises SummarizerUnavailable once it is closed."""
        ...

    def ask(self, prompt: Prompt) -> LlmReply:
        """A language model's unchecked answer to any other prompt, within the same limits.

        Raises SummarizerUnavailable, also if no language model is configured.
        """
        ...

    def asked_in_s(self) -> float:
        """Seconds until a language model may be asked: 0 for now, infinite if there is none. Asks nothing."""
        ...

    def close(self) -> None:
        """Ends a call that waits for an answer; idempotent."""
        ...
