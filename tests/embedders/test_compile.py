"""A model is compiled once, checked against its original, and published whole or not at all."""

from __future__ import annotations

import fcntl
import json
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.embedders.child import run_child
from mcp_memory.embedders.compiled_models import Recipe, folder_for, read_compiled
from mcp_memory.embedders.compiler import SAMPLES, compile_model
from mcp_memory.embedders.locate import from_folder
from mcp_memory.embedders.onnx import OnnxEmbedder
from mcp_memory.embedders.open_embedder import open_embedder
from mcp_memory.embedders.sentence_transformer import compiled_model, open_source
from mcp_memory.embedders.torch_embedder import TorchEmbedder
from mcp_memory.errors import ConfigInvalid, EmbedderUnavailable
from tests.support.world import EXHAUSTIVE

TEXTS = [*SAMPLES, "release notes", "where is the train to osaka?", "we keep it because " * 30]


def ignore(line: str) -> None:
    pass


def originals(folder: Path):
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    return (
        model.encode_document(TEXTS, normalize_embeddings=True),
        model.encode_query(TEXTS, normalize_embeddings=True),
    )


def compile_here(folder: Path, cache: Path, recipe: Recipe, say=ignore) -> Path:
    """Without the child process: torch is loaded here anyway, for the comparison."""
    source = from_folder(folder)
    target = folder_for(cache, source, recipe)
    compile_model(source, target, recipe, say)
    return target


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("tiny-cls", {}),
        ("tiny-mean", {"pooling": "mean"}),
        ("tiny-max", {"pooling": "max"}),
        ("tiny-last", {"pooling": "lasttoken"}),
        ("tiny-dense", {"pooling": "mean", "dense": True}),
    ],
)
def test_a_compiled_model_gives_its_originals_vectors(make_model, tmp_path, name, options):
    folder = make_model(name, **options)
    documents, queries = originals(folder)
    embedder = OnnxEmbedder(read_compiled(compile_here(folder, tmp_path, Recipe("fp32"))))
    assert embedder.dimension == documents.shape[1] == (16 if options.get("dense") else 32)
    assert "fp32" in embedder.fingerprint
    assert np.allclose(embedder.embed_documents(TEXTS), documents, atol=1e-4)
    assert np.allclose([embedder.embed_query(text) for text in TEXTS], queries, atol=1e-4)
    assert not np.allclose(documents, queries, atol=1e-2)  # the prompts matter to this model


def test_int8_below_its_bars_becomes_fp32(cls_model, tmp_path):
    lines = []
    target = compile_here(cls_model, tmp_path, Recipe(int8_mean_cosine=1.1), lines.append)
    manifest = read_compiled(target).manifest
    assert (manifest.engine, manifest.precision) == ("onnx", "fp32")
    assert manifest.min_cosine >= 0.9999
    assert any("int8 is too far" in line for line in lines)


@pytest.mark.parametrize("why", ["bars", "prompt left out of the pooling"])
def test_a_model_that_cannot_be_compiled_runs_in_torch(make_model, cls_model, tmp_path, why):
    folder = cls_model if why == "bars" else make_model("tiny-instructed", pooling="mean", include_prompt=False)
    recipe = Recipe(int8_mean_cosine=1.1, fp32_min_cosine=1.1) if why == "bars" else Recipe()
    target = compile_here(folder, tmp_path, recipe)
    assert read_compiled(target).manifest.reason
    assert [file.name for file in target.iterdir()] == ["manifest.json"]
    # the manifest is there already, so this starts no child
    embedder = open_source(from_folder(folder), EmbedderConfig(), tmp_path, pytest.fail, recipe)
    assert isinstance(embedder, TorchEmbedder)
    documents, queries = originals(folder)
    assert np.allclose(embedder.embed_documents(TEXTS), documents, atol=1e-6)
    assert np.allclose([embedder.embed_query(text) for text in TEXTS], queries, atol=1e-6)
    assert embedder.embed_documents([]).shape == (0, 32)
    assert "torch" in embedder.fingerprint
    embedder.close()
    with pytest.raises(EmbedderUnavailable, match="closed"):
        embedder.embed_query("tea")


def flip_a_byte(folder: Path) -> None:
    data = bytearray((folder / "model.onnx").read_bytes())
    data[len(data) // 2] ^= 1
    (folder / "model.onnx").write_bytes(data)


def cut_the_model(folder: Path) -> None:
    (folder / "model.onnx").write_bytes((folder / "model.onnx").read_bytes()[:-1])


def remove_the_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()


def cut_the_manifest(folder: Path) -> None:
    (folder / "manifest.json").write_bytes((folder / "manifest.json").read_bytes()[:100])


def date_the_manifest_back(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "format": manifest["format"] - 1}))


