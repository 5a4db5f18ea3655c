"""Fits the classifier of statements on the labelled sets, and writes its weights into the package.

    python -m tests.benchmarks.train_statements [--across] [--write]

`--across` prints what each session would get from weights fitted without it. Needs the bundled model once.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mcp_memory.capture.readers.message import Role
from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.embedders.open_embedder import open_embedder
from mcp_memory.extraction.language import introduces
from mcp_memory.extraction.statement_rules import classify
from mcp_memory.extraction.statements.cues import features, is_vetoed
from mcp_memory.extraction.user_sentences import UserSentence, user_sentences
from tests.benchmarks.extraction_sessions import (
    AT_ONCE,
    MODELS,
    PROPOSED,
    SESSIONS,
    files_in,
    read_session,
    share_of_words,
)

EVAL = SESSIONS.parents[1]
WEIGHTS = Path(__file__).parents[2] / "mcp_memory" / "extraction" / "statements" / "weights.json"
NOTHING, ONCE, MAYBE = 0, 2, 1
Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    source: str
    sentence: UserSentence
    answers: bool
    label: int
    weight: float = 1.0


def _split(text: str) -> list[UserSentence]:
    return user_sentences(text, introduces)


def rows_of_sessions(files: Sequence[Path]) -> Iterator[Row]:
    for file in files:
        session = read_session(file)
        before = None
        for message in session.messages:
            if message.role is Role.USER:
                labels = [one for one in session.labels if one.offset == message.offset]
                answers = (
                    before is not None and before.role is Role.ASSISTANT and before.turn.text.rstrip().endswith("?")
                )
                for sentence in _split(message.turn.text):
                    label = _label_of(sentence, labels)
                    if label is not None:
                        yield Row(file.stem, sentence, answers, label)
            before = message


def _label_of(sentence: UserSentence, labels: Sequence[Any]) -> int | None:
    """None where it is a reason, or nothing of the statement was said in it."""
    if any(one.mark == "~" for one in labels):
        return None
    wanted = [one for one in labels if one.mark in (AT_ONCE, PROPOSED)]
    shares = [(share_of_words(sentence.text, one.statement), one) for one in wanted]
    best = max(shares, key=lambda pair: pair[0], default=None)
    if best is None:
        return NOTHING
    if best[0] >= 0.34:
        return ONCE if best[1].mark == AT_ONCE else MAYBE
    return None


def rows_of_lines() -> Iterator[Row]:
    marks = {"+": ONCE, "?": MAYBE, "-": NOTHING}
    for line in (EVAL / "extraction" / "lines.txt").read_text(encoding="utf-8").splitlines():
        if line[:1] in marks:
            for sentence in _split(line[2:])[:1]:
                yield Row("lines", sentence, False, marks[line[0]])
    for name in ("messages", "afterwards", "unseen", "commitments"):
        for line in (EVAL / "extraction" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            sentences = _split(row["text"]) if row["role"] == "user" else []
            labels = [each for each in row.get("expect", []) if each not in ("fix",)]
            if len(sentences) == 1 or not labels:
                for sentence in sentences:
                    label = NOTHING
                    if labels and labels[0] != "commitment":
                        label = ONCE if labels[0].endswith("+") or labels[0] == "fact" else MAYBE
                    elif labels:
                        continue
                    yield Row("messages", sentence, False, label, 1.0 if label else HARD)
    for file in (EVAL / "contradictions").glob("development.jsonl"):
        for line in file.read_text(encoding="utf-8").splitlines():
            for sentence in _split(json.loads(line)["newer"]["text"])[:1]:
                yield Row("contradictions", sentence, False, ONCE, 0.3)
    for file in EVAL.rglob("prompts.jsonl"):
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            for sentence in _split(row["prompt"])[:1]:
                yield Row("prompts", sentence, False, NOTHING, 0.5)


def vectors_of(texts: Sequence[str]) -> Matrix:
    name = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
    kept = Path(MODELS) / f"statements-{name}.npy"
    if not kept.is_file():
        embedder = open_embedder(EmbedderConfig(), MODELS)
        np.save(kept, embedder.embed_documents(texts))
    return np.load(kept).astype(np.float64)


def fit(features: Matrix, wanted: Matrix, weights: Matrix, penalties: Matrix, steps: int = 12) -> Matrix:
    """Logistic regression by Newton's method; the last column is the constant."""
    columns = np.hstack([features, np.ones((len(features), 1))])
    found = np.zeros(columns.shape[1])
    ridge = np.append(penalties, 1e-3)
    for _ in range(steps):
        likely = 1 / (1 + np.exp(-columns @ found))
        slope = columns.T @ (weights * (likely - wanted)) + ridge * found
        curve = (columns * (weights * likely * (1 - likely) + 1e-6)[:, None]).T @ columns + np.diag(ridge)
        found -= np.linalg.solve(curve, slope)
    return found


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--across", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    rows = [row for row in [*rows_of_sessions(files_in([SESSIONS])), *rows_of_lines()] if not is_vetoed(row.sentence)]
    cues = np.array([features(row.sentence, answers=row.answers, ruled=_ruled(row.sentence)) for row in rows])
    vectors = vectors_of([row.sentence.text for row in rows])
    labels = np.array([row.label for row in rows])
    weights = np.array([row.weight for row in rows])
    sources = np.array([row.source for row in rows])
    print(len(rows), "rows", np.bincount(labels), cues.shape)
    table: dict[str, list[list[float]]] = {}
    talk = np.where(np.isin(sources, LINES), weights, TALK * weights)
    for name, weight, table_of, penalty in (
        ("cues", weights, cues, np.full(cues.shape[1], CUE_RIDGE)),
        (
            "model",
            talk,
            np.hstack([cues, vectors]),
            np.array([CUE_RIDGE] * cues.shape[1] + [VECTOR_RIDGE] * vectors.shape[1]),
        ),
    ):
        if options.across:
            scores = np.zeros((len(rows), 2))
            for held in {row.source for row in rows if row.source not in LINES}:
                inside = sources == held
                for number, wanted in enumerate((labels == ONCE, labels > NOTHING)):
                    found = fit(table_of[~inside], wanted[~inside].astype(float), weight[~inside], penalty)
                    scores[inside, number] = 1 / (1 + np.exp(-(table_of[inside] @ found[:-1] + found[-1])))
            inside = ~np.isin(sources, LINES)
            print_curve(name, labels[inside], scores[inside])
        table[name] = [
            fit(table_of, wanted.astype(float), weight, penalty).round(4).tolist()
            for wanted in (labels == ONCE, labels > NOTHING)
        ]
    if options.write:
        WEIGHTS.write_text(json.dumps(table) + "\n", encoding="utf-8")
    return 0


HARD = 2.5
"""The weight of a message that was sought out to mislead."""
TALK = 3.0
"""The weight of a sentence of a whole session with the model: the other sets aren't as people talk. Cues alone are
too few to tell by them."""
LINES = ["lines", "messages", "contradictions", "prompts"]
CUE_RIDGE, VECTOR_RIDGE = 1.0, 2.0


def print_curve(name: str, labels: Any, scores: Matrix) -> None:
    for number, wanted, what in ((0, labels == ONCE, "once"), (1, labels > NOTHING, "any")):
        shown: list[str] = []
        for least in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
            chosen = scores[:, number] >= least
            right = (chosen & wanted).sum()
            shown.append(f"{least}: p {right / max(1, chosen.sum()):.2f} r {right / wanted.sum():.2f}")
        print(name, what, " | ".join(shown))


def _ruled(sentence: UserSentence) -> float:
    statement = classify(sentence)
    return statement.score if statement else 0.0


if __name__ == "__main__":
    sys.exit(main())
