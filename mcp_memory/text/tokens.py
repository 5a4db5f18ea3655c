"""Counts tokens for budgets: four characters each, OpenAI's figure for English text.

The estimate is deliberate: a tokenizer would tie budgets to a model. Chinese, Japanese and Korean cost a model up to
four times as much, so ask for a smaller budget.
"""

from mcp_memory.text.chunking.boundaries import best_cut

CHARS_PER_TOKEN = 4
_ELLIPSIS = "…"


def count_tokens(text: str) -> int:
    """Return the length in tokens, rounded up: 0 for the empty text, 1 for one to four characters."""
    return -(-len(text) // CHARS_PER_TOKEN)


def truncate(text: str, budget_tokens: int) -> str:
    """Return `text` if it fits the budget, else its beginning with an ellipsis, cut at the best boundary. Empty for a
    budget of 0 or less."""
    if budget_tokens <= 0:
        return ""
    limit_chars = budget_tokens * CHARS_PER_TOKEN
    if len(text) <= limit_chars:
        return text
    return text[: best_cut(text, 0, limit_chars - len(_ELLIPSIS))].rstrip() + _ELLIPSIS
