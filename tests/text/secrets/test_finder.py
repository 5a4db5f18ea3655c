"""Secrets: known shapes are found and named, look-alikes pass. The shapes are put together here, at run time, so that
this file holds none."""

from __future__ import annotations

import base64
import json
import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory.text.secrets.finder import find_secret

_dice = random.Random(7)
ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + "234567"
WEB = ALNUM + "-_"


def some(alphabet: str, length: int) -> str:
    """Random characters that begin and end with a letter and hold a digit in between."""
    body = "".join(_dice.choice(alphabet) for _ in range(length - 3))
    letters = [each for each in alphabet if each.isalpha()]
    digits = [each for each in alphabet if each.isdigit()] or letters
    return _dice.choice(letters) + _dice.choice(digits) + body + _dice.choice(letters)


def pem(kind: str) -> str:
    lines = "\n".join(some(ALNUM + "+/", 64) for _ in range(4))
    return f"-----BEGIN {kind}-----\n{lines}\n-----END {kind}-----"


def jwt() -> str:
    parts = [{"alg": "HS" + "256", "typ": "JWT"}, {"sub": "4711", "name": "Ann"}]
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
    return ".".join([*encoded, some(WEB, 43)])


SECRETS = [
    ("private key", pem("RSA " + "PRIVATE KEY")),
    ("private key", pem("PRIVATE " + "KEY")),
    ("private key", pem("OPENSSH PRIVATE " + "KEY")),
    ("private key", pem("EC PRIVATE " + "KEY").replace("\n", "\\n")),
    ("private key", pem("PRIVATE " + "KEY").replace("\n", "\r\n")),
    ("private key", pem("PGP PRIVATE " + "KEY BLOCK").replace("-----\n", "-----\nVersion: 1\n\n", 1)),
    ("age secret key", "AGE-SECRET" + "-KEY-1" + some(string.ascii_uppercase + string.digits, 58)),
    ("AWS access key", "AK" + "IA" + some(UPPER, 16)),
    ("AWS access key", "AS" + "IA" + some(UPPER, 16)),
    ("AWS secret access key", "aws_secret" + "_access_key = " + some(ALNUM + "/+", 40)),
    ("AWS secret access key", "AWS_SECRET" + '_ACCESS_KEY="' + some(ALNUM + "/+", 40) + '"'),
    *[("GitHub token", f"gh{letter}" + "_" + some(ALNUM, 36)) for letter in "pousr"],
    ("GitHub token", "github" + "_pat_" + some(ALNUM, 22) + "_" + some(ALNUM, 59)),
    ("GitLab token", "gl" + "pat-" + some(WEB, 20)),
    ("Slack token", "xo" + "xb-402719385560-7719302846615-" + some(ALNUM, 24)),
    ("Slack token", "xa" + "pp-1-A07Q2ABCDEF-7719302846615-" + some(HEX, 64)),
    ("Slack webhook", "https://hooks.slack" + ".com/services/T0A1B2C3D/B0A1B2C3D/" + some(ALNUM, 24)),
    ("Discord webhook", "https://discord" + ".com/api/webhooks/719302846615402719/" + some(WEB, 68)),
    ("Stripe key", "sk_" + "live_" + some(ALNUM, 24)),
    ("Stripe key", "rk_" + "live_" + some(ALNUM, 99)),
    ("Stripe webhook secret", "wh" + "sec_" + some(ALNUM, 32)),
    ("Anthropic key", "sk-" + "ant-api03-" + some(WEB, 93) + "AA"),
    ("Anthropic key", "sk-" + "ant-oat01-" + some(WEB, 93) + "AA"),
    ("OpenRouter key", "sk-" + "or-v1-" + some(HEX, 64)),
    ("OpenAI key", "sk-" + some(ALNUM, 20) + "T3Blbk" + "FJ" + some(ALNUM, 20)),
    ("OpenAI key", "sk-" + "proj-" + some(WEB, 120)),
    ("Google API key", "AI" + "za" + some(WEB, 35)),
    ("Google OAuth token", "ya" + "29." + some(WEB, 120)),
    ("Google OAuth secret", "GOC" + "SPX-" + some(WEB, 28)),
    ("npm token", "np" + "m_" + some(ALNUM, 36)),
    ("PyPI token", "py" + "pi-AgEIcHlwaS5vcmc" + some(WEB, 150)),
    ("RubyGems key", "ruby" + "gems_" + some(HEX, 48)),
    ("Docker token", "dckr" + "_pat_" + some(WEB, 27)),
    ("Hugging Face token", "h" + "f_" + some(string.ascii_letters, 34)),
    ("Groq key", "gs" + "k_" + some(ALNUM, 52)),
    ("SendGrid key", "S" + "G." + some(WEB, 22) + "." + some(WEB, 43)),
    ("Shopify token", "shp" + "at_" + some(HEX, 32)),
    ("DigitalOcean token", "dop" + "_v1_" + some(HEX, 64)),
    ("Databricks token", "da" + "pi" + some(HEX, 32)),
    ("HashiCorp Vault token", "hv" + "s." + some(WEB, 90)),
    ("Linear key", "lin" + "_api_" + some(ALNUM, 40)),
    ("Grafana token", "gl" + "sa_" + some(ALNUM, 32) + "_" + some(HEX, 8)),
    ("Azure storage key", "Account" + "Key=" + some(ALNUM + "+/", 86) + "=="),
    ("Telegram bot token", "719302846" + ":AA" + some(WEB, 33)),
    ("JSON web token", jwt()),
    ("authorization header", "Authori" + "zation: Bearer " + some(WEB, 40)),
    ("authorization header", '"authori' + 'zation": "Basic ' + some(ALNUM, 32) + '=="'),
    ("password in a URL", "postgres" + "://app:" + some(ALNUM, 12) + "@db.internal:5432/app"),
    ("password in a URL", "redis" + "://:" + some(ALNUM, 20) + "@cache"),
    ("password in a URL", "https" + "://deploy:Tr0ub4dor&3" + "@git.internal/x.git"),
]


