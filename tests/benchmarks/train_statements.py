"""Fits the classifier of statements on the labelled sets, and writes its weights into the package.

    python -m tests.benchmarks.train_statements [--across] [--write]

`--across` prints what sessions would get from weights fitted without them. Needs the bundled model once.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mcp_memory.capture.readers.message import Role
from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.embedders.open_embedder import open_embedder
from mcp_memory.extraction.language import introduces
from mcp_memory.extraction.replaced_notes import replacement_features
from mcp_memory.extraction.statement_rules import classify
from mcp_memory.extraction.statements.agreements import agreement, offer, offer_features
from mcp_memory.extraction.statements.classifier import phrases
from mcp_memory.extraction.statements.cues import features, is_vetoed
from mcp_memory.extraction.statements.reasons import reason_features
from mcp_memory.extraction.user_sentences import UserSentence, user_sentences
from tests.benchmarks.extraction_sessions import (
    AT_ONCE,
    MODELS,
    PROPOSED,
    SESSIONS,
    Label,
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
    message: str
    assistant: str
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
                assistant = before.turn.text if before and before.role is Role.ASSISTANT else ""
                for sentence in _split(message.turn.text):
                    label = _label_of(sentence, labels)
                    if label is not None and not sentence.may_be_pasted:
                        yield Row(file.stem, sentence, message.turn.text, assistant, label)
                    assistant = ""
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
                    weight = TALK_LINE if name == "talk" else 1.0
                    yield Row(name, sentence, answer, f"{asked}?" if asked else "", marks[line[0]], weight)
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
                    yield Row("messages", sentence, row["text"], "", label, 1.0 if label else HARD)
    for file in (EVAL / "contradictions").glob("development.jsonl"):
        for line in file.read_text(encoding="utf-8").splitlines():
            for sentence in _split(json.loads(line)["newer"]["text"])[:1]:
                yield Row("contradictions", sentence, sentence.text, "", ONCE, 0.3)
    for file in EVAL.rglob("prompts.jsonl"):
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            for sentence in _split(row["prompt"])[:1]:
                yield Row("prompts", sentence, sentence.text, "", NOTHING, 0.5)


def states_of(texts: Sequence[str]) -> Matrix:
    name = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
    kept = Path(MODELS) / f"statements-{name}.npy"
    if not kept.is_file():
        states = open_embedder(EmbedderConfig(), MODELS).inner_states(texts)
        assert states is not None
        np.save(kept, states)
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
class Weights:
    """One row for each likelihood, the last column the constant, and one for each phrase."""

    rows: Matrix
    phrases: dict[str, list[float]]

    def likelihoods(self, table: Matrix, said: Sequence[set[str]]) -> Matrix:
        more = [np.sum([self.phrases[one] for one in each & self.phrases.keys()] or [[0, 0]], axis=0) for each in said]
        return 1 / (1 + np.exp(-(table @ self.rows[:, :-1].T + self.rows[:, -1] + np.array(more))))


@dataclass(frozen=True)
class Table:
    """What the weights are fitted on, a row a sentence."""

    cues: Matrix
    states: Matrix
    said: Sequence[set[str]]
    labels: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float64]
    sources: npt.NDArray[np.str_]

    def features(self, way: str) -> Matrix:
        return np.hstack([self.cues, self.states]) if way == "model" else self.cues

    def fit(self, chosen: npt.NDArray[np.bool_]) -> dict[str, Weights]:
        """The weights, with and without a model, that the chosen rows give."""
        talk = np.where(np.isin(self.sources, LINES), self.weights, TALK * self.weights)
        plain = self.weights * np.where(self.sources == "talk", 0.0, np.where(self.labels == NOTHING, CAUTION, 1.0))
        common = Counter(one for said, is_chosen in zip(self.said, chosen, strict=True) if is_chosen for one in said)
        names = sorted(one for one, count in common.items() if count >= LEAST_SAID)
        spoken = np.array([[one in said for one in names] for said in self.said]) * PHRASE
        middle, spread = self.states[chosen].mean(axis=0), self.states[chosen].std(axis=0)
        scale = STATES / (spread * len(spread) ** 0.5 + 1e-9)
        made = dict[str, Weights]()
        for way, weights in (("cues", plain), ("model", talk)):
            known = self.cues if way == "cues" else np.hstack([self.cues, (self.states - middle) * scale])
            columns = np.hstack([known, spoken])[chosen]
            found = np.array([
                fit(columns, wanted[chosen].astype(float), weights[chosen], np.full(columns.shape[1], RIDGE))
                for wanted in (self.labels == ONCE, self.labels > NOTHING)
            ])  # fmt: skip
            rows, phrases, constant = np.split(found, [known.shape[1], columns.shape[1]], axis=1)
            if way == "model":
                inner = rows[:, self.cues.shape[1] :] * scale
                rows = np.hstack([rows[:, : self.cues.shape[1]], inner])
                constant = constant - (inner @ middle)[:, None]
            said = {one: list(each) for one, each in zip(names, (phrases * PHRASE).T.round(3).tolist(), strict=True)}
            made[way] = Weights(np.hstack([rows, constant]), {one: each for one, each in said.items() if any(each)})
        return made


def training_table() -> Table:
    every = [*rows_of_sessions(files_in([SESSIONS])), *rows_of_lines()]
    rows = [row for row in every if not is_vetoed(row.sentence)]
    return Table(
        np.array([features(row.sentence, row.message, row.assistant, _ruled(row.sentence)) for row in rows]),
        states_of([row.sentence.text for row in rows]),
        [phrases(row.sentence.view) for row in rows],
        np.array([row.label for row in rows]),
        np.array([row.weight for row in rows]),
        np.array([row.source for row in rows]),
    )


Pair = tuple[list[float], UserSentence, UserSentence, bool]
"""What is seen beside two sentences, the two, and whether they belong together."""


def fit_pairs(pairs: Sequence[Pair], ridge: float) -> Matrix:
    inner = np.hstack([states_of([pair[at].text for pair in pairs]) for at in (1, 2)])
    middle, scale = inner.mean(axis=0), STATES / (inner.std(axis=0) * (inner.shape[1] / 2) ** 0.5 + 1e-9)
    seen = np.array([pair[0] for pair in pairs])
    columns = np.hstack([seen, (inner - middle) * scale])
    wanted = np.array([float(pair[3]) for pair in pairs])
    found = fit(columns, wanted, np.ones(len(pairs)), np.full(columns.shape[1], ridge))
    weights = found[seen.shape[1] : -1] * scale
    return np.concatenate([found[: seen.shape[1]], weights, [found[-1] - weights @ middle]])[None]


def _reasons(files: Sequence[Path]) -> Iterator[Pair]:
    """The sentences beside a labelled statement: a reason has half of the label's words."""
    for session in map(read_session, files):
        for message in session.messages:
            said = _split(message.turn.text) if message.role is Role.USER else []
            homes = dict[int, list[Label]]()
            for label in session.labels:
                if said and label.offset == message.offset and label.mark in (AT_ONCE, PROPOSED):
                    shares = [share_of_words(label.statement, one.text) for one in said]
                    if max(shares) >= 0.34:
                        homes.setdefault(shares.index(max(shares)), []).append(label)
            for at, labels in homes.items():
                for other in {at - 1, at + 1} - homes.keys():
                    if 0 <= other < len(said) and not said[other].is_question:
                        seen = reason_features(said[at], said[other], is_behind=other > at)
                        why = [one.reason for one in labels if one.reason]
                        explains = any(share_of_words(one, said[other].text) >= 0.5 for one in why)
                        yield seen, said[other], said[at], explains


