"""Run a retrieval set through the engine's own indexing and search, and print how much evidence it finds.

    python -m tests.eval.run_eval SET [--state FOLDER] [--run FILE] [--mode hybrid|semantic|keyword]

SET is a folder with `queries.jsonl` and `vault/<conv>/…`; `score.py` beside it does the scoring. With `--state` the
compiled model and the vectors are kept, so that a second run takes seconds.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import Any

import anyio

from mcp_memory.embedders.base import Embedder, EmbedderConfig
from mcp_memory.embedders.choose import open_embedder
from mcp_memory.engine.kinds import Kinds
from mcp_memory.engine.legs import Mode
from mcp_memory.engine.notes import Layout, read_note
from mcp_memory.engine.passages import to_upsert
from mcp_memory.engine.search import SearchConfig, Searcher
from mcp_memory.index.base import Upsert
from mcp_memory.index.sqlite import SqliteIndex
from mcp_memory.models import Etag, Filters, NotePath
from mcp_memory.text.chunking import ChunkingConfig
from mcp_memory.text.logs import is_log_path

HITS = 100
"""Single turns of a dialogue are so short that 40 do not fill 2,000 tokens."""

Row = dict[str, Any]


@dataclass(frozen=True)
class EvalSet:
    """One folder of queries and vaults."""

    folder: Path

    @property
    def queries(self) -> list[Row]:
        return read_jsonl(self.folder / "queries.jsonl")

    def vault(self, conversation: str) -> Path:
        return self.folder / "vault" / conversation

    def scorer(self) -> ModuleType:
        """`score.py` beside the set, loaded by path."""
        spec = importlib.util.spec_from_file_location("score", self.folder.parent / "score.py")
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module


def evaluate(
    chosen: EvalSet, state: Path, embedder: Embedder | None, config: SearchConfig, mode: Mode = "hybrid"
) -> tuple[list[Row], Row]:
    """The run, one row a query, and its scores."""
    queries = chosen.queries
    run: list[Row] = []
    for conversation in dict.fromkeys(query["conv"] for query in queries):
        mine = [query for query in queries if query["conv"] == conversation]
        vault = chosen.vault(conversation)
        with closing(SqliteIndex(state / "index" / chosen.folder.name / conversation)) as index:
            fill(index, vault, embedder)
            searcher = Searcher(index, lambda: embedder, config, lambda vault=vault: after_last_log(vault))
            run += anyio.run(_ask, searcher, mine, mode)
    return run, chosen.scorer().score(queries, run, chosen.folder / "vault")


def fill(index: SqliteIndex, vault: Path, embedder: Embedder | None) -> None:
    """Index every note of a vault, and wait for its vectors."""
    chunking = ChunkingConfig()
    embedding = embedder.fingerprint if embedder else ""
    generation = index.begin(f"{chunking.fingerprint} | {embedding}", embedding, embedder.dimension if embedder else 0)
    active = next((each.number for each in index.generations() if each.active), None)
    if active != generation.number:
        index.activate(generation.number, active)
    index.apply(generation.number, list(_upserts(vault, chunking)))
    while embedder and (missing := index.missing_vectors(generation.number, 512)):
        vectors = embedder.embed_documents([text for _, text in missing])
        index.put_vectors(generation.number, [text_hash for text_hash, _ in missing], vectors)


def after_last_log(vault: Path) -> datetime:
    """When the questions are asked, for `last week` and the like: the day after the last log, or now."""
    days = [day for path in vault.rglob("*.md") if (day := is_log_path(path.relative_to(vault).as_posix()))]
    if not days:
        return datetime.now(UTC)
    return datetime.combine(max(days), time(), UTC) + timedelta(days=1)


def summary(scores: Row) -> str:
    """The main figures, one line a category."""
    names = {f"evidence@{n}tok": f"ev@{n}" for n in (500, 1000, 2000)}
    names |= {"all_evidence@2000tok": "all@2000", "note_recall@5": "note@5", "mrr@10": "mrr@10", "ndcg@10": "ndcg@10"}
    lines = ["".join([f"{'':14}{'n':>5}", *(f"{short:>10}" for short in names.values())])]
    for category, values in scores["categories"].items():
        lines.append("".join([f"{category:14}{values['n']:5}", *(f"{values[name]:10.3f}" for name in names)]))
    lines += [f"AUROC answerable vs {kind}: {value:.3f}" for kind, value in scores.get("auroc", {}).items()]
    lines.append("latency ms: " + ", ".join(f"{name} {ms:.1f}" for name, ms in scores.get("latency_ms", {}).items()))
    return "\n".join(lines)


def read_jsonl(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", type=Path, help="folder of a set")
    parser.add_argument("--state", type=Path, help="folder for the compiled model and the indexes")
    parser.add_argument("--run", type=Path, help="write the run here, in score.py's format")
    parser.add_argument("--mode", choices=("hybrid", "semantic", "keyword"), default="hybrid")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        state: Path = arguments.state or Path(temporary)
        embedder = open_embedder(EmbedderConfig(), state / "models", print)
        with closing(embedder):
            run, scores = evaluate(EvalSet(arguments.set.resolve()), state, embedder, SearchConfig(), arguments.mode)
    if arguments.run:
        arguments.run.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in run), encoding="utf-8")
    print(summary(scores))


async def _ask(searcher: Searcher, queries: Iterable[Row], mode: Mode) -> list[Row]:
    rows: list[Row] = []
    for query in queries:
        start = perf_counter()
        result = await searcher.search(query["question"], limit=HITS, filters=Filters(), mode=mode)
        rows.append(
            {
                "id": query["id"],
                "hits": [
                    {
                        "path": hit.path,
                        "start_line": hit.start_line,
                        "end_line": hit.end_line,
                        "score": hit.score,
                        "text": hit.snippet,
                    }
                    for hit in result.hits
                ],
                "abstain": result.confidence,
                "latency_ms": (perf_counter() - start) * 1000,
            }
        )
    return rows


def _upserts(vault: Path, chunking: ChunkingConfig) -> Iterator[Upsert]:
    layout, kinds = Layout("", UTC), Kinds({})
    for file in sorted(vault.rglob("*.md")):
        data = file.read_bytes()
        path = NotePath(file.relative_to(vault).as_posix())
        note = read_note(path, data, Etag(hashlib.sha256(data).hexdigest()), "", layout, kinds)
        yield to_upsert(note.record, note.text, note.body_start, chunking)


if __name__ == "__main__":
    main()
