"""Schooling: any embedding model learns once which prompts want memory."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.embedders.choose import open_embedder
from mcp_memory.engine.schooling import School, examples
from tests.engine.toy import ToyEmbedder
from tests.engine.world import World, eventually


def test_what_is_shipped_is_what_the_bundled_model_learns(tmp_path: Path, model_cache: Path) -> None:
    """If the examples or the compiled model changed: take the new file from the folder that `School` is given."""
    embedder = open_embedder(EmbedderConfig(), model_cache)
    school = School(tmp_path)
    shipped = school.look_up(embedder)
    assert shipped is not None and school.wanting(embedder) is shipped
    learned = school.teach(embedder)
    prompts, wanted = examples()
    vectors = [(prompt, embedder.embed_query(prompt)) for prompt in prompts[::10]]
    told = [(shipped.of(*each), learned.of(*each)) for each in vectors]
    assert max(abs(one - other) for one, other in told) < 0.1
    right = [(odds > 0) is label for (odds, _), label in zip(told, wanted[::10], strict=True)]
    assert sum(right) / len(right) > 0.75


def test_what_a_model_learned_is_kept_for_the_next_time(tmp_path: Path) -> None:
    embedder = ToyEmbedder()
    assert School(tmp_path).look_up(embedder) is None
    learned = School(tmp_path).teach(embedder)
    kept = School(tmp_path).look_up(embedder)
    assert kept is not None and np.allclose(kept.weights, learned.weights, atol=1e-3)
    assert kept.wordings == learned.wordings and len(kept.wordings) > 1000


def test_a_damaged_file_or_one_of_another_size_is_learned_anew(tmp_path: Path) -> None:
    embedder = ToyEmbedder()
    School(tmp_path).teach(embedder)
    (file,) = tmp_path.glob("wanting-*.json")
    said = json.loads(file.read_text())
    for change in ({"weights": [1.0]}, {"weights": "x"}, {"wordings": [1.0]}, {"wordings": {"we": "x"}}):
        file.write_text(json.dumps(said | change))
        assert School(tmp_path).look_up(embedder) is None
    for broken in ("{", "[]"):
        file.write_text(broken)
        assert School(tmp_path).look_up(embedder) is None


@pytest.mark.anyio
async def test_a_model_that_was_not_schooled_learns_when_a_prompt_comes(toy_world: World) -> None:
    toy_world.write("notes/queue.md", "We use LISTEN and NOTIFY for the queue.")
    async with toy_world.engine() as engine:
        await engine.settled()
        first = await engine.search("why no rabbit for the queue?", is_prompt=True)
        assert "wanting" not in first.signs
        await eventually(lambda: engine.model.wanting() is not None)  # it learns behind the answers
        second = await engine.search("why no rabbit for the queue?", is_prompt=True)
        assert "wanting" in second.signs
        assert "wanting" not in (await engine.search("why no rabbit for the queue?")).signs
