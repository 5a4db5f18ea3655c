"""A model that isn't bundled runs in torch, and gives exactly its own vectors."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.embedders.compiler import SAMPLES
from mcp_memory.embedders.open_embedder import open_embedder
from mcp_memory.errors import EmbedderUnavailable

TEXTS = [*SAMPLES, "release notes", "where is the train to osaka?", "we keep it because " * 30]


def originals(folder: Path):
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    return (
        model.encode_document(TEXTS, normalize_embeddings=True),
        model.encode_query(TEXTS, normalize_embeddings=True),
    )


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("tiny-cls", {}),
        ("tiny-mean", {"pooling": "mean"}),
        ("tiny-dense", {"pooling": "mean", "dense": True}),
        ("tiny-instructed", {"pooling": "mean", "include_prompt": False}),
    ],
)
def test_another_model_gives_its_own_vectors(make_model, tmp_path, name, options):
    folder = make_model(name, **options)
    embedder = open_embedder(EmbedderConfig(model=str(folder)), tmp_path)
    documents, queries = originals(folder)
    assert embedder.dimension == documents.shape[1] == (16 if options.get("dense") else 32)
    assert np.allclose(embedder.embed_documents(TEXTS), documents, atol=1e-6)
    assert np.allclose([embedder.embed_query(text) for text in TEXTS], queries, atol=1e-6)
    assert not np.allclose(documents, queries, atol=1e-2)  # the prompts matter to this model
    assert embedder.embed_documents([]).shape == (0, embedder.dimension)
    assert embedder.inner_states(TEXTS) is embedder.states_in_context([]) is None
    assert f"pooling={options.get('pooling', 'cls')} normalised max=48 torch" in embedder.fingerprint
    assert list(tmp_path.iterdir()) == [], "nothing is compiled"
    embedder.close()
    with pytest.raises(EmbedderUnavailable, match="closed"):
        embedder.embed_query("tea")


def test_a_model_that_cannot_be_loaded_says_why(cls_model, tmp_path):
    broken = tmp_path / "broken"
    shutil.copytree(cls_model, broken)
    (broken / "config.json").write_text("{}")
    with pytest.raises(EmbedderUnavailable, match="sentence-transformers cannot load broken"):
        open_embedder(EmbedderConfig(model=str(broken)), tmp_path / "cache")
