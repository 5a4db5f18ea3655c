"""Child process that compiles a model: `python -m mcp_memory.embedders.compiler JOB`, JOB a JSON list.

It loads the original with sentence-transformers, exports its pipeline as one ONNX file, quantizes it, compares it with
the original on sample texts, and publishes the folder by one rename. The bundled model is a graph already, so only its
arithmetic changes. The process keeps a lock meanwhile, so if two processes try, one compiles and the other finds the
result.
"""

import dataclasses
import fcntl
import json
import os
import shutil
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from mcp_memory.embedders import onnx_export
from mcp_memory.embedders.base import Progress
from mcp_memory.embedders.bundled.graphs import DIMENSION, MAX_TOKENS, write_graphs, write_tokenizer
from mcp_memory.embedders.child import answering
from mcp_memory.embedders.compiled_models import (
    MODEL_FILE,
    TOKENIZER_FILE,
    CompiledModel,
    Manifest,
    Recipe,
    read_compiled,
    write_manifest,
)
from mcp_memory.embedders.locate import ModelSource
from mcp_memory.errors import EmbedderUnavailable
from mcp_memory.runtime.private_files import make_private, naming_the_cause

Graphs = Mapping[str, Callable[[Path], object]]
"""Precision → the function that writes the model's graph in it, in the order in which they are tried."""


_PROSE = (
    "The team met on Thursday to decide how releases are cut. From now on a branch is made on the first Monday of "
    "each month, fixes are picked onto it for two weeks, and nothing else goes in. Whoever cuts the release writes "
    "the notes, asks a second person to read them, and tags the commit only when both have run the installer. "
)

SAMPLES: tuple[str, ...] = (
    "",
    "tea",
    "Where are the release notes?",
    "Ana prefers tabs, Bo prefers spaces; the formatter decides.",
    "Decision: we keep SQLite. Reason: one file, one transaction, no server to run.",
    "The flight to Osaka leaves at 09:40 on 14 March from gate B22, with a stop in Helsinki.",
    "- [ ] call the dentist\n- [x] pay the rent\n- [ ] renew the passport before May",
    "def area(radius: float) -> float:\n    return math.pi * radius**2",
    "ERROR 2026-02-11T08:15:02Z worker-3 connection reset by peer (attempt 4 of 5)",
    "git rebase --onto main topic~3 topic && git push --force-with-lease",
    "SELECT name, count(*) FROM orders WHERE paid = 0 GROUP BY name HAVING count(*) > 3;",
    "| city | rain in mm |\n|---|---|\n| Bergen | 2,250 |\n| Almería | 196 |",
    "Der Schlüssel liegt unter der Fußmatte, aber nur dienstags.",
    "La réunion est déplacée à jeudi, parce que la salle était déjà réservée.",
    "会议改到星期四下午三点,请大家带上各自的笔记。",
    "サーバーは毎晩二時に再起動します。",
    "Встреча перенесена на четверг, потому что зал уже занят.",
    "الاجتماع تأجل إلى يوم الخميس لأن القاعة محجوزة.",
    "🎂 Mia turns seven on Saturday 🎈 bring candles!",
    "https://example.org/docs/install?version=2.1#troubleshooting",
    "0x7fff5fbff8c0 3.14159 1e-9 192.0.2.17 550e8400-e29b-41d4-a716-446655440000",
    "WHY IS THE BUILD RED AGAIN? Because the certificate of the mirror ran out at midnight.",
    _PROSE,
    _PROSE * 12,
)
"""The texts for the comparison with the original: short and long, prose and code, many scripts."""


def job_to_json(source: ModelSource, target: Path, recipe: Recipe) -> str:
    """Return the argument of the child."""
    return json.dumps(
        [source.name, str(source.folder), source.revision, source.is_graph, str(target), dataclasses.asdict(recipe)]
    )


