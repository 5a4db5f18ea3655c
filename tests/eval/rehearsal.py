"""What classifier training asks, written anew from the developer's vault: `python -m tests.eval.rehearsal`.

To be run after a change of chunking, of the search, or of the developer's notes and questions.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio

from mcp_memory.engine.config import EngineConfig
from mcp_memory.engine.factory import open_engine
from mcp_memory.evaluation.metrics import RetrievalScore
from mcp_memory.evaluation.running import Variant, run
from mcp_memory.evaluation.sets import read_set
from mcp_memory.indexing.index_rows import RowPreparer
from mcp_memory.search.classifier_training import PASSAGES, QUESTIONS
from mcp_memory.text.chunking.config import ChunkingConfig
from tests.benchmarks.site import models

DEVELOPER = Path(__file__).with_name("developer")
SETS = (DEVELOPER, DEVELOPER / "prompts.jsonl")
DIGITS = 3


def rows_of(answers: list[RetrievalScore]) -> Iterator[dict[str, Any]]:
    """In the form of the shipped file. A prompt of a single emoji has no words: nothing of it is said."""
    for answer in answers:
        question, signs = answer.question, answer.signs
        said = {name: round(signs.get(name, 0.0), DIGITS) for name in ("closest", "together")}
        yield {"text": question.text, "prompt": question.is_prompt, "answerable": question.answerable, **said}


async def written(folder: Path) -> None:
    config = EngineConfig(folder, folder, models())
    rows: list[dict[str, Any]] = []
    for questions in map(read_set, SETS):
        (answers,) = await run(questions, config, [Variant()], folder, print)
        rows += rows_of(answers)
    _write(QUESTIONS, rows)
    place = folder / f"{read_set(DEVELOPER).name}-1"
    here = EngineConfig(place / "vault", place / "state", models())
    async with open_engine(here, watch=False) as engine:
        paths, preparer = iter(engine.parts.vault.list().files), RowPreparer(engine.parts.vault, ChunkingConfig())
        texts: list[str] = []
        while (batch := preparer.batch(paths, lambda _: True)).paths:
            texts += [chunk.embedded_text for upsert in batch.upserts for chunk in upsert.chunks]
    _write(PASSAGES, [{"text": text} for text in texts])


def _write(file: Path, rows: list[dict[str, Any]]) -> None:
    file.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), encoding="utf-8")
    print(f"{file}: {len(rows)}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        sys.exit(anyio.run(written, Path(place)))
