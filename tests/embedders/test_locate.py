"""Which model is used, and that an absent, pickled, changed or unreachable one is refused quickly and clearly."""

from __future__ import annotations

import importlib.util
import re
import shutil
import socket
import sys
from pathlib import Path

import pytest

from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.embedders.locate import BUNDLED_PACKAGE, DEFAULT_MODEL, from_folder, from_package, hub_name, locate
from mcp_memory.embedders.open_embedder import EMBEDDERS, open_embedder
from mcp_memory.embedders.torch_embedder import load_model
from mcp_memory.errors import ConfigInvalid, EmbedderUnavailable
from tests.embedders.fake_hub import FakeHub


def ignore(line: str) -> None:
    pass


def test_the_bundled_model_is_found_without_importing_its_package():
    source = from_package()
    assert source.name == DEFAULT_MODEL
    assert BUNDLED_PACKAGE not in sys.modules
    source.check()
    for model in ("", "all-MiniLM-L6-v2", DEFAULT_MODEL):
        assert locate(EmbedderConfig(model=model), Path("/nonexistent"), ignore) == source


def test_changed_weights_of_the_bundled_model_are_refused(tmp_path, monkeypatch):
    shutil.copytree(from_package().folder, tmp_path / BUNDLED_PACKAGE)
    (tmp_path / BUNDLED_PACKAGE / "__init__.py").write_text("raise SystemExit('imported')")
    weights = tmp_path / BUNDLED_PACKAGE / "model.onnx"
    with weights.open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\x7f")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(EmbedderUnavailable, match=r"sha256 .* refused"):
        open_embedder(EmbedderConfig(), tmp_path / "cache")


def test_a_folders_revision_follows_its_contents(cls_model, tmp_path):
    copy = tmp_path / cls_model.name
    shutil.copytree(cls_model, copy)
    assert from_folder(copy).revision == from_folder(cls_model).revision
    (copy / "README.md").write_text("of no weight")
    assert from_folder(copy).revision == from_folder(cls_model).revision
    (copy / "1_Pooling" / "config.json").write_text('{"embedding_dimension": 32, "pooling_mode": "mean"}')
    assert from_folder(copy).revision != from_folder(cls_model).revision


def test_a_folder_that_is_absent_or_pickled_is_refused(cls_model, tmp_path):
    with pytest.raises(EmbedderUnavailable, match="no model folder"):
        open_embedder(EmbedderConfig(model=str(tmp_path / "absent")), tmp_path)
    copy = tmp_path / "pickled"
    shutil.copytree(cls_model, copy)
    (copy / "2_Dense").mkdir()
    (copy / "2_Dense" / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    with pytest.raises(EmbedderUnavailable, match="pickled"):
        open_embedder(EmbedderConfig(model=str(copy)), tmp_path)
    (copy / "model.safetensors").unlink()
    with pytest.raises(EmbedderUnavailable, match=r"no model\.safetensors"):
        open_embedder(EmbedderConfig(model=str(copy)), tmp_path)


def test_a_models_own_code_is_never_run(cls_model, tmp_path):
    copy = tmp_path / "with-code"
    shutil.copytree(cls_model, copy)
    (copy / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Module: pass\n")
    modules = (copy / "modules.json").read_text()
    (copy / "modules.json").write_text(re.sub(r'"type": "[^"]*"', '"type": "evil.Module"', modules, count=1))
    with pytest.raises(EmbedderUnavailable, match="cannot load with-code"):
        load_model(from_folder(copy))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["a/b/c", "../up", "a b", "a/", "/x/../y/absent", "a..b/c"])
def test_a_name_that_is_none_is_refused(name, tmp_path):
    with pytest.raises(EmbedderUnavailable):
        open_embedder(EmbedderConfig(model=name), tmp_path)


def test_a_bare_name_is_one_of_sentence_transformers():
    assert hub_name("all-mpnet-base-v2") == "sentence-transformers/all-mpnet-base-v2"
    assert hub_name("BAAI/bge-small-en-v1.5") == "BAAI/bge-small-en-v1.5"


def test_a_model_that_is_not_bundled_names_the_extra_that_runs_it(tmp_path, monkeypatch):
    find = importlib.util.find_spec
    (tmp_path / "model.safetensors").touch()
    for command, missing in (
        ("-m pip install", {"sentence_transformers"}),
        ("uv pip install -p", {"sentence_transformers", "pip"}),
    ):
        without = lambda name, *more, gone=missing: None if name in gone else find(name, *more)  # noqa: E731 -- shorter than a function
        monkeypatch.setattr(importlib.util, "find_spec", without)
        for config in (EmbedderConfig(model="owner/other"), EmbedderConfig(model=str(tmp_path))):
            with pytest.raises(EmbedderUnavailable, match="needs sentence-transformers") as caught:
                open_embedder(config, tmp_path)
            told = str(caught.value)
            assert command in told and sys.executable in told and "'mcp-memory-vault[models]'" in told


@pytest.mark.extra("models")
def test_a_hub_that_never_answers_costs_no_more_than_the_deadline(tmp_path, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(EmbedderUnavailable, match=r"in time|cannot be used \(.*Time"):
            locate(EmbedderConfig(model="nobody/nothing", hub_timeout_s=2), tmp_path, ignore)


def test_a_model_of_the_hub_is_kept_in_our_cache_and_found_there_again(cls_model, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    lines: list[str] = []
    with FakeHub("owner/tiny", cls_model) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        source = locate(EmbedderConfig(model="owner/tiny"), tmp_path / "cache", lines.append)
        with pytest.raises(EmbedderUnavailable, match="no model owner/other"):
            locate(EmbedderConfig(model="owner/other"), tmp_path / "cache", ignore)
    assert source.revision == hub.commit
    assert (source.folder / "model.safetensors").read_bytes() == (cls_model / "model.safetensors").read_bytes()
    assert not (source.folder / "evil.py").exists()
    assert lines == ["looking for owner/tiny on the hub", "downloading owner/tiny"]
    assert not (tmp_path / "home").exists()
    # the hub is gone now
    assert locate(EmbedderConfig(model="owner/tiny"), tmp_path / "cache", pytest.fail) == source


def test_providers_go_by_name(tmp_path):
    assert {"auto", "none", "openai"} <= set(EMBEDDERS.names())
    with pytest.raises(EmbedderUnavailable, match="turned off"):
        open_embedder(EmbedderConfig(provider="none"), tmp_path)
    with pytest.raises(ConfigInvalid, match="unknown embedder 'magic'"):
        open_embedder(EmbedderConfig(provider="magic"), tmp_path)
