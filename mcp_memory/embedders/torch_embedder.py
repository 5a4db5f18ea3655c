"""Run a model that isn't bundled, with sentence-transformers and torch in this process."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mcp_memory.embedders.base import WithoutStates
from mcp_memory.embedders.inputs import CHARS_PER_TOKEN, prepared, prompts_mark
from mcp_memory.embedders.locate import ModelSource
from mcp_memory.errors import EmbedderUnavailable
from mcp_memory.runtime import telemetry

if TYPE_CHECKING:
    from mcp_memory.models import Vectors

MAX_TOKENS = 1024
"""The most tokens of an input; longer inputs are cut: no chunk is longer, and attention grows with the square."""

BATCH = 8
"""The texts of a run. A model that takes ten seconds for each still embeds them well within two minutes."""

DOCUMENT_PROMPTS = ("document", "passage", "corpus")
"""Names under which `SentenceTransformer.encode_document` looks for a prompt, in order."""


class TorchEmbedder(WithoutStates):
    """An `Embedder`; a lock makes it thread-safe, because tokenizers have state."""

    resident = True
    texts_at_once = BATCH

    def __init__(self, source: ModelSource, query_prompt: str = "", document_prompt: str = "") -> None:
        """Open the model. A prompt that isn't empty replaces the model's own. Raises EmbedderUnavailable."""
        self._model: Any = load_model(source)
        self._lock = threading.Lock()
        # `encode_query` and `encode_document` prepend these prompts of the model.
        own = self._model.prompts
        usual = own.get(self._model.default_prompt_name) or ""
        model_document = next((own[name] for name in DOCUMENT_PROMPTS if name in own), usual)
        self._query_prompt = query_prompt or own.get("query", usual) or ""
        self._document_prompt = document_prompt or model_document or ""
        # Some tokenizers state an absurd number for "no limit".
        limit = min(MAX_TOKENS, self._model.max_seq_length or MAX_TOKENS)
        self._max_chars = limit * CHARS_PER_TOKEN
        self.dimension = int(self._model.get_embedding_dimension())
        self.fingerprint = (
            f"{source.name}@{source.revision[:12]} pooling={_pooling(self._model)} normalised max={limit} "
            f"torch prompts={prompts_mark(self._query_prompt, self._document_prompt)}"
        )

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        return self._encode("encode_document", texts, self._document_prompt)

    def embed_query(self, text: str) -> Vectors:
        return self._encode("encode_query", [text], self._query_prompt)[0]

    def close(self) -> None:
        with self._lock:
            self._model = None

    def _encode(self, method: str, texts: Sequence[str], prompt: str) -> Vectors:
        import numpy as np

        with self._lock:
            if self._model is None:
                raise EmbedderUnavailable("the embedding model is closed")
            try:
                vectors = getattr(self._model, method)(
                    [prepared(text, "", self._max_chars) for text in texts],
                    prompt=prompt,
                    batch_size=BATCH,
                    normalize_embeddings=True,
                    show_progress_bar=False,
                )
            except Exception as error:
                # A foreign model may raise anything, and its message may contain the text.
                raise EmbedderUnavailable(f"the embedding model failed ({type(error).__name__})") from error
        return np.asarray(vectors, dtype=np.float32)


def load_model(source: ModelSource) -> Any:
    """Load the SentenceTransformer in `source`: only files on disk, none of their code, only safetensors, float32.

    Raises EmbedderUnavailable."""
    telemetry.switch_off()
    # Imported by name: a type checker would otherwise read all of torch and transformers, for half a minute.
    torch: Any = importlib.import_module("torch")
    library: Any = importlib.import_module("sentence_transformers")
    options = {"use_safetensors": True, "dtype": torch.float32}
    try:
        model = library.SentenceTransformer(
            str(source.folder), device="cpu", local_files_only=True, trust_remote_code=False, model_kwargs=options
        )
    except Exception as error:  # a foreign model's files may make the library raise anything
        raise EmbedderUnavailable(f"sentence-transformers cannot load {source.name}: {error}") from error
    return model.eval()


def _pooling(model: Any) -> str:
    """Return `mean`, `cls`, …; several joined by `+`; `-` for a pipeline without a pooling module."""
    for module in model:
        if type(module).__name__ == "Pooling":
            mode = module.pooling_mode
            return mode if isinstance(mode, str) else "+".join(mode)
    return "-"