def compile_model(source: ModelSource, target: Path, recipe: Recipe, progress: Progress) -> None:
    """Make `target` a complete compiled model, unless it is one already.

    Raises EmbedderUnavailable if the original can't be loaded. A model that loads but can't be compiled gets a manifest
    with `engine: torch` and the reason, so that it isn't tried again."""
    make_private(target.parent)
    with _lock(target, progress):
        if read_compiled(target):
            return
        for leftover in target.parent.glob(f".{target.name}-*.tmp"):
            shutil.rmtree(leftover)
        work = Path(mkdtemp(prefix=f".{target.name}-", suffix=".tmp", dir=target.parent))
        try:
            _compile_into(work, source, recipe, progress)
            if target.exists():  # damaged: move it out of the way
                damaged = Path(mkdtemp(prefix=f".{target.name}-", suffix=".tmp", dir=target.parent))
                target.rename(damaged / "damaged")
                work.rename(target)
                shutil.rmtree(damaged)
            else:
                work.rename(target)
        finally:
            shutil.rmtree(work, ignore_errors=True)


def _compile_into(work: Path, source: ModelSource, recipe: Recipe, progress: Progress) -> None:
    if source.is_graph:
        _prepare_bundled(work, source, recipe, progress)
        return
    progress(f"loading {source.name} to compile it (once)")
    model = onnx_export.load(source, for_export=True)
    query_prompt, document_prompt = onnx_export.prompts(model)
    draft = Manifest(
        name=source.name,
        revision=source.revision,
        engine="onnx",
        precision="fp32",
        pooling=onnx_export.pooling(model),
        dimension=int(model.get_embedding_dimension()),
        max_seq_length=onnx_export.max_seq_length(model, recipe.max_tokens),
        query_prompt=query_prompt,
        document_prompt=document_prompt,
        versions=_versions("torch", "sentence-transformers", "transformers"),
    )
    reason = onnx_export.obstacle(model) or _compile_to_onnx(work, model, draft, recipe, progress)
    if reason:
        progress(f"{source.name} runs in torch: {reason}")
        for file in work.iterdir():
            file.unlink()
        write_manifest(work, dataclasses.replace(draft, engine="torch", precision="torch", reason=reason))


def _prepare_bundled(work: Path, source: ModelSource, recipe: Recipe, progress: Progress) -> None:
    """Compile the bundled model, and compare it with float arithmetic on the same weights: the original isn't on this
    machine."""
    progress(f"preparing {source.name} (once)")
    draft = Manifest(
        name=source.name,
        revision=source.revision,
        engine="onnx",
        precision="fp32",
        pooling="mean",
        dimension=DIMENSION,
        max_seq_length=MAX_TOKENS,
        query_prompt="",
        document_prompt="",
        versions=_versions(),
    )
    write_tokenizer(work / TOKENIZER_FILE)

    def graph(bits: int | None) -> Callable[[Path], None]:
        return lambda file: write_graphs(source.weights_file, file.parent, bits=bits)

    graph(None)(work / MODEL_FILE)
    expected = _vectors(write_manifest(work, draft))
    attempts = {"int8": graph(8), "int7": graph(7)} if recipe.precision == "int8" else {}
    if reason := _first_close_enough({**attempts, "fp32": graph(None)}, work, draft, recipe, expected, progress):
        raise EmbedderUnavailable(f"{source.name} cannot be prepared: {reason}")


def _compile_to_onnx(work: Path, model: Any, draft: Manifest, recipe: Recipe, progress: Progress) -> str | None:
    """Return None if a precision is close enough to the original, else the reason why none is."""
    progress("writing the ONNX graph")
    original = work / "original.onnx"
    try:
        onnx_export.export(model, original)
        onnx_export.write_tokenizer(model, work / TOKENIZER_FILE, draft.max_seq_length)
    except Exception as error:  # exporters fail in as many ways as there are models; torch still runs this one
        return f"it cannot be exported ({type(error).__name__}: {str(error)[:200]})"
    settings: dict[str, Any] = {"normalize_embeddings": True, "show_progress_bar": False, "batch_size": 8}
    texts = list(SAMPLES)
    expected = [*model.encode_document(texts, **settings), *model.encode_query(texts, **settings)]
    attempts: Graphs = {
        "int8": lambda file: _quantize(original, file, reduce_range=False),
        "int7": lambda file: _quantize(original, file, reduce_range=True),
    }
    graphs: Graphs = {
        **(attempts if recipe.precision == "int8" else {}),
        "fp32": lambda file: shutil.copyfile(original, file),
    }
    reason = _first_close_enough(graphs, work, draft, recipe, expected, progress)
    original.unlink(missing_ok=True)
    return reason


