"""The services that embed texts over OpenAI's protocol: their addresses, models, keys and limits."""

import os
import shutil
from dataclasses import dataclass, replace

from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.errors import ConfigInvalid
from mcp_memory.runtime import model_endpoint


@dataclass(frozen=True)
class Service:
    """A service, with the settings for which the configuration is empty. `texts` and `chars` limit a request, at one
    character for each token that the service takes, since few scripts need more. `encoding_format` is empty where the
    service refuses "float"."""

    title: str
    endpoint: str
    model: str
    api_key_env: str
    texts: int
    chars: int
    encoding_format: str = "float"


# At most 256 texts: their answer takes some 20 MB of memory.
SERVICES = {
    "openai": Service("OpenAI", "https://api.openai.com/v1", "text-embedding-3-small", "OPENAI_API_KEY", 256, 300_000),
    "gemini": Service(
        "Gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "gemini-embedding-001",
        "GEMINI_API_KEY",
        100,
        200_000,
        encoding_format="",
    ),
    "voyage": Service(
        "Voyage", "https://api.voyageai.com/v1", "voyage-4", "VOYAGE_API_KEY", 256, 320_000, encoding_format=""
    ),
    "mistral": Service("Mistral", "https://api.mistral.ai/v1", "mistral-embed", "MISTRAL_API_KEY", 256, 16_000),
    "ollama": Service("Ollama", "", "bge-m3", "", 32, 64_000),
}
"""Provider → service, in the order in which they are offered."""


LOCAL = ("auto", "local")
"""The providers that use a model on this machine."""


def fill_in(config: EmbedderConfig) -> EmbedderConfig:
    """Fill in the service's settings for which the configuration is empty. Raises ConfigInvalid for a wrong address,
    and if a key is needed and missing: a server of your own may need none."""
    service = SERVICES.get(config.provider)
    if service is None:
        return config
    filled = replace(
        config,
        endpoint=config.endpoint or service.endpoint or _ollama_address(),
        model=config.model or service.model,
        api_key_env=config.api_key_env or service.api_key_env,
    )
    model_endpoint.check("embedder", filled.endpoint, filled.model)
    key = filled.api_key_env
    if key and not os.environ.get(key) and (config.api_key_env or not config.endpoint):
        raise ConfigInvalid(
            f"the environment variable {key} with the key for {service.title} isn't set",
            hint=f"export {key}=YOUR-KEY; mcp-memory restart",
        )
    return filled


def limits_of(filled: EmbedderConfig) -> Service:
    """Return the service whose limits apply; a server of your own has those of Ollama."""
    is_own = filled.provider == "openai" and filled.endpoint != SERVICES["openai"].endpoint
    return SERVICES["ollama" if is_own else filled.provider]


def find_substitute(provider: str) -> str | None:
    """Return the first service whose key is set or whose program is installed here, for a local model that can't be
    used. Calls nothing."""
    if provider not in LOCAL:
        return None
    found = (name for name, service in SERVICES.items() if os.environ.get(service.api_key_env or "OLLAMA_HOST"))
    return next(found, "ollama" if shutil.which("ollama") else None)


def offer(name: str) -> str:
    """Return what to write into the configuration to use a service, and what it then gets."""
    return f'provider = "{name}" under [embedder] sends the texts of your notes to {SERVICES[name].title}'


def _ollama_address() -> str:
    """Return the address in OLLAMA_HOST, in any of the forms that Ollama reads, or the usual one."""
    scheme, _, host = os.environ.get("OLLAMA_HOST", "").rstrip("/").rpartition("//")
    port = "" if scheme or ":" in host else ":11434"
    return f"{scheme or 'http:'}//{host or '127.0.0.1'}{port}/v1"