@pytest.mark.parametrize(("kind", "secret"), SECRETS, ids=[f"{n}-{kind}" for n, (kind, _) in enumerate(SECRETS)])
def test_known_shapes(kind: str, secret: str):
    for text in (secret, f"The key is {secret}, keep it.", f"export X='{secret}'\n", f"# Note\n\n- key: `{secret}`\n"):
        found = find_secret(text)
        assert found == kind
        assert secret not in found


HARMLESS = [
    "",
    "just prose about tokens, passwords and keys",
    some(HEX, 40),
    some(HEX, 64),
    "550e8400-e29b-41d4-a716-446655440000",
    "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "sha256:" + some(HEX, 64),
    "sha512-" + some(ALNUM + "+/", 86) + "==",
    "git show " + some(HEX, 40),
    "AK" + "IAIOSFODNN7EXAMPLE",
    "AK" + "IA" + "A" * 16,
    "aws_secret" + "_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "aws_secret_access_key = ${AWS_SECRET}",
    "gh" + "p_" + "x" * 36,
    "gh" + "p_" + "your-token-goes-here",
    "ghp_ is the prefix of GitHub's tokens",
    "sk-your-api-key-here",
    "sk-" + "ant-api03-...",
    "sk-" + "x" * 48,
    "sk-learn-style-names-are-not-keys-at-all-really-long",
    "task-management-and-risk-assessment-for-the-disk-array",
    "npm_config_registry=https://registry.example/npm",
    "npm_lifecycle_event and npm_package_version",
    "-----BEGIN PRIVATE KEY----- marks a key",
    "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
    "-----BEGIN PUBLIC KEY-----\n" + some(ALNUM, 64),
    "-----BEGIN CERTIFICATE-----\n" + some(ALNUM, 64),
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + some(ALNUM, 43) + " me@host",
    "postgres://user:password@localhost/db",
    "postgres://user:${DB_PASSWORD}@localhost/db",
    "https://user:<password>@host/",
    "https://user:pass@example.org",
    "mysql://root:changeme@db",
    "http://localhost:8080/@me",
    "git@github.com:owner/repo.git",
    "ssh://git@github.com:22/owner/repo",
    "Authorization: Bearer <token>",
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer your-access-token-goes-here",
    "eyJhbGciOiJ and the rest",
    "eyJub3QtYS1qd3QtaGVhZGVy.eyJub3QtYS1qd3QtaGVhZGVy.eyJub3QtYS1qd3QtaGVhZGVy",
    "hf_hub_download and hf_transfer",
    "hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
    "AIza is how Google's keys begin",
    "data:image/png;base64," + some(ALNUM, 200),
    "pypi-publish and xoxb-bots",
    "pk_live_" + some(ALNUM, 24),
    "version 1.2.3 at 10:30:59 on 127.0.0.1:8080",
]


@pytest.mark.parametrize("text", HARMLESS, ids=range(len(HARMLESS)))
def test_look_alikes_pass(text: str):
    assert find_secret(text) is None
    assert find_secret(f"We noted {text} today.\n") is None


@given(st.text(max_size=300))
def test_prose_passes(text: str):
    assert find_secret(text) is None


@pytest.mark.parametrize(
    "unit",
    [
        "sk-",
        "eyJ",
        "eyJ.",
        "eyJaaaaaaaaaaa.",
        "a://",
        "a://b:",
        "a.a-a+",
        "gh" + "p_",
        "AK" + "IA",
        "Authorization: Bearer ",
        "-----BEGIN PRIVATE " + "KEY-----\n",
        "-----BEGIN PRIVATE " + "KEY-----\nAbcd: x: Abcd: x\n",
        "xo" + "xb-",
        "1:AA",
        "aws_secret_access_key=",
        "ya" + "29.",
        "a",
    ],
)
def test_long_runs_are_no_trap(unit: str):
    assert find_secret(unit * (300_000 // len(unit))) is None
