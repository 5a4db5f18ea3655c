"""The child that compiles a model: `python -m mcp_memory.embedders.compiler JOB`, JOB a JSON object.

Loads the original with sentence-transformers, writes its pipeline as one ONNX file, quantises it, compares it
with the original on sample texts, and publishes the folder by one rename. Holds a lock meanwhile, so that of two
processes one compiles and the other finds the result.
"""

from __future__ import annotations

import dataclasses
import fcntl
import json
import os
import shutil
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from mcp_memory.embedders import onnx_export
from mcp_memory.embedders.child import answering
from mcp_memory.embedders.compiled import (
    MODEL_FILE,
    TOKENIZER_FILE,
    CompiledModel,
    Manifest,
    Recipe,
    read_compiled,
    write_manifest,
)
from mcp_memory.embedders.locate import ModelSource
from mcp_memory.embedders.parity_texts import SAMPLES
from mcp_memory.runtime import telemetry

Say = Callable[[str], None]

LIBRARIES = ("torch", "sentence-transformers", "transformers", "onnx", "onnxruntime", "tokenizers")


@dataclasses.dataclass(frozen=True, slots=True)
class CompileJob:
    """What the child is asked to do; travels as JSON."""

    name: str
    folder: str
    revision: str
    target: str
    recipe: Recipe

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> CompileJob:
        values: dict[str, Any] = json.loads(text)
        values["recipe"] = Recipe(**values["recipe"])
        return cls(**values)


def compile_model(job: CompileJob, say: Say) -> None:
    """Leaves a whole compiled model in `job.target`; does nothing where there is one.

    Raises EmbedderUnavailable where the original cannot be loaded. A model that loads but cannot be compiled
    gets a manifest with `engine: torch` and the reason, so that nobody tries again.
    """
    target = Path(job.target)
    target.parent.mkdir(parents=True, exist_ok=True)
    with _lock(target, say):
        if read_compiled(target):
            return
        for leftover in target.parent.glob(f".{target.name}-*.tmp"):
            shutil.rmtree(leftover)
        work = Path(mkdtemp(prefix=f".{target.name}-", suffix=".tmp", dir=target.parent))
        try:
            _compile_into(work, job, say)
            _publish(work, target)
        finally:
            shutil.rmtree(work, ignore_errors=True)


def _compile_into(work: Path, job: CompileJob, say: Say) -> None:
    say(f"loading {job.name} to compile it (once)")
    model = onnx_export.load(ModelSource(job.name, Path(job.folder), job.revision), for_export=True)
    query_prompt, document_prompt = onnx_export.prompts(model)
    draft = Manifest(
        name=job.name,
        revision=job.revision,
        engine="onnx",
        precision="fp32",
        pooling=onnx_export.pooling(model),
        dimension=onnx_export.dimension(model),
        max_seq_length=onnx_export.max_seq_length(model, job.recipe.max_tokens),
        query_prompt=query_prompt,
        document_prompt=document_prompt,
        versions={library: version(library) for library in LIBRARIES},
    )
    reason = onnx_export.obstacle(model) or _compile_to_onnx(work, model, draft, job.recipe, say)
    if reason:
        say(f"{job.name} runs in torch: {reason}")
        for file in work.iterdir():
            file.unlink()
        write_manifest(work, dataclasses.replace(draft, engine="torch", precision="torch", reason=reason))


def _compile_to_onnx(work: Path, model: Any, draft: Manifest, recipe: Recipe, say: Say) -> str | None:
    """Tries the recipe's precisions in turn; returns None when one stands, else the reason why none does."""
    say("writing the ONNX graph")
    original = work / "original.onnx"
    try:
        onnx_export.export(model, original)
        onnx_export.write_tokenizer(model, work / TOKENIZER_FILE, draft.max_seq_length)
    except Exception as error:
        # Exporters fail in as many ways as there are models; torch still runs this one.
        return f"it cannot be exported ({type(error).__name__}: {str(error)[:200]})"
    expected = _reference(model)
    for attempt in _attempts(recipe):
        say(f"preparing and checking {attempt.precision}")
        attempt.write(original, work / MODEL_FILE)
        compiled = write_manifest(work, dataclasses.replace(draft, precision=attempt.precision))
        mean, least = _cosines(compiled, expected)
        if mean >= attempt.mean_cosine and least >= attempt.min_cosine:
            original.unlink(missing_ok=True)
            write_manifest(
                work, dataclasses.replace(compiled.manifest, mean_cosine=round(mean, 5), min_cosine=round(least, 5))
            )
            say(f"compiled to {attempt.precision}: cosine with the original {mean:.4f}, at least {least:.4f}")
            return None
        say(f"{attempt.precision} is too far from the original: cosine {mean:.4f}, at least {least:.4f}")
    return "its ONNX graph does not give the original's vectors"


