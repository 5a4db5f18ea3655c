"""Lists tokens that their issuers gave a recognizable form.

Prefixes and lengths come from issuers' documentation for secret scanning, the rules of gitleaks 8
(config/gitleaks.toml, read for these facts), and issuers' consoles and manuals. Forms that also fit hashes, UUIDs or
prose are omitted.
"""

import re
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

_PLACEHOLDER = re.compile(
    r"example|placeholder|redacted|change.?me|dummy|sample|fake|your[-_]|my[-_](?:secret|token|key|api)|xxxx|"
    r"\*\*\*|\.\.\.|…|<|>|\$\{|\{\{",
    re.IGNORECASE,
)
_SEQUENCE = re.compile(r"0?12345678[0-9]*|abcdefgh[a-z]*", re.IGNORECASE)
_SMALL_WORDS = re.compile(r"[a-z0-9_\-./+=]*")
_FEWEST_DISTINCT_CHARACTERS = 8
"""The minimum number of distinct characters. A token of 16 characters or more with fewer was typed by holding down
keys."""


def is_placeholder(value: str) -> bool:
    """Return whether a value is a placeholder: words of a manual, or a sequence such as `12345678` or the alphabet with
    only plain characters around it."""
    rest = _SEQUENCE.sub("", value)
    return bool(_PLACEHOLDER.search(value)) or (rest != value and bool(_SMALL_WORDS.fullmatch(rest)))


def mixed_or_sequence(value: str) -> bool:
    """Return whether a value has letters and digits where only a token can be, even if they are in order."""
    has_digit = any(map(str.isdigit, value))
    return len(set(value)) >= _FEWEST_DISTINCT_CHARACTERS and has_digit and not _PLACEHOLDER.search(value)


def looks_random(value: str) -> bool:
    return len(set(value)) >= _FEWEST_DISTINCT_CHARACTERS and not is_placeholder(value)


def mixed(value: str) -> bool:
    """Return whether a value is random and contains a digit; long words joined by hyphens have none."""
    return looks_random(value) and any(character.isdigit() for character in value)


def _is_one_run(value: str) -> bool:
    """Return whether digits and letters alternate often enough: a name has its digits at its end."""
    turns = sum(a.isdigit() != b.isdigit() for a, b in pairwise(value))
    return mixed(value) and turns >= len(value) // 8


_LEAST_TURNS = {True: 0.35, False: 0.2}
"""The minimum share of adjacent characters that differ in kind, with letters of both cases or of one. Random
characters have .62 and .4."""
_LEAST_TURNS_WITH_FEW_DIGITS = 0.5


def looks_drawn(value: str) -> bool:
    """Return whether digits and letters of either case alternate as in a random text, and as in no name."""
    kinds = [(a.isdigit(), a.isupper(), b.isdigit(), b.isupper()) for a, b in pairwise(value) if (a + b).isalnum()]
    turns = sum(kind[:2] != kind[2:] for kind in kinds)
    digit_runs = len(re.findall("[0-9]+", value))
    least = _LEAST_TURNS[has_both_cases(value)] if digit_runs > 1 else _LEAST_TURNS_WITH_FEW_DIGITS
    return mixed(value) and turns >= least * len(kinds)


def has_both_cases(value: str) -> bool:
    return value.upper() != value != value.lower()


_IDENTIFIERS = frozenset(
    "id uuid guid sha sha1 sha256 sha384 sha512 md5 hash commit rev ref build image img layer digest cache trace span "  # noqa: SIM905 -- a list of words
    "tx block etag blob object obj req request resp response rs fc msg message run job batch event evt file chunk page "
    "step item fingerprint checksum integrity version release tag asset pk pub public publishable ses sess "
    "session thread conversation user account customer order product price".split()
)
"""Words in front of an identifier."""


class SecretShape(NamedTuple):
    """The form of a secret. Every match contains one of the literals in `hints`, a cheap check before the pattern.
    `is_real` judges the pattern's group `secret`, which gets redacted."""

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    is_real: Callable[[str], bool] = looks_random


def shape(kind: str, hints: str, pattern: str, is_real: Callable[[str], bool] = looks_random) -> SecretShape:
    """Create a form; `hints` are separated by spaces."""
    return SecretShape(kind, tuple(hints.split()), re.compile(pattern), is_real)


def _token(kind: str, prefixes: str, rest: str, is_real: Callable[[str], bool] = looks_random) -> SecretShape:
    """Create the form of a token that begins with any of the space-separated literal prefixes and continues with
    `rest`."""
    start = "|".join(map(_beginning, prefixes.split()))
    return shape(kind, prefixes, rf"(?:{start})(?P<secret>{rest})(?![A-Za-z0-9])", is_real)


