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
    for name in ("lines", "talk"):
        for line in (EVAL / "extraction" / f"{name}.txt").read_text(encoding="utf-8").splitlines():
            if line[:1] in marks:
                asked, _, answer = line[3:].partition("] ") if line[2:3] == "[" else ("", "", line[2:])
                for sentence in _split(answer)[:1]:
                    yield Row(name, sentence, bool(asked), marks[line[0]], TALK_LINE if name == "talk" else 1.0)
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


@dataclass(frozen=True)
class Table:
    """What the weights are fitted on, a row a sentence."""

    cues: Matrix
    vectors: Matrix
    labels: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float64]
    sources: npt.NDArray[np.str_]

    def fit(self, chosen: npt.NDArray[np.bool_]) -> dict[str, Matrix]:
        """The weights, with and without a model, that the chosen rows give."""
        talk = np.where(np.isin(self.sources, LINES), self.weights, TALK * self.weights)
        cue_ridge, vector_ridge = np.full(self.cues.shape[1], CUE_RIDGE), np.full(self.vectors.shape[1], VECTOR_RIDGE)
        plain = self.weights * np.where(self.sources == "talk", 0.0, np.where(self.labels == NOTHING, CAUTION, 1.0))
        ways = {
            "cues": (self.cues, plain, cue_ridge),
            "model": (np.hstack([self.cues, self.vectors]), talk, np.append(cue_ridge, vector_ridge)),
        }
        return {
            name: np.array([
                fit(table[chosen], wanted[chosen].astype(float), weights[chosen], ridge)
                for wanted in (self.labels == ONCE, self.labels > NOTHING)
            ])
            for name, (table, weights, ridge) in ways.items()
        }  # fmt: skip


def training_table() -> Table:
    every = [*rows_of_sessions(files_in([SESSIONS])), *rows_of_lines()]
    rows = [row for row in every if not is_vetoed(row.sentence)]
    return Table(
        np.array([features(row.sentence, answers=row.answers, ruled=_ruled(row.sentence)) for row in rows]),
        vectors_of([row.sentence.text for row in rows]),
        np.array([row.label for row in rows]),
        np.array([row.weight for row in rows]),
        np.array([row.source for row in rows]),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--across", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    table = training_table()
    talked = ~np.isin(table.sources, LINES)
    print(len(table.labels), "rows", np.bincount(table.labels), table.cues.shape)
    if options.across:
        scores = {name: np.zeros((len(table.labels), 2)) for name in ("cues", "model")}
        for held in set(table.sources[talked]):
            inside = table.sources == held
            for name, found in table.fit(~inside).items():
                columns = np.hstack([table.cues, table.vectors])[inside, : found.shape[1] - 1]
                scores[name][inside] = 1 / (1 + np.exp(-(columns @ found[:, :-1].T + found[:, -1])))
        for name, likely in scores.items():
            print_curve(name, table.labels[talked], likely[talked])
    if options.write:
        found = {name: rows.round(4).tolist() for name, rows in table.fit(table.labels >= NOTHING).items()}
        WEIGHTS.write_text(json.dumps(found) + "\n", encoding="utf-8")
    return 0


HARD = 2.5
"""The weight of a message that was sought out to mislead."""
TALK = 3.0
"""The weight of a sentence of a whole session with the model: the other sets aren't as people talk. Cues alone are
too few to tell by them."""
TALK_LINE = 2.0
"""The weight of a line of `talk.txt`: pairs that look alike, which cues alone can't tell apart and don't learn from."""
CAUTION = 1.5
"""The weight of what deserves nothing, where cues decide alone: the sessions are denser than most."""
LINES = ["lines", "talk", "messages", "contradictions", "prompts"]
CUE_RIDGE, VECTOR_RIDGE = 1.0, 1.0


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
