"""The bundled model is compiled once, checked against float arithmetic, and published whole or not at all."""

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

from mcp_memory.embedders import compiler
from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.embedders.child import run_child
from mcp_memory.embedders.compiled_models import folder_in, read_compiled
from mcp_memory.embedders.compiler import SAMPLES, compile_model
from mcp_memory.embedders.locate import from_package
from mcp_memory.embedders.onnx import OnnxEmbedder
from mcp_memory.embedders.open_embedder import open_embedder
from mcp_memory.embedders.sentence_transformer import compiled_model
from mcp_memory.errors import EmbedderUnavailable

SOURCE = from_package()


def ignore(line: str) -> None:
    pass


def compile_here(cache: Path, say=ignore) -> Path:
    """Without the child process."""
    target = folder_in(cache)
    compile_model(SOURCE.bundled_file, target, say)
    return target


def test_int8_below_its_bars_becomes_fp32(tmp_path, monkeypatch):
    monkeypatch.setattr(compiler, "MEAN_COSINE", 0.9999)
    lines = []
    manifest = read_compiled(compile_here(tmp_path, lines.append)).manifest
    assert manifest.precision == "fp32"
    assert manifest.min_cosine >= 0.9999
    assert next(line for line in lines if "is too far" in line).startswith("int8 is too far")


def test_a_graph_that_computes_something_else_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(compiler, "MEAN_COSINE", 1.1)
    with pytest.raises(EmbedderUnavailable, match="cannot be prepared"):
        compile_here(tmp_path)
    assert [path.name for path in (tmp_path / "models").iterdir() if path.suffix != ".lock"] == []


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


def test_a_damaged_folder_is_no_model_and_is_made_again(model_cache, tmp_path):
    target = Path(shutil.copytree(folder_in(model_cache), folder_in(tmp_path)))
    whole = OnnxEmbedder(read_compiled(target)).embed_documents(SAMPLES)
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
    compile_here(tmp_path)
    assert np.array_equal(OnnxEmbedder(read_compiled(target)).embed_documents(SAMPLES), whole)
    assert [path.name for path in target.parent.iterdir() if path.suffix != ".lock"] == [target.name]


class Interrupted(Exception):
    pass


def test_a_killed_compile_leaves_no_model_and_two_at_once_make_one(tmp_path, monkeypatch):
    home, cache = tmp_path / "home", tmp_path / "cache"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("TMPDIR", str(home))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    target = folder_in(cache)

    def interrupt(line: str) -> None:
        if "checking" in line:
            raise Interrupted

    with pytest.raises(Interrupted):
        compiled_model(SOURCE, cache, 300, interrupt)
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
            futures = [pool.submit(compiled_model, SOURCE, cache, 300, wait_for_the_other) for _ in range(2)]
            both_wait.wait()
        first, second = (future.result() for future in futures)
    assert first.manifest == second.manifest
    assert sum("(once)" in line for line in lines) == 1
    assert [path.name for path in target.parent.iterdir() if path.suffix != ".lock"] == [target.name]
    assert not list(home.rglob("*"))  # onnxruntime left nothing


def test_a_compile_has_a_deadline(tmp_path):
    with pytest.raises(EmbedderUnavailable, match=r"compiling .* did not answer in time"):
        open_embedder(EmbedderConfig(compile_timeout_s=0.05), tmp_path)
    assert not list(tmp_path.glob("models/*/manifest.json"))


def test_a_childs_crash_shows_the_end_of_its_errors(tmp_path):
    with pytest.raises(EmbedderUnavailable, match=r"counting failed with exit code 1: (.|\n)*IndexError"):
        run_child("mcp_memory.embedders.hub", [], task="counting", environ={}, deadline_s=60, progress=ignore)


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