def _answers(files: Sequence[Path]) -> Iterator[Pair]:
    """A few words and what the assistant had offered: they agree if a label has the assistant's words."""
    for session in map(read_session, files):
        for before, message in pairwise(session.messages):
            if (before.role, message.role) == (Role.ASSISTANT, Role.USER) and (said := _split(message.turn.text)):
                made = offer(said[0], before.turn.text)
                labels = [one for one in session.labels if one.offset == message.offset]
                if made is None or is_vetoed(said[0]) or any(one.mark == "~" for one in labels):
                    continue
                meant = [one for one in labels if share_of_words(one.statement, message.turn.text) < 0.34]
                agreed = [one for one in meant if share_of_words(one.statement, before.turn.text) >= 0.5]
                if agreed or not meant:
                    shown = offer_features(said[0], made, agreement(said[0], before.turn.text))
                    yield shown, said[0], made.sentence, any(one.mark == AT_ONCE for one in agreed)


def fit_replacements(files: Sequence[Path]) -> Matrix:
    """The weights by which a statement replaces one of those stored before it in its session."""
    seen, wanted = list[list[float]](), list[float]()
    embedder = open_embedder(EmbedderConfig(), MODELS)
    for session in map(read_session, files):
        known = [text for text, _ in session.notes]
        words = {message.offset: message.turn.text for message in session.messages}
        for label in session.labels:
            if label.mark == AT_ONCE:
                said = [one.text for one in _split(words[label.offset])]
                new = max(said, key=lambda one: share_of_words(label.statement, one), default=label.statement)
                vectors = embedder.embed_documents([new, *known])
                closeness = (vectors[1:] @ vectors[0]).tolist()
                seen += (replacement_features(new, old, closeness, at) for at, old in enumerate(known))
                shares = [share_of_words(label.replaces, old) if label.replaces else 0.0 for old in known]
                wanted += (float(share >= 0.5 and share == max(shares)) for share in shares)
            if label.mark in (AT_ONCE, PROPOSED):
                known.append(label.statement)
    table = np.array(seen)
    return fit(table, np.array(wanted), np.ones(len(table)), np.full(table.shape[1], 1.0))[None]


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
        groups = np.array([zlib.crc32(source.encode()) % FOLDS for source in table.sources])
        for fold in range(FOLDS):
            inside = talked & (groups == fold)
            for name, found in table.fit(~inside).items():
                said = [each for each, is_in in zip(table.said, inside, strict=True) if is_in]
                scores[name][inside] = found.likelihoods(table.features(name)[inside], said)
        for name, likely in scores.items():
            print_curve(name, table.labels[talked], likely[talked])
    if options.write:
        made = {
            name: {"rows": found.rows.round(4).tolist(), "phrases": found.phrases}
            for name, found in table.fit(table.labels >= NOTHING).items()
        }
        for name, pairs, ridge in (("agreement", _answers, 1.0), ("reason", _reasons, 2.0)):
            found = fit_pairs(list(pairs(files_in([SESSIONS]))), ridge)
            made[name] = {"rows": found.round(4).tolist(), "phrases": {}}
        replaces = fit_replacements(files_in([SESSIONS]))
        made["replaces"] = {"rows": replaces.round(4).tolist(), "phrases": {}}
        WEIGHTS.write_text(json.dumps(made, ensure_ascii=False) + "\n", encoding="utf-8")
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
RIDGE, STATES, PHRASE, LEAST_SAID = 2.0, 1.5, 0.5, 6
"""The penalty on each weight, and the scale of what the model and the phrases say beside that of the cues; a phrase
counts if it is in so many sentences. Chosen by leaving an author out."""
FOLDS = 8


def print_curve(name: str, labels: Any, scores: Matrix) -> None:
    for number, wanted, what in ((0, labels == ONCE, "once"), (1, labels > NOTHING, "any")):
        shown: list[str] = []
        for least in (0.2, 0.3, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9):
            chosen = scores[:, number] >= least
            right = (chosen & wanted).sum()
            shown.append(f"{least}: p {right / max(1, chosen.sum()):.2f} r {right / wanted.sum():.2f}")
        print(name, what, " | ".join(shown))


def _ruled(sentence: UserSentence) -> float:
    statement = classify(sentence)
    return statement.score if statement else 0.0


if __name__ == "__main__":
    sys.exit(main())
