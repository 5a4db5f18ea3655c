"""Open a model of sentence-transformers: the bundled one compiled and without torch, any other one in torch."""

from pathlib import Path

from mcp_memory.embedders.base import Embedder, EmbedderConfig, Progress
from mcp_memory.embedders.child import run_child
from mcp_memory.embedders.compiled_models import CompiledModel, folder_in, read_compiled
from mcp_memory.embedders.locate import ModelSource, locate
from mcp_memory.embedders.onnx import OnnxEmbedder
from mcp_memory.embedders.torch_embedder import TorchEmbedder
from mcp_memory.errors import EmbedderUnavailable


def open_auto(config: EmbedderConfig, cache: Path, progress: Progress) -> Embedder:
    """Open the configured model, or all-MiniLM-L6-v2 from wherever it is. Raises EmbedderUnavailable."""
    source = locate(config, cache, progress)
    prompts = {"query_prompt": config.query_prompt, "document_prompt": config.document_prompt}
    if source.is_bundled:
        return OnnxEmbedder(compiled_model(source, cache, config.compile_timeout_s, progress), **prompts)
    source.check()
    return TorchEmbedder(source, **prompts)


def compiled_model(source: ModelSource, cache: Path, timeout_s: float, progress: Progress) -> CompiledModel:
    """Return the bundled model as compiled in `cache`; compiles it in a child process if it is absent or damaged.

    Raises EmbedderUnavailable if the weights are refused, or the child fails or takes longer than `timeout_s`."""
    target = folder_in(cache)
    if compiled := read_compiled(target):
        return compiled
    source.check()
    run_child(
        "mcp_memory.embedders.compiler",
        [str(source.bundled_file), str(target)],
        task=f"compiling {source.name}",
        environ={},
        deadline_s=timeout_s,
        progress=progress,
    )
    if compiled := read_compiled(target):
        return compiled
    raise EmbedderUnavailable(f"the compiled model in {target} is damaged", hint="is the disk full or failing?")
