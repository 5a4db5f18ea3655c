"""The front: any sentence-transformers model, compiled once in a child process and run without torch from then on."""

from __future__ import annotations

import os
from pathlib import Path

from mcp_memory.embedders.base import Embedder, EmbedderConfig, Progress
from mcp_memory.embedders.child import run_child
from mcp_memory.embedders.compiled import CompiledModel, Recipe, folder_for, read_compiled
from mcp_memory.embedders.compiler import CompileJob
from mcp_memory.embedders.in_process import TorchEmbedder
from mcp_memory.embedders.locate import ModelSource, locate
from mcp_memory.embedders.onnx import OnnxEmbedder
from mcp_memory.errors import ConfigInvalid, EmbedderUnavailable
from mcp_memory.runtime import telemetry

PRECISIONS = ("int8", "fp32", "torch")


def open_auto(config: EmbedderConfig, cache: Path, progress: Progress) -> Embedder:
    """The configured model, or all-MiniLM-L6-v2 from wherever it is. Raises ConfigInvalid, EmbedderUnavailable."""
    if config.precision not in PRECISIONS:
        raise ConfigInvalid(f"unknown precision {config.precision!r}", hint=f"known: {', '.join(PRECISIONS)}")
    return open_source(locate(config, cache, progress), config, cache, progress)


def open_named(config: EmbedderConfig, cache: Path, progress: Progress) -> Embedder:
    """The model that the configuration names. Raises ConfigInvalid, EmbedderUnavailable."""
    if not config.model:
        raise ConfigInvalid("embedder.model is empty", hint='name a model or a folder, or set provider = "auto"')
    return open_auto(config, cache, progress)


def open_source(
    source: ModelSource, config: EmbedderConfig, cache: Path, progress: Progress, recipe: Recipe | None = None
) -> Embedder:
    """`source` compiled by the recipe, or in torch where it cannot be compiled or `precision` says so."""
    prompts = {"query_prompt": config.query_prompt, "document_prompt": config.document_prompt}
    if config.precision != "torch":
        compiled = compiled_model(source, recipe or Recipe(config.precision), cache, config.compile_timeout_s, progress)
        if compiled.manifest.engine == "onnx":
            return OnnxEmbedder(compiled, config.threads, **prompts)
    source.check()
    return TorchEmbedder(source, config.batch_size, **prompts)


def compiled_model(
    source: ModelSource, recipe: Recipe, cache: Path, timeout_s: float, progress: Progress
) -> CompiledModel:
    """The compiled model in `cache`, made in a child process where it is absent or damaged.

    Raises EmbedderUnavailable where the weights are refused, or the child fails or passes `timeout_s`.
    """
    target = folder_for(cache, source, recipe)
    if compiled := read_compiled(target):
        return compiled
    source.check()
    job = CompileJob(source.name, str(source.folder), source.revision, str(target), recipe)
    run_child(
        "mcp_memory.embedders.compiler",
        [job.to_json()],
        task=f"compiling {source.name}",
        environ=_compiler_environ(),
        deadline_s=timeout_s,
        progress=progress,
    )
    if compiled := read_compiled(target):
        return compiled
    raise EmbedderUnavailable(f"the compiled model in {target} is damaged", hint="is the disk full or failing?")


def _compiler_environ() -> dict[str, str]:
    environ = dict(os.environ)
    telemetry.switch_off(environ)
    return environ | {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
