"""Secrets out of a text: of each kind nothing is left, and what is none stays as it is."""

from __future__ import annotations

from mcp_memory.text.secrets.finder import redact
from tests.support.secret_texts import SECRETS


def test_several_are_all_taken_out_and_the_rest_stays():
    text = f"First {SECRETS['GitHub'][0]} then {SECRETS['RSA'][0]} and {SECRETS['GitHub'][0]}. Done."
    redacted = redact(text)
    assert redacted.secrets == 3
    assert redacted.text == (
        "First ghp_[redacted: GitHub token] then [redacted: private key] and ghp_[redacted: GitHub token]. Done."
    )