def forget_the_files(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "files": {}}))


def test_a_damaged_folder_is_no_model_and_is_made_again(cls_model, tmp_path):
    target = compile_here(cls_model, tmp_path, Recipe("fp32"))
    opened = OnnxEmbedder(read_compiled(target))
    whole = opened.embed_documents(TEXTS)
    assert opened.inner_states(TEXTS) is None
    for damage in (
        cut_the_model,
        remove_the_tokenizer,
        cut_the_manifest,
        date_the_manifest_back,
        forget_the_files,
        shutil.rmtree,
    ):
        copy = tmp_path / damage.__name__
        shutil.copytree(target, copy)
        assert read_compiled(copy)
        damage(copy)
        assert read_compiled(copy) is None, damage.__name__
    flip_a_byte(target)
    assert read_compiled(target) is None
    compile_here(cls_model, tmp_path, Recipe("fp32"))
    assert np.array_equal(OnnxEmbedder(read_compiled(target)).embed_documents(TEXTS), whole)
    assert [path.name for path in target.parent.iterdir() if path.suffix != ".lock"] == [target.name]


class Interrupted(Exception):
    pass


@pytest.mark.skipif(not EXHAUSTIVE, reason="half a minute of loading PyTorch; MCP_MEMORY_EXHAUSTIVE=1")
def test_a_killed_compile_leaves_no_model_and_two_at_once_make_one(cls_model, tmp_path, monkeypatch):
    home, cache = tmp_path / "home", tmp_path / "cache"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("TMPDIR", str(home))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    source, recipe = from_folder(cls_model), Recipe()
    target = folder_for(cache, source, recipe)

    def interrupt(line: str) -> None:
        if "checking" in line:
            raise Interrupted

    with pytest.raises(Interrupted):
        compiled_model(source, recipe, cache, 300, interrupt)
    assert not target.exists()
    assert list(target.parent.glob("*.tmp"))  # killed in the middle of its work

    both_wait, lines = threading.Barrier(3, timeout=120), []

    def wait_for_the_other(line: str) -> None:
        lines.append(line)
        if "another process" in line:
            both_wait.wait()

    with ThreadPoolExecutor(2) as pool:
        with (target.parent / f".{target.name}.lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            futures = [pool.submit(compiled_model, source, recipe, cache, 300, wait_for_the_other) for _ in range(2)]
            both_wait.wait()
        first, second = (future.result() for future in futures)
    assert first.manifest == second.manifest
    assert sum("loading" in line for line in lines) == 1
    assert [path.name for path in target.parent.iterdir() if path.suffix != ".lock"] == [target.name]
    assert not list(home.rglob("*"))  # neither torch nor transformers nor onnxruntime left anything


def test_a_compile_has_a_deadline(cls_model, tmp_path):
    config = EmbedderConfig(model=str(cls_model), compile_timeout_s=0.05)
    with pytest.raises(EmbedderUnavailable, match="compiling tiny-cls did not answer in time"):
        open_embedder(config, tmp_path)
    assert not list(tmp_path.glob("models/*/manifest.json"))


def test_a_failed_compile_says_what_the_child_said(cls_model, tmp_path):
    broken = tmp_path / "broken"
    shutil.copytree(cls_model, broken)
    (broken / "config.json").write_text("{}")
    with pytest.raises(EmbedderUnavailable, match="sentence-transformers cannot load broken"):
        open_embedder(EmbedderConfig(model=str(broken)), tmp_path / "cache")


def test_a_childs_crash_shows_the_end_of_its_errors(tmp_path):
    with pytest.raises(EmbedderUnavailable, match=r"counting failed with exit code 1: (.|\n)*IndexError"):
        run_child("mcp_memory.embedders.compiler", [], task="counting", environ={}, deadline_s=60, progress=ignore)


def test_a_child_that_says_nothing_is_given_up():
    sleep = ["-n", "1", "-r", "1", "__import__('time').sleep(100)"]
    with pytest.raises(EmbedderUnavailable, match="sleeping did not answer in time"):
        run_child("timeit", sleep, task="sleeping", environ={}, deadline_s=90, first_message_s=0.1, progress=ignore)


def test_a_child_ends_when_its_parent_does():
    program = (
        "import threading; from mcp_memory.embedders.child import answering\nwith answering(): threading.Event().wait()"
    )
    child = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE)
    child.stdin.close()
    assert child.wait(30) == 1


def test_an_unknown_precision_is_refused(tmp_path):
    with pytest.raises(ConfigInvalid, match="int4"):
        open_embedder(EmbedderConfig(precision="int4"), tmp_path)
