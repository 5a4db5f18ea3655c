"""Redacting: a text with the secrets in it, as far as their shapes are known, replaced by what they were."""

from __future__ import annotations

from mcp_memory.text.secrets import secrets_in

_KEY_END = "-----END"


def redacted(text: str) -> str:
    """`[GitHub token]` in place of each; of a private key all lines go, of a web address the password alone."""
    pieces: list[str] = []
    done = 0
    for start, end, kind in secrets_in(text):
        if start < done:
            continue
        if kind == "private key" and (last := text.find(_KEY_END, end)) >= 0:
            line_end = text.find("\n", last)
            last_of_it = len(text) if line_end < 0 else line_end
        else:
            last_of_it = end
        pieces += [text[done:start], f"[{kind}]"]
        done = last_of_it
    return "".join([*pieces, text[done:]])
