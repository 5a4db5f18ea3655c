"""Judges by logistic regression how likely you want a sentence kept, by its cues and, with a model, by its vector.

`tests/benchmarks/train_statements.py` fits `weights.json` on the labelled sets. The vectors' weights are those of the
bundled model; with any other, or none, the cues decide alone.
"""

import json
import logging
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files

import numpy as np
import numpy.typing as npt

from mcp_memory.embedders.base import Embedder
from mcp_memory.errors import McpMemoryError

ONCE, PROPOSED = 0.8, 0.2
"""Stored at once, or proposed, from this likelihood on. Of 28 sessions, judged by weights that had not seen them, 94 %
of what is stored was right, and 57 % of what deserved it was stored; of 18 that fitted nothing, 82 % and 54 %."""
MODEL, DIMENSION = "all-MiniLM-L6-v2", 384

EmbedSentences = Callable[[Sequence[str]], npt.NDArray[np.float32] | None]
"""Embeds sentences, or returns None without the bundled model."""

log = logging.getLogger(__name__)


@cache
def _weights() -> dict[str, npt.NDArray[np.float64]]:
    table = json.loads((files("mcp_memory.extraction.statements") / "weights.json").read_text("utf-8"))
    return {name: np.array(rows) for name, rows in table.items()}


def likelihoods(
    texts: Sequence[str], features: Sequence[Sequence[float]], embed: EmbedSentences | None
) -> list[tuple[float, float]]:
    """For each sentence: how likely it deserves to be stored at once, and to be stored or proposed."""
    if not texts:
        return []
    table, name = np.array(features), "cues"
    vectors = embed(texts) if embed else None
    if vectors is not None:
        table, name = np.hstack([table, vectors]), "model"
    found = _weights()[name]
    shares = 1 / (1 + np.exp(-(table @ found[:, :-1].T + found[:, -1])))
    return [(float(once), float(kept)) for once, kept in shares]


def sentence_embedder(embedder: Embedder | None) -> EmbedSentences:
    def embed(texts: Sequence[str]) -> npt.NDArray[np.float32] | None:
        if embedder is None or MODEL not in embedder.fingerprint or embedder.dimension != DIMENSION:
            return None
        try:
            return embedder.embed_documents(texts)
        except McpMemoryError as error:
            log.warning("sentences are judged without a model: %s", error.code)
            return None

    return embed