def _beginning(prefix: str) -> str:
    """Match a prefix only at the start of a word or after an escaped line end in JSON. The literal comes first, to be
    found fast."""
    literal = re.escape(prefix)
    return rf"{literal}(?:(?<![A-Za-z0-9]{literal})|(?<=\\[nrt]{literal}))"


OWN_PREFIX = "mcpm_"
"""The prefix of the daemon's tokens for its clients."""

DOCUMENTED = (
    _token("mcp-memory token", OWN_PREFIX, r"[\w\-]{43}"),
    _token("age secret key", "AGE-SECRET-KEY-1", "[0-9A-Z]{58}"),
    _token("AWS access key", "AKIA ASIA ABIA ACCA", "[A-Z2-7]{16}"),
    _token("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", "[A-Za-z0-9]{36,76}"),
    _token("GitHub token", "github_pat_", "[A-Za-z0-9]{22}_[A-Za-z0-9]{59}"),
    _token(
        "GitLab token",
        "glpat- gldt- glrt- glptt- glcbt- glsoat- glft- glffct- glimt- glagent- gloas- GR1348941",
        r"[\w\-.]{20,64}",
        mixed,
    ),
    _token("Slack token", "xoxb- xoxp- xoxa- xoxr- xoxs- xoxo- xoxe- xoxe.", r"[A-Za-z0-9\-.]{20,250}", mixed),
    _token("Slack token", "xapp-", r"[0-9]-[A-Z0-9]{8,14}-[0-9]{10,14}-[a-z0-9]{32,70}"),
    _token("Slack webhook", "hooks.slack.com/services/", "T[A-Z0-9]{7,12}/B[A-Z0-9]{7,12}/[A-Za-z0-9]{20,30}"),
    _token("Discord webhook", "discord.com/api/webhooks/ discordapp.com/api/webhooks/", r"[0-9]{17,20}/[\w\-]{60,70}"),
    _token("Stripe key", "sk_live_ rk_live_ sk_test_ rk_test_ sk_prod_ rk_prod_", "[A-Za-z0-9]{20,120}"),
    _token("Stripe webhook secret", "whsec_", "[A-Za-z0-9+/]{32,64}={0,2}", mixed),
    _token("Anthropic key", "sk-ant-", r"[a-z]{3,8}[0-9]{2}-[\w\-]{60,120}"),
    _token("OpenRouter key", "sk-or-v1-", "[0-9a-f]{64}"),
    _token("OpenAI key", "sk-proj- sk-svcacct- sk-admin- sk-None-", r"[\w\-]{40,200}", mixed),
    _token("OpenAI key", "sk-", "[A-Za-z0-9]{32,64}", mixed),
    _token("Google API key", "AIza", r"[\w\-]{35}", mixed),
    _token("Google OAuth token", "ya29. 1//0", r"[\w\-]{40,500}", mixed),
    _token("Google OAuth secret", "GOCSPX-", r"[\w\-]{28}"),
    _token("npm token", "npm_", "[A-Za-z0-9]{36}"),
    _token("PyPI token", "pypi-AgE", r"[\w\-]{50,250}"),
    _token("RubyGems key", "rubygems_", "[0-9a-f]{48}"),
    _token("Docker token", "dckr_pat_ dckr_oat_", r"[\w\-]{27,40}"),
    _token("Hugging Face token", "hf_ api_org_", "[A-Za-z]{34}"),
    _token("Groq key", "gsk_", "[A-Za-z0-9]{52}"),
    _token("xAI key", "xai-", "[A-Za-z0-9]{80}"),
    _token("Perplexity key", "pplx-", "[A-Za-z0-9]{48,56}"),
    _token("Replicate token", "r8_", "[A-Za-z0-9]{37}"),
    _token("SendGrid key", "SG.", r"[\w\-]{22}\.[\w\-]{43}"),
    _token("Shopify token", "shpat_ shpca_ shppa_ shpss_", "[0-9a-fA-F]{32}"),
    _token("DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_", "[0-9a-f]{64}"),
    _token("Databricks token", "dapi", "[0-9a-f]{32}(?:-[0-9])?"),
    _token("HashiCorp Vault token", "hvs. hvb. hvr.", r"[\w\-]{24,300}", mixed),
    _token("Terraform Cloud token", "atlasv1.", r"[\w\-]{60,70}"),
    _token("Atlassian token", "ATATT3xFf", r"[\w\-=]{100,250}"),
    _token("Linear key", "lin_api_", "[A-Za-z0-9]{40}"),
    _token("Notion token", "ntn_", "[A-Za-z0-9]{43,50}"),
    _token("Grafana token", "glsa_ glc_", "[A-Za-z0-9+/=_]{32,400}", mixed),
    _token("New Relic key", "NRAK-", "[A-Z0-9]{27}"),
    _token("Postman key", "PMAK-", "[0-9a-f]{24}-[0-9a-f]{34}"),
    _token("Supabase token", "sbp_", "[0-9a-f]{40}"),
    _token("Doppler token", "dp.pt. dp.st. dp.ct.", r"[\w.\-]{40,80}", mixed),
)

