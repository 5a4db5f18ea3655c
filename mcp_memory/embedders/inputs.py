"""Texts in the form that models take: encodable, and no longer than a model looks at."""

from __future__ import annotations

import hashlib
import json

CHARS_PER_TOKEN = 32
"""Far above any tokenizer's average (3 to 5), so that a cut at this rate lies behind the tokenizer's own."""


def prepared(text: str, prompt: str, max_chars: int) -> str:
    """`prompt` and `text`, cut to `max_chars` before the tokenizer sees them: 1 MB of text costs what 8 KB do.

    Lone surrogates, which no tokenizer or JSON parser takes, become U+FFFD.
    """
    whole = prompt + text[:max_chars] if prompt else text[:max_chars]
    if whole.isascii():
        return whole
    return whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def prompts_mark(query_prompt: str, document_prompt: str) -> str:
    """Eight hexadecimal digits that tell one pair of prompts from another; `none` without prompts."""
    if not query_prompt and not document_prompt:
        return "none"
    return hashlib.sha256(json.dumps([query_prompt, document_prompt]).encode()).hexdigest()[:8]
