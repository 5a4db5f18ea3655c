"""Run a model that cannot be compiled, with sentence-transformers and torch in this process."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mcp_memory.embedders import onnx_export
from mcp_memory.embedders.inputs import CHARS_PER_TOKEN, prepared, prompts_mark
from mcp_memory.embedders.locate import ModelSource
from mcp_memory.errors import EmbedderUnavailable

if TYPE_CHECKING:
    from mcp_memory.embedders.base import SentenceInContext
    from mcp_memory.models import Vectors

MAX_TOKENS = 1024
"""The most tokens for a model that states no limit."""

BATCH = 8
"""The texts of a run."""


class TorchEmbedder:
    """An `Embedder`; a lock makes it thread-safe, because tokenizers have state."""

    resident = True

    def __init__(self, source: ModelSource, query_prompt: str = "", document_prompt: str = "") -> None:
        """Open the model. A prompt that isn't empty replaces the model's own. Raises EmbedderUnavailable."""
        self._model: Any = onnx_export.load(source)
        self._lock = threading.Lock()
        model_query, model_document = onnx_export.prompts(self._model)
        self._query_prompt = query_prompt or model_query
        self._document_prompt = document_prompt or model_document
        limit = onnx_export.max_seq_length(self._model, MAX_TOKENS)
        self._max_chars = limit * CHARS_PER_TOKEN
        self.dimension = int(self._model.get_embedding_dimension())
        self.fingerprint = (
            f"{source.name}@{source.revision[:12]} pooling={onnx_export.pooling(self._model)} normalised max={limit} "
            f"torch prompts={prompts_mark(self._query_prompt, self._document_prompt)}"
        )

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        return self._encode("encode_document", texts, self._document_prompt)

    def embed_query(self, text: str) -> Vectors:
        return self._encode("encode_query", [text], self._query_prompt)[0]

    def inner_states(self, texts: Sequence[str]) -> None:  # noqa: ARG002 - of the protocol
        return None

    def states_in_context(self, sentences: Sequence[SentenceInContext]) -> None:  # noqa: ARG002 - of the protocol
        return None

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
