"""Check an OpenAI-compatible endpoint's address and word its refusals, without quoting a key or a text."""

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from mcp_memory.errors import ConfigInvalid


def check(section: str, endpoint: str, model: str) -> None:
    """Check an address and a model's name; `section` is where in the configuration both come from. Raises
    ConfigInvalid."""
    if not _is_address(endpoint):
        raise ConfigInvalid(
            f"{section}.endpoint is no http(s) address", hint='say "https://api.openai.com/v1" or your own server\'s'
        )
    if not model:
        raise ConfigInvalid(f"{section}.model is empty", hint="name one of the endpoint's models")


def public(endpoint: str) -> str:
    """Return the address without user, password and query, for messages and fingerprints."""
    parts = urlsplit(endpoint)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.hostname or ''}{port}{parts.path.rstrip('/')}"


def reason(body: bytes) -> str:
    """Return the answer's machine-readable code in brackets; its message is dropped, since it may quote texts."""
    try:
        code: Any = json.loads(body)["error"]["code"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return ""
    return f" ({code})" if isinstance(code, str) and re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", code) else ""


def hints(section: str, model: str, api_key_env: str) -> Mapping[int, str]:
    """Return hints on a refusal, by its HTTP status."""
    return {
        401: f"is the key in the environment variable {api_key_env} right?",
        403: f"may the key in the environment variable {api_key_env} use this model?",
        404: f"is {model!r} the model's name, and does {section}.endpoint end as its manual says (often /v1)?",
    }


def _is_address(endpoint: str) -> bool:
    try:
        parts = urlsplit(endpoint)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
