"""Configures summaries. Standard library only: `settings` imports this where milliseconds count."""

from dataclasses import dataclass

from mcp_memory.constants import constant


@dataclass(frozen=True)
class SummarizerConfig:
    """Section `[summarizer]`; `configs/default.toml` documents each key."""

    provider: str = "extractive"
    endpoint: str = ""
    model: str = ""
    api_key_env: str = "OPENAI_API_KEY"
    timeout_s: float = 120.0
    prompt_tokens: int = 12_000
    calls_a_day: int = 200
    tokens_a_day: int = 1_000_000
    """The daily limit of prompts and answers together, at four characters per token unless the endpoint reports
    tokens."""
    back_off_s: float = constant(300.0)
    """The pause after a failure, doubled with each further one: an endpoint that is down stays so for a while."""

    @property
    def summary_s(self) -> float:
        """The longest time for a summary: an answer, and a terser answer if the first is too long."""
        return 2 * self.timeout_s

    @property
    def day_s(self) -> float:
        """The longest time for all answers of a day."""
        return self.calls_a_day * self.timeout_s
