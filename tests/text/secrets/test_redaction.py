"""Secrets out of a text: of each kind nothing is left, and what is none stays as it is."""

from __future__ import annotations

import base64
import json
import random
import string

import pytest

from mcp_memory.text.secrets.redaction import redact

CHANCE = random.Random(7)


def some(length: int, letters: str = string.ascii_letters + string.digits) -> str:
    """Like a key: made anew, so that no scanner takes this file for a leak."""
    return "".join(CHANCE.choice(letters) for _ in range(length - 1)) + "7"


def jwt() -> str:
    head = base64.urlsafe_b64encode(json.dumps({"alg": "HS256", "typ": "JWT"}).encode()).decode().rstrip("=")
    return f"{head}.{some(60)}.{some(43)}"


def key(kind: str) -> str:
    body = "\n".join(some(64) for _ in range(6))
    return f"-----BEGIN {kind}PRIVATE KEY-----\n{body}\n-----END {kind}PRIVATE KEY-----"


B32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
SECRETS = {
    "AWS access key": (f"AKIA{some(15, B32)}A", 12),
    "AWS secret": (f"aws_secret_access_key = {some(40)}", 30),
    "GitHub": (f"ghp_{some(36)}", 30),
    "GitHub fine-grained": (f"github_pat_{some(22)}_{some(59)}", 50),
    "Anthropic": (f"sk-ant-api03-{some(93)}", 60),
    "OpenAI": (f"sk-proj-{some(80)}", 60),
    "OpenAI, older": (f"sk-{some(48)}", 40),
    "Slack": (f"xoxb-{some(12, string.digits)}-{some(24)}", 20),
    "Google": (f"AIza{some(35)}", 30),
    "Stripe": (f"sk_live_{some(40)}", 30),
    "JWT": (jwt(), 40),
    "bearer": (f"Authorization: Bearer {some(50)}", 40),
    "curl": (f'curl -H "authorization: bearer {some(30)}" https://x.org', 25),
    "cookie": (f"Cookie: session={some(40)}; theme=dark", 40),
    "URL": (f"postgres://ada:{some(14)}@db.internal:5432/app", 14),
    ".env": (f"DEBUG=1\nDB_PASSWORD={some(12)}\nPORT=80", 12),
    ".env, a word": ("DB_PASSWORD=correcthorsebattery", 19),
    ".env, quoted": (f'export STRIPE_SECRET="{some(20)}"', 20),
    "JSON": (f'{{"user": "ada", "password": "{some(10)}"}}', 10),
    "YAML": (f"  api_key: {some(24)}", 24),
    "flag": (f"mysql --password={some(12)} --host db", 12),
    "flag, apart": (f"deploy --api-token {some(20)} --now", 20),
    "prose": (f"The password is {some(11)}, keep it.", 11),
    "RSA": (key("RSA "), 300),
    "OpenSSH": (key("OPENSSH "), 300),
    "cut short": (key("EC ")[:250], 150),
    "in one line": (key("").replace("\n", "\\n"), 300),
}


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
