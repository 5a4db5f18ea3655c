"""A compiled model on disk: its folder, its manifest, and whether both are whole.

    <cache>/models/<name>-<key>/manifest.json  model.onnx  tokenizer.json

A folder appears under its final name by one rename, and counts only while each file has the size and sha256 that
the manifest states; so a killed compile or a damaged disk is never mistaken for a model.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import time
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from mcp_memory.embedders.inputs import prompts_mark
from mcp_memory.embedders.locate import ModelSource

FORMAT = 1
"""Raised when the recipe or the manifest changes: compiled models of another format are left alone and made anew."""
MODEL_FILE = "model.onnx"
TOKENIZER_FILE = "tokenizer.json"
MANIFEST_FILE = "manifest.json"

_SETTLED_NS = 2 * 10**9


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a model is compiled, and how close to the original it must stay (cosine, on `samples.SAMPLES`)."""

    precision: str = "int8"
    """`int8` (then `fp32` where int8 is below its bars) or `fp32`."""
    int8_mean_cosine: float = 0.98
    int8_min_cosine: float = 0.95
    fp32_min_cosine: float = 0.9999
    max_tokens: int = 1024
    """Longer inputs are cut even where the model takes more: no chunk is longer, and attention grows by the square."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What the folder holds and where it came from."""

    name: str
    revision: str
    engine: Literal["onnx", "torch"]
    """`torch`: the model cannot be compiled (see `reason`), and the folder holds nothing but this."""
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


@dataclass(frozen=True, slots=True)
class CompiledModel:
    """A folder whose manifest has been read."""

    folder: Path
    manifest: Manifest

    @property
    def model_file(self) -> Path:
        return self.folder / MODEL_FILE

    @property
    def tokenizer_file(self) -> Path:
        return self.folder / TOKENIZER_FILE


def folder_for(cache: Path, source: ModelSource, recipe: Recipe) -> Path:
    """Where the source, compiled by the recipe, belongs: another revision or recipe is another folder."""
    key = json.dumps([source.name, source.revision, dataclasses.asdict(recipe), FORMAT])
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", source.name.rpartition("/")[2]).strip("-.")[:48] or "model"
    return cache / "models" / f"{slug}-{hashlib.sha256(key.encode()).hexdigest()[:12]}"


def read_compiled(folder: Path) -> CompiledModel | None:
    """The model in `folder`, or None where it is absent, damaged or of another format."""
    try:
        manifest = _parse((folder / MANIFEST_FILE).read_bytes())
        if all(_mark(folder / name) == mark for name, mark in manifest.files.items()):
            return CompiledModel(folder, manifest)
    except (OSError, ValueError, TypeError, KeyError):
        # Whatever is wrong with the folder, the answer is the same: it is made again.
        return None
    return None


def write_manifest(folder: Path, manifest: Manifest) -> CompiledModel:
    """Writes the manifest with the marks of the files that lie in `folder` now."""
    names = [name for name in (MODEL_FILE, TOKENIZER_FILE) if (folder / name).exists()]
    marked = dataclasses.replace(manifest, files={name: _mark(folder / name) for name in names})
    (folder / MANIFEST_FILE).write_text(json.dumps(dataclasses.asdict(marked), indent=2) + "\n", encoding="utf-8")
    return CompiledModel(folder, marked)


def fingerprint(manifest: Manifest, query_prompt: str, document_prompt: str) -> str:
    """One line: equal fingerprints, equal vectors (up to the last bits, which differ between processors)."""
    return (
        f"{manifest.name}@{manifest.revision[:12]} pooling={manifest.pooling} normalised "
        f"max={manifest.max_seq_length} {manifest.precision}/{manifest.format} "
        f"prompts={prompts_mark(query_prompt, document_prompt)}"
    )


def _parse(data: bytes) -> Manifest:
    values: dict[str, Any] = json.loads(data)
    if values["format"] != FORMAT:
        raise ValueError("another format")
    files = {str(name): (int(size), str(sha256)) for name, (size, sha256) in values["files"].items()}
    values["files"] = files
    manifest = Manifest(**values)
    if manifest.engine == "onnx" and files.keys() != {MODEL_FILE, TOKENIZER_FILE}:
        raise ValueError("files are missing from the manifest")
    return manifest


def _mark(file: Path) -> tuple[int, str]:
    """Of a file that is as it was the last time, what was found then: a model that comes back shall not take longer for
    that. Times are too coarse to tell of one that was just written."""
    now = file.stat()
    known = now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns
    settled = time.time_ns() - max(now.st_mtime_ns, now.st_ctime_ns) > _SETTLED_NS
    return now.st_size, _sha256(file, known) if settled else _sha256.__wrapped__(file, known)


@lru_cache(maxsize=8)
def _sha256(file: Path, _as_it_is: tuple[int, ...]) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
