"""What a person can set about who writes summaries.

Standard library only: `settings` imports this on the paths that must start in milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SummarizerConfig:
    """Section `[summarizer]`; `configs/default.toml` documents each key."""

    provider: str = "extractive"
    endpoint: str = ""
    model: str = ""
    api_key_env: str = "OPENAI_API_KEY"
    command: tuple[str, ...] = ()
    timeout_s: float = 120.0
    prompt_tokens: int = 12_000
    calls_a_day: int = 200
    tokens_a_day: int = 1_000_000
    """Of prompts and answers together, four characters each where the endpoint does not say."""
    back_off_s: float = 300.0

    @property
    def summary_s(self) -> float:
        """The longest that one summary takes: an answer, and a terser one where that says too much."""
        return 2 * self.timeout_s

    @property
    def day_s(self) -> float:
        """The longest that the answers of a day take."""
        return self.calls_a_day * self.timeout_s
