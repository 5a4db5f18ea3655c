"""What a model that comes back need not do again, and what it notices all the same."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from mcp_memory.embedders import compiled_models
from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.embedders.compiled_models import (
    ADAPTED_FILE,
    MODEL_FILE,
    TOKENIZER_FILE,
    WEIGHTS_FILE,
    read_compiled,
)
from mcp_memory.embedders.onnx import OnnxEmbedder
from mcp_memory.embedders.open_embedder import open_embedder

FILES = (MODEL_FILE, TOKENIZER_FILE, ADAPTED_FILE, WEIGHTS_FILE)


@pytest.fixture
def folder(model_cache: Path, tmp_path: Path) -> Path:
    """The bundled model, compiled; a copy of its own."""
    open_embedder(EmbedderConfig(), model_cache).close()
    whole = next(path.parent for path in model_cache.glob(f"models/*/{MODEL_FILE}"))
    return Path(shutil.copytree(whole, tmp_path / "model"))


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were read for their sum."""
    read: list[str] = []
    digest = hashlib.file_digest
    monkeypatch.setattr(hashlib, "file_digest", lambda file, kind: read.append(file.name) or digest(file, kind))
    return read


def test_files_that_nobody_touched_are_not_summed_again(
    folder: Path, looks: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for settled_ns, times in ((10**18, 2), (-(10**18), 1)):
        monkeypatch.setattr(compiled_models, "SETTLED_NS", settled_ns)
        looks.clear()
        assert read_compiled(folder) and read_compiled(folder)
        assert sorted(looks) == sorted([str(folder / name) for name in FILES] * times)


@pytest.mark.parametrize("name", FILES)
def test_a_change_is_noticed_whatever_its_time_says(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_models, "SETTLED_NS", -(10**18))
    assert read_compiled(folder)
    before = (folder / name).stat()
    with (folder / name).open("r+b") as file:
        file.write(b"damaged")
    os.utime(folder / name, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert read_compiled(folder) is None


def test_one_that_comes_back_parses_no_tokenizer_and_says_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = OnnxEmbedder(read_compiled(folder))
    vector = first.embed_query("a violet teapot")
    first.close()
    monkeypatch.setattr("tokenizers.Tokenizer.from_file", None)
    again = OnnxEmbedder(read_compiled(folder))
    assert np.array_equal(again.embed_query("a violet teapot"), vector)
    again.close()
