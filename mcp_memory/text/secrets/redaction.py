"""Redaction: secrets taken out of a text that nobody has looked through, say what was said in a session."""

from __future__ import annotations

from typing import NamedTuple

from mcp_memory.text.secrets.finder import find_secrets
from mcp_memory.text.secrets.names import MARK


class RedactedText(NamedTuple):
    """So many `secrets` were taken out."""

    text: str
    secrets: int


def redact(text: str) -> RedactedText:
    """The text with `[redacted: KIND]` in place of each secret; what was redacted once is left alone the next time."""
    found = find_secrets(text)
    pieces: list[str] = []
    at = 0
    for secret in found:
        pieces += (text[at : secret.start], f"{MARK}: {secret.kind}]")
        at = secret.end
    return RedactedText("".join([*pieces, text[at:]]), len(found))
