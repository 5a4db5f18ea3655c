"""Lists tokens that their issuers gave a recognizable form.

Prefixes and lengths come from issuers' documentation for secret scanning, the rules of gitleaks 8
(config/gitleaks.toml, read for these facts), and issuers' consoles and manuals. Forms that also fit hashes, UUIDs or
prose are omitted.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

PLACEHOLDER = re.compile(
    r"example|placeholder|redacted|change.?me|dummy|sample|fake|your[-_]|my[-_](?:secret|token|key|api)|xxxx|"
    r"\*\*\*|\.\.\.|…|<|>|\$\{|\{\{|abcdefgh|01234567|12345678",
    re.IGNORECASE,
)
_FEWEST_DISTINCT_CHARACTERS = 8
"""The minimum number of distinct characters. A token of 16 characters or more with fewer was typed by holding down
keys."""


def looks_random(value: str) -> bool:
    return len(set(value)) >= _FEWEST_DISTINCT_CHARACTERS and not PLACEHOLDER.search(value)


def mixed(value: str) -> bool:
    """Return whether a value is random and contains a digit; long words joined by hyphens have none."""
    return looks_random(value) and any(character.isdigit() for character in value)


@dataclass(frozen=True, slots=True)
class SecretShape:
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

_DOCUMENTED = (
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

_GITLEAKS = (
    _token("1Password token", "ops_eyJ", r"[A-Za-z0-9+/]{200,1000}={0,3}"),
    _token("1Password secret key", "A3-", r"[A-Z0-9]{6}-[A-Z0-9]{6}-?[A-Z0-9]{5}(?:-[A-Z0-9]{5}){3}"),
    _token("Adobe secret", "p8e-", "[A-Za-z0-9]{32}", mixed),
    _token("Airtable token", "pat", r"[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    _token("Alibaba access key", "LTAI", "[A-Za-z0-9]{12,20}", mixed),
    _token("Artifactory key", "AKCp", "[A-Za-z0-9]{60,70}", mixed),
    _token("Artifactory token", "cmVmd", "[A-Za-z0-9]{59}", mixed),
    _token("AWS Bedrock key", "ABSK", "[A-Za-z0-9+/]{100,269}={0,2}", mixed),
    _token("ClickHouse key", "4b1d", "[A-Za-z0-9]{38}", mixed),
    _token("Clojars token", "CLOJARS_", "[A-Za-z0-9]{60}"),
    _token("Cloudflare origin key", "v1.0-", "[0-9a-f]{24}-[0-9a-f]{146}"),
    _token("Duffel token", "duffel_live_ duffel_test_", r"[\w\-=]{43}"),
    _token("Dynatrace token", "dt0c01.", r"[A-Za-z0-9]{24}\.[A-Za-z0-9]{64}"),
    _token("EasyPost key", "EZAK EZTK", "[A-Za-z0-9]{54}"),
    _token("Facebook token", "EAACEdEose0cBA EAAM EAAC", "[A-Za-z0-9]{90,300}", mixed),
    _token("Flutterwave key", "FLWSECK_TEST- FLWSECK-", "[0-9a-f]{32}-X"),
    _token("Fly.io token", "fo1_", r"[\w\-]{43}"),
    _token("Fly.io token", "fm1a_ fm1r_ fm2_", "[A-Za-z0-9+/]{100,1000}={0,3}"),
    _token("Frame.io token", "fio-u-", r"[\w\-=]{64}"),
    _token("Harness token", "pat. sat.", r"[\w\-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}"),
    _token("Heroku key", "HRKU-", r"[\w\-]{36,70}", mixed),
    _token("Infracost key", "ico-", "[A-Za-z0-9]{32}", mixed),
    _token("MessageBird key", "live_ test_", "[A-Za-z0-9]{25,40}", mixed),
    _token("Octopus Deploy key", "API-", "[A-Z0-9]{26,30}", mixed),
    _token("OpenShift token", "sha256~", r"[\w\-]{43}"),
    _token("PlanetScale token", "pscale_tkn_ pscale_oauth_ pscale_pw_", r"[\w=.\-]{32,64}"),
    _token("Prefect token", "pnu_", "[A-Za-z0-9]{36}"),
    _token("Pulumi token", "pul-", "[0-9a-f]{40}"),
    _token("ReadMe token", "rdme_", "[a-z0-9]{70}"),
    _token("Scalingo token", "tk-us-", r"[\w\-]{48}"),
    _token("Brevo key", "xkeysib- xsmtpsib-", "[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    _token("Sentry token", "sntrys_", r"[\w+/=\-]{60,400}"),
    _token("Sentry token", "sntryu_ sntrya_ sntryi_", "[0-9a-f]{64}"),
    _token("Settlemint token", "sm_aat_ sm_pat_ sm_sat_", "[A-Za-z0-9]{16}", mixed),
    _token("Shippo token", "shippo_live_ shippo_test_", "[0-9a-fA-F]{40}"),
    _token("Sourcegraph token", "sgp_", "(?:(?:[0-9a-fA-F]{16}|local)_)?[0-9a-fA-F]{40}"),
    _token("Square token", "EAAA sq0atp- sq0csp-", r"[\w\-]{22,60}", mixed),
    _token("Twilio key", "SK AC", "[0-9a-f]{32}"),
    _token("Typeform token", "tfp_", r"[\w\-.=]{40,70}"),
)

_MANUALS = (
    _token("Braintree token", "access_token$production$ access_token$sandbox$", r"[a-z0-9]{16}\$[0-9a-f]{32}"),
    _token("Buildkite token", "bkua_ bkct_ bkat_", "[0-9A-Za-z]{40,64}"),
    _token("Cerebras key", "csk-", "[a-z0-9]{40,60}", mixed),
    _token("CircleCI token", "CCIPAT_ CCIPRJ_", "[A-Za-z0-9]{22}_[0-9a-f]{40}"),
    _token("Contentful token", "CFPAT-", r"[\w\-]{43}"),
    _token("crates.io token", "cio", "[A-Za-z0-9]{32}", mixed),
    _token("Cursor key", "key_", "[0-9a-f]{64}"),
    _token("Dropbox token", "sl.", r"[\w\-.]{100,1500}", mixed),
    _token("ElevenLabs key", "sk_", "[0-9a-f]{48}"),
    _token("Figma token", "figd_ figo_ figu_", r"[\w\-]{36,64}", mixed),
    _token("Fireworks key", "fw_", "[A-Za-z0-9]{22,32}", mixed),
    _token("LangSmith key", "lsv2_pt_ lsv2_sk_", "[0-9a-f]{32}_[0-9a-f]{10}"),
    _token("LaunchDarkly key", "sdk- api- mob-", "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"),
    _token("Langfuse key", "sk-lf-", "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"),
    _token("Mailgun key", "key-", "[0-9a-f]{32}"),
    _token("Mapbox token", "sk.eyJ", r"[\w\-]{40,300}\.[\w\-]{20,40}"),
    _token("Neon key", "napi_", "[a-z0-9]{60,70}"),
    _token("Netlify token", "nfp_ nfo_ nfc_", "[A-Za-z0-9]{36,40}"),
    _token("Notion token", "secret_", "[A-Za-z0-9]{43}", mixed),
    _token("NuGet key", "oy2", "[a-z0-9]{43}", mixed),
    _token("NVIDIA key", "nvapi-", r"[\w\-]{60,70}", mixed),
    _token("Pinecone key", "pcsk_", r"[A-Za-z0-9]{4,8}_[A-Za-z0-9]{40,70}"),
    _token("Render key", "rnd_", "[A-Za-z0-9]{28,40}", mixed),
    _token("SonarQube token", "squ_ sqp_ sqa_", "[0-9a-f]{40}"),
    _token("Tailscale key", "tskey-", r"[a-z]{3,10}-[A-Za-z0-9]{10,20}-[A-Za-z0-9]{20,40}", mixed),
    _token("Tavily key", "tvly-", r"(?:dev-|prod-)?[A-Za-z0-9\-]{24,48}", mixed),
    _token("Twitch token", "oauth:", "[a-z0-9]{30}", mixed),
    _token("Apify token", "apify_api_", "[A-Za-z0-9]{36}"),
    _token("AWS session token", "IQoJb3JpZ2luX2Vj FwoGZXIvYXdzE", "[A-Za-z0-9+/]{100,2000}={0,2}", mixed),
    _token("Bitbucket password", "ATBB", "[A-Za-z0-9]{28,40}"),
    _token("Atlassian token", "ATCTT3xFf", r"[\w\-=]{100,250}"),
    _token("Context7 key", "ctx7sk-", "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"),
    _token("Cursor key", "crsr_", "[0-9a-f]{64}"),
    _token("E2B key", "e2b_", "[0-9a-f]{40}"),
    _token("Firecrawl key", "fc-", "[0-9a-f]{32}"),
    _token("Jina key", "jina_", r"[\w\-]{50,70}", mixed),
    _token("PostHog key", "phx_", "[A-Za-z0-9]{40,60}"),
    _token("Resend key", "re_", "[A-Za-z0-9]{8}_[A-Za-z0-9]{20,32}", mixed),
    _token("RunPod key", "rpa_", "[A-Z0-9]{40,60}", mixed),
    _token("Supabase key", "sb_secret_", r"[\w\-]{28,40}"),
    _token(
        "Teams webhook",
        "webhook.office.com/webhookb2/",
        r"[0-9a-f\-]{36}@[0-9a-f\-]{36}/IncomingWebhook/[\w\-/]{32,140}",
    ),
    _token("Trello token", "ATTA", "[0-9a-fA-F]{64,72}"),
    _token("Vercel token", "vercel_blob_rw_", "[A-Za-z0-9]{16}_[A-Za-z0-9]{30,40}"),
    _token("Zapier webhook", "hooks.zapier.com/hooks/catch/", r"[0-9]{4,10}/\w{6,10}", mixed),
    _token("Vercel token", "vcp_ vci_ vca_ vcr_ vck_", r"[A-Za-z0-9]{24,64}", mixed),
)

TOKENS: tuple[SecretShape, ...] = (*_DOCUMENTED, *_GITLEAKS, *_MANUALS)
