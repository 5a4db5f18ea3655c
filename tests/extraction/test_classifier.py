"""What the embedding model is asked about sentences, a few at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from mcp_memory.errors import EmbedderUnavailable
from mcp_memory.statements.classifier import AT_ONCE, SentenceModel


class Counting:
    """Gives each text its length; fails from the call `fails_at` on."""

    def __init__(self, fails_at: int = 9, gives: bool = True) -> None:
        self.sizes: list[int] = []
        self.fails_at, self.gives = fails_at, gives

    def inner_states(self, texts: Sequence[str]) -> Any:
        self.sizes.append(len(texts))
        if len(self.sizes) > self.fails_at:
            raise EmbedderUnavailable("the embedding model does not answer")
        return np.array([[len(text)] for text in texts], dtype=np.float32) if self.gives else None


TEXTS = ["x" * at for at in range(2 * AT_ONCE + 5)]


def test_a_long_session_is_asked_about_in_calls_that_end_soon() -> None:
    embedder: Any = Counting()
    states = SentenceModel(embedder).states(TEXTS)
    assert embedder.sizes == [AT_ONCE, AT_ONCE, 5]
    assert states is not None and states[:, 0].tolist() == list(range(len(TEXTS)))


@pytest.mark.parametrize("embedder", [Counting(fails_at=1), Counting(gives=False)])
def test_without_all_answers_there_is_none(embedder: Any) -> None:
    assert SentenceModel(embedder).states(TEXTS) is None and len(embedder.sizes) <= 2


def test_nothing_is_asked_about_nothing() -> None:
    embedder: Any = Counting()
    assert SentenceModel(embedder).states([]) is None and not embedder.sizes
