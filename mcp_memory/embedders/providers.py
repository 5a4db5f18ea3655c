"""The services that embed texts over OpenAI's protocol: their addresses, models, keys and limits."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace

from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.errors import ConfigInvalid
from mcp_memory.runtime import model_endpoint
from mcp_memory.text.language.word_tables import read_table


@dataclass(frozen=True)
class Service:
    """A service, with the settings for which the configuration is empty, the limits of a request, and what it gets
    `more` with each."""

    title: str
    endpoint: str
    model: str
    api_key_env: str
    texts: int
    chars: int
    more: Mapping[str, str]


SERVICES = {name: Service(**table) for name, table in read_table("mcp_memory.embedders", "services.toml").items()}
"""Provider → service, in the order in which they are offered."""

LOCAL = ("auto", "local")
"""The providers that use a model on this machine."""


def fill_in(config: EmbedderConfig) -> tuple[EmbedderConfig, Service]:
    """Fill in the service's settings for which the configuration is empty, and return the service whose limits apply: a
    server of your own has those of Ollama. Raises ConfigInvalid for a wrong address, and if a key is needed and
    missing: a server of your own may need none."""
    service = SERVICES[config.provider]
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
    return filled, SERVICES["ollama"] if config.provider == "openai" and config.endpoint else service


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