def _first_close_enough(
    graphs: Graphs, work: Path, draft: Manifest, recipe: Recipe, expected: Sequence[Any], progress: Progress
) -> str | None:
    """Write graphs until one gives nearly the `expected` vectors; return None, else the reason why none does.

    Processors without VNNI saturate on full-range int8 products; seven bits do not."""
    int8_bars = (recipe.int8_mean_cosine, recipe.int8_min_cosine)
    for precision, write in graphs.items():
        mean_bar, min_bar = (recipe.fp32_min_cosine,) * 2 if precision == "fp32" else int8_bars
        progress(f"preparing and checking {precision}")
        write(work / MODEL_FILE)
        compiled = write_manifest(work, dataclasses.replace(draft, precision=precision))
        mean, least = _cosines(compiled, expected)
        if mean >= mean_bar and least >= min_bar:
            write_manifest(
                work, dataclasses.replace(compiled.manifest, mean_cosine=round(mean, 5), min_cosine=round(least, 5))
            )
            progress(f"compiled to {precision}: cosine with the original {mean:.4f}, at least {least:.4f}")
            return None
        progress(f"{precision} is too far from the original: cosine {mean:.4f}, at least {least:.4f}")
    return "its ONNX graph does not give the original's vectors"


def _quantize(original: Path, file: Path, *, reduce_range: bool) -> None:
    """Quantize to dynamic int8: weights by channel, activations at run time.

    On all-MiniLM-L6-v2 and 240 chunks of documentation, mean and least cosine with fp32: by channel .9936 and .985
    (reduced range .992 and .984), by tensor .947 and .89."""
    import onnxruntime.quantization

    library: Any = onnxruntime.quantization
    library.quantize_dynamic(
        original, file, per_channel=True, reduce_range=reduce_range, weight_type=library.QuantType.QInt8
    )


def _versions(*libraries: str) -> dict[str, str]:
    return {library: version(library) for library in (*libraries, "onnx", "onnxruntime", "tokenizers")}


def _vectors(compiled: CompiledModel) -> Sequence[Any]:
    """Return the vectors of the samples as documents, then as queries."""
    from mcp_memory.embedders.onnx import OnnxEmbedder

    engine = OnnxEmbedder(compiled)
    try:
        return [*engine.embed_documents(SAMPLES), *(engine.embed_query(text) for text in SAMPLES)]
    finally:
        engine.close()


def _cosines(compiled: CompiledModel, expected: Sequence[Any]) -> tuple[float, float]:
    """Return mean and least cosine between the compiled model's vectors and the expected ones."""
    import numpy as np

    found = np.stack(_vectors(compiled))
    # float32 rounding of a sum of 384 products: a perfect copy may come out at 1.0000001
    cosines = np.minimum((found * np.stack(expected)).sum(axis=1), 1.0)
    if not np.isfinite(cosines).all():
        return 0.0, 0.0
    return float(cosines.mean()), float(cosines.min())


@contextmanager
def _lock(target: Path, progress: Progress) -> Generator[None]:
    """Lock this target in the kernel: released when the process ends, however it ends."""
    lock = os.open(target.parent / f".{target.name}.lock", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with os.fdopen(lock, "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("another process is compiling this model; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    os.nice(5)  # answers go first
    name, folder, revision, is_graph, target, recipe = json.loads(sys.argv[1])
    with answering() as tell, naming_the_cause(str(Path(target).parent)):
        source = ModelSource(name, Path(folder), revision, is_graph=is_graph)
        compile_model(source, Path(target), Recipe(**recipe), lambda line: tell({"progress": line}))
        tell({"result": {}})
