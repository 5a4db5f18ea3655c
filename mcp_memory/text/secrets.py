"""Secrets by their shape: private keys, and tokens whose issuers gave them a recognisable form.

Only shapes that hardly occur otherwise are looked for, so hashes, UUIDs and prose pass; a password in plain words
is not recognised. Every pattern is anchored at a literal prefix and bounded in length, so time grows with the text
alone. Prefixes and lengths are those that the issuers document for secret scanning.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_PLACEHOLDER = re.compile(
    r"example|placeholder|redacted|change.?me|dummy|sample|fake|your[-_]|my[-_](?:secret|token|key|api)|xxxx|"
    r"\*\*\*|\.\.\.|…|<|>|\$\{|\{\{|abcdefgh|01234567|12345678",
    re.IGNORECASE,
)
_FEWEST_DISTINCT_CHARACTERS = 8
"""Fewer in a token of 16 characters or more, and a person has leant on a key."""

_COMMON_PASSWORDS = frozenset(
    (
        "password",
        "passwd",
        "pass",
        "pwd",
        "passphrase",
        "secret",
        "token",
        "key",
        "user",
        "username",
        "admin",
        "root",
        "test",
        "guest",
        "postgres",
        "mysql",
        "mongo",
        "redis",
        "rabbitmq",
        "elastic",
        "database",
        "changeme",
        "hunter2",
        "foobar",
        "hidden",
        "private",
        "credentials",
    )
)


def find_secret(text: str) -> str | None:
    """The kind of the first secret found, in words (`"GitHub token"`), or None. Never the secret itself."""
    return next((kind for _, _, kind in _found(text)), None)


def secrets_in(text: str) -> list[tuple[int, int, str]]:
    """Where secrets stand, in order, and their kinds. Of a private key no more than its beginning."""
    return sorted(_found(text))


def _found(text: str) -> Iterator[tuple[int, int, str]]:
    for shape in _SHAPES:
        if any(hint in text for hint in shape.hints):
            for match in shape.pattern.finditer(text):
                if shape.is_real(match[1]):
                    start, end = match.span(1) if shape.kind == "password in a URL" else match.span()
                    yield start, end, shape.kind


def _looks_random(value: str) -> bool:
    return len(set(value)) >= _FEWEST_DISTINCT_CHARACTERS and not _PLACEHOLDER.search(value)


def _mixed(value: str) -> bool:
    """Random, and with a digit: long words joined by hyphens have none."""
    return _looks_random(value) and any(character.isdigit() for character in value)


def _is_jwt(value: str) -> bool:
    header = value.partition(".")[0]
    try:
        decoded: object = json.loads(base64.urlsafe_b64decode(header + "=" * (-len(header) % 4)))
    except (ValueError, binascii.Error, RecursionError):
        return False
    return isinstance(decoded, dict) and "alg" in decoded


def _is_password(value: str) -> bool:
    if value.lower() in _COMMON_PASSWORDS or len(set(value)) < 4:
        return False
    return not (_PLACEHOLDER.search(value) or value[0] in "$%{[(" or value.lower().endswith(("password", "secret")))


@dataclass(frozen=True, slots=True)
class _Shape:
    """`hints` are literals, of which one is in every match: a cheap look before the pattern. The pattern's group is
    what `is_real` judges."""

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    is_real: Callable[[str], bool] = _looks_random


def _token(kind: str, prefixes: str, rest: str, is_real: Callable[[str], bool] = _looks_random) -> _Shape:
    """A token that begins with one of the space-separated literal prefixes and goes on as `rest` (to its end)."""
    hints = tuple(prefixes.split())
    start = "|".join(re.escape(prefix) for prefix in hints)
    return _Shape(kind, hints, re.compile(rf"(?<![A-Za-z0-9])(?:{start})({rest})(?![A-Za-z0-9])"), is_real)


_KEY_BLOCK = (
    r"-----BEGIN (?:[A-Z0-9]{2,10} ){0,2}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:\s|\\[rn]|[A-Za-z\-]{4,20}: [^\n]{1,80}\n){1,20}([A-Za-z0-9+/=]{40,76})"
)
_SHAPES: tuple[_Shape, ...] = (
    _Shape("private key", ("PRIVATE KEY",), re.compile(_KEY_BLOCK), lambda value: len(set(value)) > 5),
    _token("age secret key", "AGE-SECRET-KEY-1", "[0-9A-Z]{58}"),
    _token("AWS access key", "AKIA ASIA ABIA ACCA", "[A-Z2-7]{16}"),
    _Shape(
        "AWS secret access key",
        ("ecret", "ECRET"),
        re.compile(
            r"(?i)\baws_?secret_?(?:access_?)?key[\"']?\s{0,3}[=:]\s{0,3}[\"']?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"
        ),
        _mixed,
    ),
    _token("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", "[A-Za-z0-9]{36,76}"),
    _token("GitHub token", "github_pat_", "[A-Za-z0-9]{22}_[A-Za-z0-9]{59}"),
    _token("GitLab token", "glpat- gldt- glrt- glptt- glcbt- glsoat- glft- glimt- glagent-", r"[\w\-.]{20,64}", _mixed),
    _token("Slack token", "xoxb- xoxp- xoxa- xoxr- xoxs- xoxe- xoxe.", r"[A-Za-z0-9\-.]{20,250}", _mixed),
    _token("Slack token", "xapp-", r"[0-9]-[A-Z0-9]{8,14}-[0-9]{10,14}-[a-z0-9]{32,70}"),
    _token("Slack webhook", "hooks.slack.com/services/", "T[A-Z0-9]{7,12}/B[A-Z0-9]{7,12}/[A-Za-z0-9]{20,30}"),
    _token("Discord webhook", "discord.com/api/webhooks/ discordapp.com/api/webhooks/", r"[0-9]{17,20}/[\w\-]{60,70}"),
    _token("Stripe key", "sk_live_ rk_live_ sk_test_ rk_test_", "[A-Za-z0-9]{20,120}"),
    _token("Stripe webhook secret", "whsec_", "[A-Za-z0-9+/]{32,64}={0,2}", _mixed),
    _token("Anthropic key", "sk-ant-", r"[a-z]{3,8}[0-9]{2}-[\w\-]{60,120}"),
    _token("OpenRouter key", "sk-or-v1-", "[0-9a-f]{64}"),
    _token("OpenAI key", "sk-proj- sk-svcacct- sk-admin- sk-None-", r"[\w\-]{40,200}", _mixed),
    _token("OpenAI key", "sk-", "[A-Za-z0-9]{32,64}", _mixed),
    _token("Google API key", "AIza", r"[\w\-]{35}", _mixed),
    _token("Google OAuth token", "ya29.", r"[\w\-]{40,500}", _mixed),
    _token("Google OAuth secret", "GOCSPX-", r"[\w\-]{28}"),
    _token("npm token", "npm_", "[A-Za-z0-9]{36}"),
    _token("PyPI token", "pypi-AgE", r"[\w\-]{50,250}"),
    _token("RubyGems key", "rubygems_", "[0-9a-f]{48}"),
    _token("Docker token", "dckr_pat_ dckr_oat_", r"[\w\-]{27,40}"),
    _token("Hugging Face token", "hf_", "[A-Za-z]{34}"),
    _token("Groq key", "gsk_", "[A-Za-z0-9]{52}"),
    _token("xAI key", "xai-", "[A-Za-z0-9]{80}"),
    _token("Perplexity key", "pplx-", "[A-Za-z0-9]{48,56}"),
    _token("Replicate token", "r8_", "[A-Za-z0-9]{37}"),
    _token("SendGrid key", "SG.", r"[\w\-]{22}\.[\w\-]{43}"),
    _token("Shopify token", "shpat_ shpca_ shppa_ shpss_", "[0-9a-fA-F]{32}"),
    _token("DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_", "[0-9a-f]{64}"),
    _token("Databricks token", "dapi", "[0-9a-f]{32}(?:-[0-9])?"),
    _token("HashiCorp Vault token", "hvs. hvb. hvr.", r"[\w\-]{24,200}", _mixed),
    _token("Terraform Cloud token", "atlasv1.", r"[\w\-]{60,70}"),
    _token("Atlassian token", "ATATT3xFf", r"[\w\-=]{100,250}"),
    _token("Linear key", "lin_api_", "[A-Za-z0-9]{40}"),
    _token("Notion token", "ntn_", "[A-Za-z0-9]{43,50}"),
    _token("Grafana token", "glsa_ glc_", "[A-Za-z0-9+/=_]{32,200}", _mixed),
    _token("New Relic key", "NRAK-", "[A-Z0-9]{27}"),
    _token("Postman key", "PMAK-", "[0-9a-f]{24}-[0-9a-f]{34}"),
    _token("Supabase token", "sbp_", "[0-9a-f]{40}"),
    _token("Doppler token", "dp.pt. dp.st. dp.ct.", r"[\w.\-]{40,80}", _mixed),
    _token("Azure storage key", "AccountKey=", "[A-Za-z0-9+/]{86}=="),
    _Shape("Telegram bot token", (":AA",), re.compile(r"(?<![A-Za-z0-9])[0-9]{8,10}:(AA[\w\-]{33})(?![\w\-])")),
    _Shape(
        "JSON web token",
        ("eyJ",),
        re.compile(r"(?<![\w\-.])(eyJ[\w\-]{10,2000}\.[\w\-]{10,8000}\.[\w\-]{16,1000})(?![\w\-])"),
        _is_jwt,
    ),
    _Shape(
        "authorization header",
        ("uthorization", "UTHORIZATION"),
        re.compile(
            r"(?i)\bauthorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:bearer|basic|token)\s{1,3}([\w\-.+/~]{20,2000}={0,2})"
        ),
        _mixed,
    ),
    _Shape(
        "password in a URL",
        ("://",),
        re.compile(
            r"(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9+.\-]{1,20}://[^\s/:@\"'<>]{0,100}:([^\s/:@\"'<>]{4,200})@[\w\[]"
        ),
        _is_password,
    ),
)
