"""Prepare texts for models: encodable, and no longer than a model reads."""

import json

from mcp_memory.text.text_hash import text_hash

CHARS_PER_TOKEN = 32
"""A number far above any tokenizer's average (3 to 5), so the tokenizer's own limit cuts first."""


def prepared(text: str, prompt: str, max_chars: int) -> str:
    """Return `prompt` and `text`, cut to `max_chars` before tokenizing: 1 MB of text costs as much as 8 KB.

    Lone surrogates, which no tokenizer or JSON parser accepts, become U+FFFD."""
    whole = prompt + text[:max_chars] if prompt else text[:max_chars]
    if whole.isascii():
        return whole
    return whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def prompts_mark(query_prompt: str, document_prompt: str) -> str:
    """Return eight hexadecimal digits that identify a pair of prompts; `none` without prompts."""
    if not query_prompt and not document_prompt:
        return "none"
    return text_hash(json.dumps([query_prompt, document_prompt]), 8)
