"""Child process that downloads a model from the Hugging Face hub: `python -m mcp_memory.embedders.hub NAME CACHE
TIMEOUT_S`."""

import sys
from typing import Any

from mcp_memory.embedders.child import Tell, answering
from mcp_memory.embedders.locate import OTHER_RUNTIMES, WANTED_SUFFIXES
from mcp_memory.errors import EmbedderUnavailable


def fetch(name: str, cache: str, timeout_s: float, tell: Tell) -> None:
    """Download the model's files, no code and no pickles; send `{"result": {"folder": …}}`.

    Raises EmbedderUnavailable if the hub does not answer or has no such model."""
    import huggingface_hub
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    hub: Any = huggingface_hub
    try:
        hub.HfApi().model_info(name, timeout=timeout_s)
        tell({"progress": f"downloading {name}"})
        folder = hub.snapshot_download(
            name,
            cache_dir=cache,
            etag_timeout=timeout_s,
            allow_patterns=[f"*{suffix}" for suffix in WANTED_SUFFIXES],
            ignore_patterns=[f"{folder}/*" for folder in OTHER_RUNTIMES],
        )
    except GatedRepoError as error:
        raise EmbedderUnavailable(f"{name} is gated on the hub", hint="accept its terms and set HF_TOKEN") from error
    except RepositoryNotFoundError as error:
        raise EmbedderUnavailable(f"the hub has no model {name}", hint="check the name in embedder.model") from error
    except Exception as error:
        # The library passes on any error of its HTTP client.
        raise EmbedderUnavailable(f"the hub cannot be used ({type(error).__name__})") from error
    tell({"result": {"folder": folder}})


if __name__ == "__main__":
    with answering() as tell_parent:
        fetch(sys.argv[1], sys.argv[2], float(sys.argv[3]), tell_parent)
