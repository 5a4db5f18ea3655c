"""Read and write compiled models: each is a folder with a manifest, checked for damage.

A folder `<cache>/models/<name>-<key>` contains `manifest.json`, `model.onnx` and `tokenizer.json`. The bundled model's
folder also contains `adapted.onnx` and `weights.bin`.

A folder gets its final name by one rename, and is valid only while each file has the size and sha256 in the manifest.
So an interrupted compile or a damaged disk is never mistaken for a model.
"""

import dataclasses
import json
import re
import time
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from mcp_memory.embedders.inputs import prompts_mark
from mcp_memory.embedders.locate import ModelSource, sha256_of
from mcp_memory.text.text_hash import text_hash

FORMAT = 3
"""The format of recipe and manifest. Models of another format are ignored and compiled again."""
VECTORS = 1
"""The version of the vectors. Increase it when a recipe gives other vectors: then all notes are embedded again."""
MODEL_FILE = "model.onnx"
TOKENIZER_FILE = "tokenizer.json"
ADAPTED_FILE = "adapted.onnx"
"""The graph that reads sentences in their context, if there is one."""
WEIGHTS_FILE = "weights.bin"
"""The weights that two graphs share."""
MANIFEST_FILE = "manifest.json"
INNER_STATES = "inner_states"
"""The graph's output behind its vectors, if it has one."""

SETTLED_NS = 2 * 10**9


@dataclass(frozen=True)
class Recipe:
    """The way a model is compiled, and how close to the original it must stay (cosine, on `compiler.SAMPLES`)."""

    precision: str = "int8"
    """`int8` (then `fp32` if int8 is not close enough) or `fp32`."""
    int8_mean_cosine: float = 0.98
    int8_min_cosine: float = 0.95
    fp32_min_cosine: float = 0.9999
    max_tokens: int = 1024
    """The most tokens of an input; longer inputs are cut: no chunk is longer, and attention grows with the square."""


@dataclass(frozen=True)
class Manifest:
    """The contents of a folder and their origin."""

    name: str
    revision: str
    engine: Literal["onnx", "torch"]
    """`torch`: the model cannot be compiled (see `reason`), and the folder contains nothing else."""
    precision: str
    pooling: str
    dimension: int
    max_seq_length: int
    query_prompt: str
    document_prompt: str
    mean_cosine: float | None = None
    min_cosine: float | None = None
    reason: str = ""
    files: dict[str, tuple[int, str]] = field(default_factory=dict[str, tuple[int, str]])
    """name → (bytes, sha256)."""
    versions: dict[str, str] = field(default_factory=dict[str, str])
    format: int = FORMAT


@dataclass(frozen=True)
class CompiledModel:
    folder: Path
    manifest: Manifest


def folder_for(cache: Path, source: ModelSource, recipe: Recipe) -> Path:
    """Return the folder for a source compiled by a recipe; differs with the revision and the recipe."""
    key = json.dumps([source.name, source.revision, dataclasses.asdict(recipe), FORMAT])
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", source.name.rpartition("/")[2]).strip("-.")[:48] or "model"
    return cache / "models" / f"{slug}-{text_hash(key, 12)}"


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
    named = (MODEL_FILE, TOKENIZER_FILE, ADAPTED_FILE, WEIGHTS_FILE)
    names = [name for name in named if (folder / name).exists()]
    complete = dataclasses.replace(manifest, files={name: _checksum(folder / name) for name in names})
    (folder / MANIFEST_FILE).write_text(json.dumps(dataclasses.asdict(complete), indent=2) + "\n", encoding="utf-8")
    return CompiledModel(folder, complete)


def fingerprint(manifest: Manifest, query_prompt: str, document_prompt: str) -> str:
    """Return the fingerprint in one line: equal fingerprints, equal vectors (up to the last bits, which differ between
    processors)."""
    return (
        f"{manifest.name}@{manifest.revision[:12]} pooling={manifest.pooling} normalised "
        f"max={manifest.max_seq_length} {manifest.precision}/{VECTORS} "
        f"prompts={prompts_mark(query_prompt, document_prompt)}"
    )


def _parse(data: bytes) -> Manifest:
    values: dict[str, Any] = json.loads(data)
    if values["format"] != FORMAT:
        raise ValueError("another format")
    files = {str(name): (int(size), str(sha256)) for name, (size, sha256) in values["files"].items()}
    values["files"] = files
    manifest = Manifest(**values)
    if manifest.engine == "onnx" and not files.keys() >= {MODEL_FILE, TOKENIZER_FILE}:
        raise ValueError("files are missing from the manifest")
    return manifest


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
