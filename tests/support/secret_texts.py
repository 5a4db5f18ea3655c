"""Texts that hold a secret, by what it is, and how long the secret is at least."""

from __future__ import annotations

import base64
import json
import random
import string

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
