"""Load a sentence-transformers model in torch, and export its whole pipeline as one ONNX graph.

Only the compiling child and the torch fallback import this; functions import everything heavy when called.
"""

import importlib
import warnings
from pathlib import Path
from typing import Any

from mcp_memory.embedders.locate import ModelSource
from mcp_memory.errors import EmbedderUnavailable
from mcp_memory.runtime import telemetry

OPSET = 17
"""The first opset with LayerNormalization as one operator; every ONNX Runtime since 1.12 supports it."""
EXPORTABLE = ("Transformer", "Pooling", "Dense", "Normalize", "LayerNorm", "Dropout")
"""Modules whose result depends only on token ids and mask."""
DOCUMENT_PROMPTS = ("document", "passage", "corpus")
"""Names under which `SentenceTransformer.encode_document` looks for a prompt, in order."""


def load(source: ModelSource, *, for_export: bool = False) -> Any:
    """Load the SentenceTransformer in `source`: only files on disk, none of their code, only safetensors, float32.

    Raises EmbedderUnavailable."""
    telemetry.switch_off()
    torch, library = _untyped("torch"), _untyped("sentence_transformers")

    options: dict[str, Any] = {"use_safetensors": True, "dtype": torch.float32}
    if for_export:
        # The other attention kernels branch on the mask, and a trace would freeze the branch.
        options["attn_implementation"] = "eager"
    try:
        model = library.SentenceTransformer(
            str(source.folder), device="cpu", local_files_only=True, trust_remote_code=False, model_kwargs=options
        )
    except Exception as error:  # a foreign model's files may make the library raise anything
        raise EmbedderUnavailable(f"sentence-transformers cannot load {source.name}: {error}") from error
    return model.eval()


def obstacle(model: Any) -> str | None:
    """Explain why the pipeline can't become one graph behind one tokenizer; None if it can."""
    for module in model:
        kind = type(module).__name__
        if kind not in EXPORTABLE or not type(module).__module__.startswith("sentence_transformers."):
            return f"its module {kind} is not exportable"
        if kind == "Pooling" and not module.include_prompt:
            return "its pooling leaves the prompt out"
    first = model[0]
    if type(first).__name__ != "Transformer" or "text" not in first.modality_config:
        return "its first module is no text transformer"
    if "message" in first.modality_config:
        return "it renders texts through a chat template"
    if getattr(first, "query_expansion", None) is not None:
        return "it expands queries"
    if not getattr(model.tokenizer, "is_fast", False):
        return "its tokenizer has no tokenizer.json"
    return None


def export(model: Any, file: Path) -> None:
    """Write a graph: (input_ids, attention_mask[, token_type_ids]), each (batch, tokens), → unit vectors (batch,
    dimension).

    Uses the exporter through TorchScript, because the newer exporter needs onnxscript and gains nothing here. Raises
    the exporter's errors for a model that it can't trace."""
    torch = _untyped("torch")

    features: dict[str, Any] = model.preprocess(["a first text of some words", "another"])
    names = [name for name in ("input_ids", "attention_mask", "token_type_ids") if name in features]

    class Pipeline(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()  # pyright: ignore[reportUnknownMemberType] -- torch has no types
            self.model = model

        def forward(self, *tensors: Any) -> Any:
            vectors = self.model(dict(zip(names, tensors, strict=True)))["sentence_embedding"]
            return torch.nn.functional.normalize(vectors[:, : self.model.truncate_dim], dim=-1)

    with torch.no_grad(), warnings.catch_warnings():
        # It warns about its age and about traced conditions; the comparison afterwards decides.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            Pipeline().eval(),
            tuple(features[name] for name in names),
            str(file),
            input_names=names,
            output_names=["embedding"],
            dynamic_axes={**{name: {0: "batch", 1: "tokens"} for name in names}, "embedding": {0: "batch"}},
            opset_version=OPSET,
            dynamo=False,
        )


def write_tokenizer(model: Any, file: Path, max_seq_length: int) -> None:
    """Write the model's tokenizer as one file that truncates to `max_seq_length`. Texts run one by one, so no padding
    is needed."""
    from tokenizers import Tokenizer

    original = model.tokenizer
    tokenizer: Any = Tokenizer.from_str(original.backend_tokenizer.to_str())
    tokenizer.enable_truncation(max_seq_length, direction=original.truncation_side)
    tokenizer.no_padding()
    tokenizer.save(str(file))


def max_seq_length(model: Any, ceiling: int) -> int:
    """Return the number of tokens that the model reads, at most `ceiling`. Some tokenizers state an absurd number for
    "no limit"."""
    limit = model.max_seq_length
    return min(ceiling, limit) if limit else ceiling


def pooling(model: Any) -> str:
    """Return `mean`, `cls`, …; several joined by `+`; `-` for a pipeline without a pooling module."""
    for module in model:
        if type(module).__name__ == "Pooling":
            mode = module.pooling_mode
            return mode if isinstance(mode, str) else "+".join(mode)
    return "-"


def prompts(model: Any) -> tuple[str, str]:
    """Return the (query, document) prompts that `encode_query` and `encode_document` prepend."""
    fallback = model.prompts.get(model.default_prompt_name) or ""
    document = next((model.prompts[name] for name in DOCUMENT_PROMPTS if name in model.prompts), fallback)
    return model.prompts.get("query", fallback) or "", document or ""


def _untyped(module: str) -> Any:
    """Import by name: a type checker would otherwise read all of torch and transformers, for half a minute."""
    return importlib.import_module(module)