@dataclasses.dataclass(frozen=True, slots=True)
class _Attempt:
    precision: str
    mean_cosine: float
    min_cosine: float
    write: Callable[[Path, Path], object]


def _attempts(recipe: Recipe) -> Iterator[_Attempt]:
    if recipe.precision == "int8":
        bars = (recipe.int8_mean_cosine, recipe.int8_min_cosine)
        yield _Attempt("int8", *bars, lambda original, file: _quantise(original, file, reduce_range=False))
        # Processors without VNNI saturate on full-range int8 products; seven bits do not.
        yield _Attempt("int7", *bars, lambda original, file: _quantise(original, file, reduce_range=True))
    yield _Attempt("fp32", recipe.fp32_min_cosine, recipe.fp32_min_cosine, shutil.copyfile)


def _quantise(original: Path, file: Path, *, reduce_range: bool) -> None:
    """Dynamic int8: weights by channel, activations at run time.

    Measured on all-MiniLM-L6-v2 and 240 chunks of documentation, mean and least cosine with fp32: by channel
    .9936 and .985 (reduced range .992 and .984), by tensor .947 and .89.
    """
    import onnxruntime.quantization

    library: Any = onnxruntime.quantization
    library.quantize_dynamic(
        original, file, per_channel=True, reduce_range=reduce_range, weight_type=library.QuantType.QInt8
    )


def _reference(model: Any) -> tuple[Any, Any]:
    """What the original says of the samples, as documents and as queries."""
    texts = list(SAMPLES)
    settings: dict[str, Any] = {"normalize_embeddings": True, "show_progress_bar": False, "batch_size": 8}
    return model.encode_document(texts, **settings), model.encode_query(texts, **settings)


def _cosines(compiled: CompiledModel, expected: tuple[Any, Any]) -> tuple[float, float]:
    """Mean and least cosine between the engine's vectors and the original's."""
    import numpy as np

    from mcp_memory.embedders.onnx import OnnxEmbedder

    engine = OnnxEmbedder(compiled)
    documents, queries = expected
    found = np.stack([*engine.embed_documents(SAMPLES), *(engine.embed_query(text) for text in SAMPLES)])
    engine.close()
    # float32 rounding of a sum of 384 products: a perfect copy may come out at 1.0000001
    cosines = np.minimum((found * np.concatenate([documents, queries])).sum(axis=1), 1.0)
    if not np.isfinite(cosines).all():
        return 0.0, 0.0
    return float(cosines.mean()), float(cosines.min())


def _publish(work: Path, target: Path) -> None:
    """Under the lock: one rename; a damaged folder under that name goes out of the way first."""
    if target.exists():
        damaged = Path(mkdtemp(prefix=f".{target.name}-", suffix=".tmp", dir=target.parent))
        target.rename(damaged / "damaged")
        work.rename(target)
        shutil.rmtree(damaged)
    else:
        work.rename(target)


@contextmanager
def _lock(target: Path, say: Say) -> Generator[None]:
    """The kernel's lock on this target: freed when the process ends, however it ends."""
    with (target.parent / f".{target.name}.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another process is compiling this model; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    telemetry.switch_off()
    os.nice(5)  # whoever waits for an answer goes first
    with answering() as tell:
        compile_model(CompileJob.from_json(sys.argv[1]), lambda line: tell({"progress": line}))
        tell({"result": {}})
