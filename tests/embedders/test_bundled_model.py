"""The bundled model is prepared without torch, and gives nearly the vectors of the original."""

from __future__ import annotations

import errno
import json
import os
import resource
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mcp_memory.embedders import compiler
from mcp_memory.embedders.base import Embedder, EmbedderConfig, SentenceInContext
from mcp_memory.embedders.bundled.graphs import MAX_TOKENS, write_tokenizer
from mcp_memory.embedders.compiled_models import ADAPTED_FILE, folder_in, read_compiled
from mcp_memory.embedders.compiler import SAMPLES, compile_model
from mcp_memory.embedders.locate import from_package
from mcp_memory.embedders.onnx import OnnxEmbedder
from mcp_memory.embedders.open_embedder import open_embedder
from mcp_memory.errors import EmbedderUnavailable


def test_it_computes_with_integers(model_cache: Path, minilm: Embedder) -> None:
    manifest = json.loads((folder_in(model_cache) / "manifest.json").read_text())
    assert f" {manifest['precision']}/" in minilm.fingerprint
    assert manifest["precision"] == "int8" and manifest["mean_cosine"] >= 0.98


def test_its_vectors_are_near_those_of_the_original(original_model: Path, minilm: Embedder) -> None:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(original_model), device="cpu", local_files_only=True)
    wanted = model.encode(list(SAMPLES), normalize_embeddings=True, batch_size=1)
    cosines = (minilm.embed_documents(SAMPLES) * wanted).sum(axis=1)
    assert cosines.mean() >= 0.985 and cosines.min() >= 0.95


def test_it_splits_texts_as_the_original_does(original_model: Path, tmp_path: Path) -> None:
    from tokenizers import Tokenizer

    write_tokenizer(tmp_path / "tokenizer.json")
    ours, theirs = (Tokenizer.from_file(str(folder / "tokenizer.json")) for folder in (tmp_path, original_model))
    theirs.no_padding()
    theirs.enable_truncation(MAX_TOKENS)
    for text in (*SAMPLES, *(file.read_text(encoding="utf-8") for file in Path(__file__).parent.glob("*.py"))):
        assert ours.encode(text).ids == theirs.encode(text).ids


@pytest.mark.parametrize("precision", ["int7", "fp32"])
def test_processors_whose_products_saturate_get_fewer_bits_or_floats(
    precision: str, minilm: Embedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = from_package()
    assert source
    monkeypatch.setattr(compiler, "PRECISIONS", {precision: compiler.PRECISIONS[precision]})
    compile_model(source.bundled_file, folder_in(tmp_path), lambda _: None)
    compiled = read_compiled(folder_in(tmp_path))
    assert compiled and compiled.manifest.precision == precision
    other = OnnxEmbedder(compiled)
    assert precision in other.fingerprint
    cosines = (other.embed_documents(SAMPLES) * minilm.embed_documents(SAMPLES)).sum(axis=1)
    assert cosines.min() >= 0.94


def test_a_disk_without_room_is_named_and_left_as_it_was(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5_000_000, limits[1]))  # the child inherits it
    try:
        with pytest.raises(EmbedderUnavailable) as caught:
            open_embedder(EmbedderConfig(), tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert caught.value.message == f"{tmp_path / 'models'}: {os.strerror(errno.EFBIG)} [EFBIG]"
    assert [file for file in tmp_path.rglob("*") if file.is_file() and file.stat().st_size] == []
    open_embedder(EmbedderConfig(), tmp_path).close()


def test_it_shows_its_inner_states(minilm: Embedder):
    states = minilm.inner_states(["tea", "We deploy on Mondays.", "tea"])
    assert states is not None and states.shape == (3, 2 * minilm.dimension)
    assert np.array_equal(states[0], states[2]) and not np.allclose(states[0], states[1])


def test_it_reads_a_sentence_where_it_stands(minilm: Embedder) -> None:
    alone = SentenceInContext("Port 8090.", "", "", "")
    asked = replace(alone, answered="Which port does the API use?")
    states = minilm.states_in_context([alone, asked, alone])
    assert states is not None and states.shape == (3, 5 * minilm.dimension)
    assert np.array_equal(states[0], states[2]) and not np.allclose(states[0], states[1])
    long, blank = SentenceInContext(*("word " * 5000,) * 4), SentenceInContext("\u200b", "", "", "")
    assert np.isfinite(minilm.states_in_context([long, blank])).all(), "what it can't read is cut"


def test_an_adapted_graph_that_is_damaged_is_reported(tmp_path: Path) -> None:
    source = from_package()
    assert source
    target = folder_in(tmp_path)
    compile_model(source.bundled_file, target, lambda _: None)
    compiled = read_compiled(target)
    assert compiled
    (target / ADAPTED_FILE).write_bytes(b"damaged")
    embedder = OnnxEmbedder(compiled)
    with pytest.raises(EmbedderUnavailable, match="model failed"):
        embedder.states_in_context([SentenceInContext("Port 8090.", "", "", "")])
    assert read_compiled(target) is None, "so that it is compiled again"
