"""Open any sentence-transformers model: compiled once in a child process, and run without torch from then on."""

from pathlib import Path

from mcp_memory.embedders.base import Embedder, EmbedderConfig, Progress
from mcp_memory.embedders.child import run_child
from mcp_memory.embedders.compiled_models import CompiledModel, Recipe, folder_for, read_compiled
from mcp_memory.embedders.compiler import job_to_json
from mcp_memory.embedders.locate import ModelSource, locate
from mcp_memory.embedders.onnx import OnnxEmbedder
from mcp_memory.embedders.torch_embedder import TorchEmbedder
from mcp_memory.errors import ConfigInvalid, EmbedderUnavailable

PRECISIONS = ("int8", "fp32", "torch")


def open_auto(config: EmbedderConfig, cache: Path, progress: Progress) -> Embedder:
    """Open the configured model, or all-MiniLM-L6-v2 from wherever it is. Raises ConfigInvalid, EmbedderUnavailable."""
    if config.precision not in PRECISIONS:
        raise ConfigInvalid(f"unknown precision {config.precision!r}", hint=f"known: {', '.join(PRECISIONS)}")
    return open_source(locate(config, cache, progress), config, cache, progress)


def open_named(config: EmbedderConfig, cache: Path, progress: Progress) -> Embedder:
    """Open the configured model. Raises ConfigInvalid, EmbedderUnavailable."""
    if not config.model:
        raise ConfigInvalid("embedder.model is empty", hint='name a model or a folder, or set provider = "auto"')
    return open_auto(config, cache, progress)


def open_source(
    source: ModelSource, config: EmbedderConfig, cache: Path, progress: Progress, recipe: Recipe | None = None
) -> Embedder:
    """Open `source` compiled by the recipe, or in torch if it can't be compiled or with `precision = "torch"`."""
    prompts = {"query_prompt": config.query_prompt, "document_prompt": config.document_prompt}
    if config.precision != "torch":
        compiled = compiled_model(source, recipe or Recipe(config.precision), cache, config.compile_timeout_s, progress)
        if compiled.manifest.engine == "onnx":
            return OnnxEmbedder(compiled, **prompts)
    source.check()
    return TorchEmbedder(source, **prompts)


def compiled_model(
    source: ModelSource, recipe: Recipe, cache: Path, timeout_s: float, progress: Progress
) -> CompiledModel:
    """Return the compiled model in `cache`, compiled in a child process if it is absent or damaged.

    Raises EmbedderUnavailable if the weights are refused, or the child fails or takes longer than `timeout_s`."""
    target = folder_for(cache, source, recipe)
    if compiled := read_compiled(target):
        return compiled
    source.check()
    run_child(
        "mcp_memory.embedders.compiler",
        [job_to_json(source, target, recipe)],
        task=f"compiling {source.name}",
        environ={"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"},
        deadline_s=timeout_s,
        progress=progress,
    )
    if compiled := read_compiled(target):
        return compiled
    raise EmbedderUnavailable(f"the compiled model in {target} is damaged", hint="is the disk full or failing?")
