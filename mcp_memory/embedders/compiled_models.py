"""Read and write the bundled model as it was prepared for this machine, checked for damage.

The folder `<cache>/models/all-MiniLM-L6-v2-<key>` contains `manifest.json`, `tokenizer.json`, `model.onnx`,
`adapted.onnx`, and `weights.bin`. It gets its final name by one rename, and is valid only while each file has the size
and sha256 in the manifest. So an interrupted compile or a damaged disk is never mistaken for a model.
"""

import dataclasses
import json
import time
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from mcp_memory.embedders.locate import BUNDLED_SHA256, DEFAULT_MODEL, sha256_of
from mcp_memory.text.text_hash import text_hash

FORMAT = 4
"""The format of graphs and manifest. Models of another format are ignored and compiled again."""
MODEL_FILE = "model.onnx"
TOKENIZER_FILE = "tokenizer.json"
ADAPTED_FILE = "adapted.onnx"
"""The graph that reads sentences in their context."""
WEIGHTS_FILE = "weights.bin"
"""The weights that the two graphs share."""
MODEL_FILES = (MODEL_FILE, TOKENIZER_FILE, ADAPTED_FILE, WEIGHTS_FILE)
MANIFEST_FILE = "manifest.json"
UNIT_VECTOR, INNER_STATES = "unit_vector", "inner_states"
"""The outputs of the graph `model.onnx`."""

SETTLED_NS = 2 * 10**9


@dataclass(frozen=True)
class Manifest:
    """The contents of a folder. The cosines compare its vectors with those of float arithmetic."""

    precision: str
    mean_cosine: float | None = None
    min_cosine: float | None = None
    files: dict[str, tuple[int, str]] = field(default_factory=dict[str, tuple[int, str]])
    """name → (bytes, sha256)."""
    format: int = FORMAT


@dataclass(frozen=True)
class CompiledModel:
    folder: Path
    manifest: Manifest


def folder_in(cache: Path) -> Path:
    """Return the folder of the compiled model; differs with the weights and the format."""
    name = DEFAULT_MODEL.rpartition("/")[2]
    return cache / "models" / f"{name}-{text_hash(json.dumps([BUNDLED_SHA256, FORMAT]), 12)}"


def read_compiled(folder: Path) -> CompiledModel | None:
    """Read the model in `folder`; None if it is absent, damaged or of another format."""
    try:
        manifest = _parse((folder / MANIFEST_FILE).read_bytes())
        is_whole = all(_checksum(folder / name) == checksum for name, checksum in manifest.files.items())
        return CompiledModel(folder, manifest) if is_whole else None
    except (OSError, ValueError, TypeError, KeyError):
        return None  # whatever the fault, the model is compiled again


def write_manifest(folder: Path, manifest: Manifest) -> CompiledModel:
    """Write the manifest with the checksums of the files that are in `folder` now."""
    complete = dataclasses.replace(manifest, files={name: _checksum(folder / name) for name in MODEL_FILES})
    (folder / MANIFEST_FILE).write_text(json.dumps(dataclasses.asdict(complete), indent=2) + "\n", encoding="utf-8")
    return CompiledModel(folder, complete)


def _parse(data: bytes) -> Manifest:
    values: dict[str, Any] = json.loads(data)
    if values["format"] != FORMAT:
        raise ValueError("another format")
    files = {str(name): (int(size), str(sha256)) for name, (size, sha256) in values["files"].items()}
    if files.keys() != {*MODEL_FILES}:
        raise ValueError("files are missing from the manifest")
    values["files"] = files
    return Manifest(**values)


def _checksum(file: Path) -> tuple[int, str]:
    """Return size and sha256; remembered for an unchanged file, so that reloading a model is fast. Timestamps are too
    coarse for a file that was just written."""
    now = file.stat()
    known = now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns
    settled = time.time_ns() - max(now.st_mtime_ns, now.st_ctime_ns) > SETTLED_NS
    return now.st_size, _remembered_sha256(file, known) if settled else sha256_of(file)


@lru_cache(maxsize=8)
def _remembered_sha256(file: Path, _stat: tuple[int, ...]) -> str:
    return sha256_of(file)
