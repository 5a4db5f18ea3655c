"""Asks the embedding model for its states of sentences."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from mcp_memory.embedders.base import Embedder
from mcp_memory.errors import McpMemoryError
from mcp_memory.statements.spoken import SpokenSentence

States = npt.NDArray[np.float32]

AT_ONCE = 64
"""The most texts in a call. A model that needs two seconds for a call is treated as hung, and queries run without
it."""

log = logging.getLogger(__name__)

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class SentenceModel:
    """Embeds sentences. Each answer is None without the bundled model, or if it fails; then only cues decide."""

    embedder: Embedder

    def states(self, texts: Sequence[str]) -> States | None:
        """Return the states of the middle layers. Shape (texts, width)."""
        return _in_batches(self.embedder.inner_states, texts)

    def states_in_context(self, spoken: Sequence[SpokenSentence]) -> States | None:
        """Return the states of sentences in context from the adapted model. Shape (sentences, width)."""
        return _in_batches(self.embedder.states_in_context, [one.in_context for one in spoken])


def _in_batches(ask: Callable[[Sequence[_T]], States | None], items: Sequence[_T]) -> States | None:
    found: list[States] = []
    try:
        for at in range(0, len(items), AT_ONCE):
            states = ask(items[at : at + AT_ONCE])
            if states is None:
                return None
            found.append(states)
    except McpMemoryError as error:
        log.warning("sentences are judged without a model: %s", error.code)
        return None
    return np.concatenate(found) if found else None
