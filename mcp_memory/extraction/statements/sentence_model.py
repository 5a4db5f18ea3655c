"""Asks the embedding model what it makes of sentences."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mcp_memory.embedders.base import Embedder
from mcp_memory.errors import McpMemoryError
from mcp_memory.extraction.statements.spoken import SpokenSentence

States = npt.NDArray[np.float32]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SentenceModel:
    """Each answer is None without the bundled model, or if it fails: then cues decide alone."""

    embedder: Embedder

    def states(self, texts: Sequence[str]) -> States | None:
        """What its middle layers make of texts. Shape (texts, width)."""
        return _or_none(lambda: self.embedder.inner_states(texts))

    def states_in_context(self, spoken: Sequence[SpokenSentence]) -> States | None:
        """What it makes of sentences where they stand, being adapted to that. Shape (sentences, width)."""
        return _or_none(lambda: self.embedder.states_in_context([one.in_context for one in spoken]))


def _or_none(ask: Callable[[], States | None]) -> States | None:
    try:
        return ask()
    except McpMemoryError as error:
        log.warning("sentences are judged without a model: %s", error.code)
        return None
