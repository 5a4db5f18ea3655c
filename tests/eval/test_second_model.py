"""With another model than the bundled one: how sure an answer is means the same, since it is fitted to the model."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.daemon.place import Place
from tests.support.world import EXHAUSTIVE

FOLDER = Path(__file__).with_name("developer")
SETS = (str(FOLDER), str(FOLDER / "prompts.jsonl"))
STRANGERS = str(FOLDER.with_name("strangers") / "ecology" / "prompts.jsonl")


@pytest.fixture(scope="module")
def other_model(original_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled one without its last three layers: real, worse, and with other cosines."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(original_model), device="cpu", local_files_only=True)
    bert = model[0].auto_model
    bert.encoder.layer = bert.encoder.layer[:3]
    bert.config.num_hidden_layers = 3
    folder = tmp_path_factory.mktemp("models") / "half-minilm"
    model.save(str(folder))
    return folder


@pytest.mark.timeout(1800)
@pytest.mark.skipif(not EXHAUSTIVE, reason="minutes of embedding with a second model; MCP_MEMORY_EXHAUSTIVE=1")
def test_a_second_model_is_calibrated_by_itself_and_by_one_command(tmp_path: Path, other_model: Path) -> None:
    place = Place(tmp_path, tmp_path / "models", {}).make()
    configured = place.root / "config.toml"
    configured.write_text(f'[embedder]\nprovider = "sentence-transformers"\nmodel = "{other_model}"\n')
    where = {"MCP_MEMORY_CONFIG": str(configured)}
    kept = ("--state", str(place.root / "kept"))
    for prompts, most_silenced, least_silent in ((SETS[1], 0.07, 0.8), (STRANGERS, 0.12, 0.7)):
        by_itself = _silenced(place, prompts, where, kept)
        assert by_itself["answerable"] <= most_silenced and by_itself["not wanted"] >= least_silent

    facts = place.run("calibrate", *SETS, *kept, "--json", **where).ok().json
    before_and_after = [(before, facts["auroc"]["after"][name]) for name, before in facts["auroc"]["before"].items()]
    assert all(after >= before - 0.01 for before, after in before_and_after)
    printed = place.run("calibrate", *SETS, *kept, **where).ok()
    section = tomllib.loads(printed.out)["confidence"]
    bar = tomllib.loads(printed.out)["recall"]["phases"]["prompt"]["least_confidence"]
    assert bar == pytest.approx(facts["silent_below"], abs=0.01)
    assert "AUROC" in printed.err and section["model"] == "half-minilm" and set(section) == set(facts["confidence"])
    configured.write_text(configured.read_text() + printed.out)
    by_command = _silenced(place, SETS[1], where, kept)
    assert by_command["answerable"] <= 0.07 and by_command["not wanted"] >= 0.8


def _silenced(place: Place, prompts: str, where: dict[str, str], kept: tuple[str, ...]) -> dict[str, float]:
    """The share of the prompts that want memory, and of those that do not, below the configured threshold."""
    phases = place.run("config", "show", "--json", **where).ok().json["settings"]["recall"]["phases"]
    bar = f"{phases['prompt']['least_confidence']:g}"
    shares = place.run("eval", prompts, *kept, "--json", **where).ok().json["silenced"]
    answerable = shares.pop("answerable")[bar]
    others = [each[bar] for each in shares.values()]
    return {"answerable": answerable, "not wanted": sum(others) / len(others)}