_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_LESS_COMMON = (
    _token("1Password secret key", "A3-", r"[A-Z0-9]{6}-[A-Z0-9]{6}-?[A-Z0-9]{5}(?:-[A-Z0-9]{5}){3}"),
    _token("Airtable token", "pat", r"[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    _token("ElevenLabs key", "sk_", "[0-9a-f]{48}"),
    _token("Resend key", "re_", "[A-Za-z0-9]{8}_[A-Za-z0-9]{20,32}", mixed),
    _token("Twilio key", "SK AC", "[0-9a-f]{32}"),
    _token(
        "Teams webhook",
        "webhook.office.com/webhookb2/",
        r"[0-9a-f\-]{36}@[0-9a-f\-]{36}/IncomingWebhook/[\w\-/]{32,140}",
    ),
    _token("Zapier webhook", "hooks.zapier.com/hooks/catch/", r"[0-9]{4,10}/\w{6,10}", mixed),
    _token("access token", "sdk- api- mob- sk-lf- ctx7sk-", _UUID),
    _token(
        "access token",
        "ABSK AKCp API- ATBB ATTA EAAC EAAM EZAK EZTK FLWSECK- FLWSECK_TEST- FwoGZXIvYXdzE IQoJb3JpZ2luX2Vj LTAI "
        "cio cmVmd csk- fc- fw_ ico- key- key_ nfc_ nfo_ nfp_ oauth: oy2 p8e- pnu_ pul- rnd_ rpa_",
        r"[A-Za-z0-9+/]{16,2000}(?:[_\-][\w\-]{1,200})?={0,2}",
        _is_one_run,
    ),
    _token(
        "access token",
        "ATCTT3xFf CCIPAT_ CCIPRJ_ CFPAT- CLOJARS_ EAAA HRKU- access_token$production$ access_token$sandbox$ "
        "apify_api_ dt0c01. duffel_live_ duffel_test_ figd_ figo_ figu_ fio-u- fm1a_ fm1r_ fm2_ fo1_ jina_ ops_eyJ "
        "pat. pscale_oauth_ pscale_pw_ pscale_tkn_ sat. sb_secret_ sha256~ sk.eyJ sl. sntrys_ sq0atp- sq0csp- "
        "tfp_ tk-us- tskey- tvly- v1.0- vercel_blob_rw_ xkeysib- xsmtpsib-",
        r"[\w\-.+/=$]{20,2000}",
        mixed,
    ),
)
"""Tokens of issuers that are rare in notes. A prefix is enough for most of them, so they share a pattern and a name."""

TOKENS: tuple[SecretShape, ...] = (*DOCUMENTED, *_LESS_COMMON)

ISSUED = re.compile(
    r"(?<![\w\-./+%&@])(?=[\w\-]{31})(?P<issuer>[a-z][a-z0-9]{1,11}(?:[_\-][a-z0-9]{1,8}){0,3}?)"
    r"(?P<joint>[_\-])(?P<secret>(?=[\w\-]{0,40}[0-9])[\w\-]{29,2000})(?![\w\-]|\.[A-Za-z])"
)
"""Matches words that could be a token of an issuer who isn't listed: a short name, and many characters."""
_LEAST_ISSUED_CHARS = 30
_LEAST_ISSUED_DIGEST_CHARS = 32
_CHARS_BETWEEN_JOINTS = 8


def is_identifier(value: str) -> bool:
    """Return whether a part of the value names the thing that it identifies: `ses_`, `sha256-`."""
    return not _IDENTIFIERS.isdisjoint(re.split(r"[_\-]", value))


def is_issued(match: re.Match[str]) -> bool:
    """Return whether the characters after an issuer's name are random, and the name is none of identifiers."""
    value = match["secret"]
    if len(value) < _LEAST_ISSUED_CHARS or is_identifier(match[0]):
        return False
    pieces = re.split(r"[_\-]", value)
    longest = max(pieces, key=len)
    hyphenated = match["joint"] == "-" or "-" in value
    if has_both_cases(longest):
        return len(pieces) * _CHARS_BETWEEN_JOINTS <= len(value) + _CHARS_BETWEEN_JOINTS and looks_drawn(value)
    # Digests follow a name and a hyphen: the keys of caches, the names of images.
    return not hyphenated and len(longest) >= _LEAST_ISSUED_DIGEST_CHARS and looks_drawn(longest)
