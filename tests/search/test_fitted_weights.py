"""The weights fitted to the bundled model, their trainers, and the rules for other models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from mcp_memory.embedders.base import Embedder, EmbedderConfig
from mcp_memory.embedders.open_embedder import open_embedder
from mcp_memory.index.base import ScoredRows
from mcp_memory.search.confidence import comparable_cosine, fitted_weights
from mcp_memory.search.memory_intent import MemoryIntent
from tests.benchmarks.train_memory_intent import examples, train_memory_intent
from tests.support.toy import ToyEmbedder
from tests.support.world import EXHAUSTIVE, World


@pytest.fixture(scope="module")
def bundled(model_cache: Path) -> Embedder:
    return open_embedder(EmbedderConfig(), model_cache)


def odds(intent: MemoryIntent, embedder: Embedder, prompts: Sequence[str]) -> np.ndarray:
    return np.array([intent.log_odds(prompt, embedder.embed_query(prompt)) for prompt in prompts])


def test_the_shipped_weights_tell_the_examples_apart(bundled: Embedder) -> None:
    assert fitted_weights().fit(bundled) and not fitted_weights().fit(ToyEmbedder())
    prompts, wanted = (each[::10] for each in examples())
    assert ((odds(fitted_weights().memory_intent, bundled, prompts) > 0) == np.array(wanted)).mean() > 0.75


@pytest.mark.skipif(not EXHAUSTIVE, reason="a quarter of a minute of embedding; MCP_MEMORY_EXHAUSTIVE=1")
def test_the_shipped_weights_are_what_the_trainer_learns(bundled: Embedder) -> None:
    """If the examples or the compiled model changed: `python -m tests.benchmarks.train_memory_intent`."""
    prompts, wanted = examples()
    learned = train_memory_intent(prompts, np.stack([bundled.embed_query(prompt) for prompt in prompts]), wanted)
    shipped = fitted_weights().memory_intent
    assert np.abs(odds(shipped, bundled, prompts[::10]) - odds(learned, bundled, prompts[::10])).max() < 0.1


def test_another_models_best_cosine_is_taken_to_the_bundled_models_scale() -> None:
    """Unrelated passages may have a cosine of .1 or of .7; the same passage always has 1."""
    usual = ScoredRows(np.arange(40), np.linspace(0.5, -0.3, 40, dtype=np.float32))
    assert comparable_cosine(usual, 0.5) == pytest.approx(0.5)
    narrow = ScoredRows(usual.ids, 1 - (1 - usual.scores) / 3)
    assert comparable_cosine(narrow, 1 - 0.5 / 3) == pytest.approx(0.5)
    few, same = ScoredRows(usual.ids[:5], usual.scores[:5]), ScoredRows(usual.ids, np.ones(40, np.float32))
    assert comparable_cosine(few, 0.5) is None is comparable_cosine(same, 1.0)


@pytest.mark.anyio
async def test_a_prompt_with_another_model_is_judged_by_its_wording(toy_world: World) -> None:
    for number in range(30):
        toy_world.write(f"notes/{number}.md", f"Heron number {number} was seen at the mill.")
    toy_world.write("notes/queue.md", "We use LISTEN and NOTIFY for the queue.")
    async with toy_world.engine() as engine:
        wanted, other = [
            await engine.search(prompt, is_prompt=True, explain=True)
            for prompt in ("why did we drop rabbit for our queue?", "what is a queue?")
        ]
        assert wanted.hits[0].path == other.hits[0].path == "notes/queue.md"
        assert wanted.signs["wanting"] > 0 > other.signs["wanting"]
        assert "wanting" not in (await engine.search("why did we drop rabbit for our queue?", explain=True)).signs
