"""Secrets out of a text: of each kind nothing is left, and what is none stays as it is."""

from __future__ import annotations

import pytest

from mcp_memory.text.secrets.finder import redact
from tests.support.secret_texts import SECRETS


@pytest.mark.parametrize("kind", SECRETS)
def test_nothing_is_left_of_a_secret(kind: str):
    text, length = SECRETS[kind]
    redacted = redact(f"Look: {text}\nThat is it.")
    assert redacted.secrets == 1, redacted
    kept = redacted.text
    pieces = [text[at : at + 8] for at in range(len(text) - 7)]
    gone = sum(piece not in kept for piece in pieces)
    assert gone >= min(length, len(pieces)) * 0.6, kept
    longest = max((len(run) for run in kept.replace("\n", " ").split() if run in text and len(run) > 1), default=0)
    assert longest < 24, kept
    assert kept.startswith("Look: ")
    assert redact(kept) == (kept, 0)


@pytest.mark.parametrize("text", [
    "We always use tabs; the token budget is 2000 tokens.",
    "token = getToken(request)",
    "password: string;",
    "const secret = process.env.SECRET",
    "api_key=os.environ['API_KEY']",
    "The password is stored in the keyring, the secret is out of the repository.",
    "max_tokens=4096, tokens: 12345",
    "commit 3f2c9a1be07d4c55aa61f0c7e2b94d1f6a7b8c9d of yesterday",
    "id 550e8400-e29b-41d4-a716-446655440000",
    "password = <your-password>, token: ${TOKEN}, PASSWORD=changeme-example",
    "PATH=/usr/bin:/bin HOME=/home/ada",
    "see https://docs.example.org/auth?topic=tokens#keys",
    "-----BEGIN PRIVATE KEY----- is how such a file begins.",
])  # fmt: skip
def test_what_is_no_secret_stays(text: str):
    assert redact(text) == (text, 0)


def test_several_are_all_taken_out_and_the_rest_stays():
    text = f"First {SECRETS['GitHub'][0]} then {SECRETS['RSA'][0]} and {SECRETS['GitHub'][0]}. Done."
    redacted = redact(text)
    assert redacted.secrets == 3
    assert redacted.text == (
        "First ghp_[redacted: GitHub token] then [redacted: private key] and ghp_[redacted: GitHub token]. Done."
    )
