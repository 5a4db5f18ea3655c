"""Child process that compiles the bundled model: `python -m mcp_memory.embedders.compiler WEIGHTS TARGET`.

It writes the model's graphs with integer arithmetic, compares their vectors of sample texts with those of float
arithmetic on the same weights, and publishes the folder by one rename. The process keeps a lock meanwhile, so if two
processes try, one compiles and the other finds the result.
"""

import fcntl
import os
import shutil
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from mcp_memory.embedders.base import Progress
from mcp_memory.embedders.bundled.graphs import write_graphs, write_tokenizer
from mcp_memory.embedders.child import answering
from mcp_memory.embedders.compiled_models import (
    TOKENIZER_FILE,
    CompiledModel,
    Manifest,
    read_compiled,
    write_manifest,
)
from mcp_memory.embedders.locate import DEFAULT_MODEL
from mcp_memory.errors import EmbedderUnavailable
from mcp_memory.runtime.private_files import make_private, naming_the_cause

PRECISIONS = {"int8": 8, "int7": 7, "fp32": None}
"""Precision → bits of the weights, in the order in which they are tried. Processors without VNNI saturate on full-range
int8 products; seven bits do not."""

MEAN_COSINE, LEAST_COSINE = 0.98, 0.95
"""How close to float arithmetic the vectors of `SAMPLES` must stay."""

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
"""The texts for the comparison: short and long, prose and code, many scripts."""


def compile_model(weights: Path, target: Path, progress: Progress) -> None:
    """Make `target` a complete compiled model, unless it is one already. Raises EmbedderUnavailable if no precision is
    close enough to the original."""
    make_private(target.parent)
    with _lock(target, progress):
        if read_compiled(target):
            return
        for leftover in target.parent.glob(f".{target.name}-*.tmp"):
            shutil.rmtree(leftover)
        work = Path(mkdtemp(prefix=f".{target.name}-", suffix=".tmp", dir=target.parent))
        try:
            _compile_into(work, weights, progress)
            if target.exists():  # damaged: move it out of the way
                damaged = Path(mkdtemp(prefix=f".{target.name}-", suffix=".tmp", dir=target.parent))
                target.rename(damaged / "damaged")
                work.rename(target)
                shutil.rmtree(damaged)
            else:
                work.rename(target)
        finally:
            shutil.rmtree(work, ignore_errors=True)


def _compile_into(work: Path, weights: Path, progress: Progress) -> None:
    """Write the model in the first precision that gives nearly the vectors of float arithmetic."""
    progress(f"preparing {DEFAULT_MODEL} (once)")
    write_tokenizer(work / TOKENIZER_FILE)
    write_graphs(weights, work, bits=None)
    expected = _vectors(write_manifest(work, Manifest("fp32")))
    for precision, bits in PRECISIONS.items():
        progress(f"preparing and checking {precision}")
        write_graphs(weights, work, bits=bits)
        compiled = write_manifest(work, Manifest(precision))
        mean, least = _cosines(compiled, expected)
        if mean >= MEAN_COSINE and least >= LEAST_COSINE:
            write_manifest(work, Manifest(precision, mean_cosine=round(mean, 5), min_cosine=round(least, 5)))
            progress(f"compiled to {precision}: cosine with the original {mean:.4f}, at least {least:.4f}")
            return
        progress(f"{precision} is too far from the original: cosine {mean:.4f}, at least {least:.4f}")
    raise EmbedderUnavailable(f"{DEFAULT_MODEL} cannot be prepared: its graph does not give the original's vectors")


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
    given_weights, given_target = map(Path, sys.argv[1:])
    with answering() as tell, naming_the_cause(str(given_target.parent)):
        compile_model(given_weights, given_target, lambda line: tell({"progress": line}))
        tell({"result": {}})
