"""Any embedding model is trained once to tell which prompts want memory."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mcp_memory.embedders.base import Embedder, EmbedderConfig
from mcp_memory.embedders.open_embedder import open_embedder
from mcp_memory.errors import EmbedderUnavailable
from mcp_memory.evaluation.metrics import share_below
from mcp_memory.search.classifier_training import PASSAGES, QUESTIONS, ClassifierTraining, TrainedClassifier, examples
from mcp_memory.search.confidence import ConfidenceFeatures, confidence
from mcp_memory.search.confidence_config import UNSURE, UNWANTED, ConfidenceConfig
from mcp_memory.search.searcher import SearchConfig
from tests.support.toy import ToyEmbedder
from tests.support.world import EXHAUSTIVE, World, eventually

BUNDLED = ConfidenceConfig()


def test_what_is_shipped_tells_the_examples_apart(tmp_path: Path, model_cache: Path) -> None:
    embedder = open_embedder(EmbedderConfig(), model_cache)
    training = ClassifierTraining(tmp_path, BUNDLED)
    shipped = training.load(embedder)
    assert shipped is not None and training.trained_for(embedder) is shipped and shipped.confidence is BUNDLED
    prompts, wanted = (each[::10] for each in examples())
    right = [(_odds(shipped, embedder, prompt) > 0) is label for prompt, label in zip(prompts, wanted, strict=True)]
    assert sum(right) / len(right) > 0.75


@pytest.mark.skipif(not EXHAUSTIVE, reason="a quarter of a minute of embedding; MCP_MEMORY_EXHAUSTIVE=1")
def test_what_is_shipped_is_what_the_bundled_model_learns(tmp_path: Path, model_cache: Path) -> None:
    """If the examples or the compiled model changed: take the new file from the folder of `ClassifierTraining`."""
    embedder = open_embedder(EmbedderConfig(), model_cache)
    training = ClassifierTraining(tmp_path, BUNDLED)
    shipped, learned = training.load(embedder), training.train(embedder)
    assert shipped is not None
    prompts, _ = examples()
    assert max(abs(_odds(shipped, embedder, each) - _odds(learned, embedder, each)) for each in prompts[::10]) < 0.1


def _odds(classifier: TrainedClassifier, embedder: Embedder, prompt: str) -> float:
    return classifier.memory_intent.log_odds(prompt, embedder.embed_query(prompt))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, TrainedClassifier]:
    """The folder with what a toy learned in two seconds, and that."""
    folder = tmp_path_factory.mktemp("training")
    return folder, ClassifierTraining(folder, BUNDLED).train(ToyEmbedder())


def test_what_a_model_learned_is_kept_for_the_next_time(
    tmp_path: Path, trained: tuple[Path, TrainedClassifier]
) -> None:
    embedder, (folder, learned) = ToyEmbedder(), trained
    assert ClassifierTraining(tmp_path, BUNDLED).load(embedder) is None
    kept = ClassifierTraining(folder, BUNDLED).load(embedder)
    assert kept is not None and np.allclose(kept.memory_intent.weights, learned.memory_intent.weights, atol=1e-3)
    assert kept.memory_intent.wordings == learned.memory_intent.wordings and len(kept.memory_intent.wordings) > 1000
    assert kept.confidence.prompts == learned.confidence.prompts != BUNDLED.prompts
    assert kept.confidence.words == BUNDLED.words, "they have nothing to do with the model"


def test_a_damaged_file_or_one_of_another_size_is_learned_anew(
    tmp_path: Path, trained: tuple[Path, TrainedClassifier]
) -> None:
    embedder = ToyEmbedder()
    (whole,) = trained[0].glob("taught-*.json")
    file = tmp_path / whole.name
    said = json.loads(whole.read_text())
    file.write_text(json.dumps(said))
    assert ClassifierTraining(tmp_path, BUNDLED).load(embedder) is not None
    changes = (
        {"weights": [1.0]}, {"weights": "x"}, {"wordings": [1.0]}, {"wordings": {"we": "x"}}, {"signs": {}},
        {"signs": {"prompts": [1]}}, {"doubt": float("nan")}, {"weights": [float("inf")] * embedder.dimension},
        {"signs": said["signs"] | {"vectors": [float("nan"), 1.0]}},
    )  # fmt: skip
    for change in changes:
        file.write_text(json.dumps(said | change))
        assert ClassifierTraining(tmp_path, BUNDLED).load(embedder) is None
    for broken in ("{", "[]", "[" * 100_000):
        file.write_text(broken)
        assert ClassifierTraining(tmp_path, BUNDLED).load(embedder) is None


def test_a_model_without_numbers_trains_nothing(tmp_path: Path) -> None:
    class Broken(ToyEmbedder):
        def embed_query(self, text: str) -> np.ndarray:
            return super().embed_query(text) * np.nan

    training, embedder = ClassifierTraining(tmp_path, BUNDLED), Broken()
    with pytest.raises(EmbedderUnavailable, match="no numbers"):
        training.train(embedder)
    assert training.trained_for(embedder) is None and not [*tmp_path.iterdir()]


def test_the_thresholds_mean_the_same_for_another_model(trained: tuple[Path, TrainedClassifier]) -> None:
    embedder, (_, classifier) = ToyEmbedder(), trained
    passages = embedder.embed_documents([json.loads(line)["text"] for line in PASSAGES.read_text().splitlines()])
    kinds: dict[tuple[bool, bool], list[float]] = {}
    for row in map(json.loads, QUESTIONS.read_text().splitlines()):
        vector = embedder.embed_query(row["text"])
        wanted = classifier.memory_intent.log_odds(row["text"], vector) if row["prompt"] else None
        signs = ConfidenceFeatures(row["closest"], row["together"], float(np.max(passages @ vector)), wanted)
        kinds.setdefault((row["prompt"], row["answerable"]), []).append(confidence(signs, classifier.confidence))
    for is_prompt, bar in ((False, UNSURE), (True, UNWANTED)):
        lost, silent = (share_below(kinds[is_prompt, answerable], bar) for answerable in (True, False))
        assert lost == pytest.approx(0.05, abs=0.02)
        assert silent > lost


@pytest.mark.anyio
async def test_a_question_has_an_unknown_model_trained(toy_world: World) -> None:
    toy_world.write("notes/queue.md", "We use LISTEN and NOTIFY for the queue.")
    async with toy_world.engine(search=SearchConfig()) as engine:
        await engine.settled()
        await engine.search("why no rabbit for the queue?")
        await eventually(lambda: any(toy_world.models.glob("taught-*.json")))


@pytest.mark.anyio
async def test_an_untrained_model_is_trained_when_a_prompt_comes(toy_world: World) -> None:
    toy_world.write("notes/queue.md", "We use LISTEN and NOTIFY for the queue.")
    async with toy_world.engine() as engine:
        await engine.settled()
        first = await engine.search("why no rabbit for the queue?", is_prompt=True)
        assert "wanting" not in first.signs
        await eventually(lambda: engine.parts.model.trained_classifier() is not None)  # it learns behind the answers
        second = await engine.search("why no rabbit for the queue?", is_prompt=True)
        assert "wanting" in second.signs
        assert "wanting" not in (await engine.search("why no rabbit for the queue?")).signs


@pytest.mark.anyio
async def test_an_endpoint_that_fails_half_way_is_not_asked_with_each_question(
    toy_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def fail(_: ClassifierTraining, embedder: Embedder) -> TrainedClassifier:
        asked.append(embedder.fingerprint)
        raise EmbedderUnavailable("too many requests")

    monkeypatch.setattr(ClassifierTraining, "train", fail)
    toy_world.write("notes/queue.md", "We use LISTEN and NOTIFY for the queue.")
    async with toy_world.engine() as engine:
        for number in range(3):
            await engine.search("why no rabbit for the queue?", is_prompt=True)
            await eventually(lambda: asked)
            await engine.append(f"The {number} ferry leaves at nine.", kind="fact")
            await eventually(lambda: engine.parts.admin.status()["pending"] == 0)
    assert len(asked) == 1
