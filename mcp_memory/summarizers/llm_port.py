"""What a language model offers: a prompt in, its answer out, as it came."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from mcp_memory.text.tokens import count_tokens

MOST_ANSWER_BYTES = 100_000
"""No more of an answer is read: 25 times the longest summary that anybody needs."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """`instructions` are ours, `material` quotes notes that anybody may have written between two marks."""

    instructions: str
    material: str
    budget_tokens: int
    mark: str

    @property
    def tokens(self) -> int:
        return count_tokens(self.instructions) + count_tokens(self.material)

    @property
    def most_tokens(self) -> int:
        """What asking is expected to cost, with the answer."""
        return self.tokens + self.budget_tokens


@dataclass(frozen=True, slots=True)
class LlmReply:
    """`tokens` is what prompt and answer cost together; `cut` says that the answer did not come to its end."""

    text: str
    tokens: int
    cut: bool = False


class LlmClient(Protocol):
    """Synchronous and thread-safe."""

    @property
    def name(self) -> str:
        """Of the model or program, for a person to read."""
        ...

    def write(self, prompt: Prompt) -> LlmReply:
        """Within a deadline of its own. Raises SummarizerUnavailable."""
        ...

    def close(self) -> None:
        """Ends calls that wait; later ones raise SummarizerUnavailable. Idempotent."""
        ...
