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
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mcp_memory.capture.readers.message import Role, TranscriptMessage
from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.embedders.open_embedder import open_embedder
from mcp_memory.extraction.language import introduces
from mcp_memory.extraction.replaced_notes import replacement_features
from mcp_memory.extraction.statement_rules import classify
from mcp_memory.extraction.statements.agreements import agreement, offer, offer_features
from mcp_memory.extraction.statements.classifier import Weights, phrases
from mcp_memory.extraction.statements.cues import features, is_vetoed
from mcp_memory.extraction.statements.reasons import reason_features
from mcp_memory.extraction.statements.spoken import spoken_sentences
from mcp_memory.extraction.user_sentences import UserSentence, user_sentences
from tests.benchmarks.extraction_sessions import (
    AT_ONCE,
    MODELS,
    PROPOSED,
    SESSIONS,
    Label,
    Session,
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
    for session in map(read_session, files):
        for one in spoken_sentences(session.messages):
            label = _label_of(one.sentence, labels_of(session, one.message))
            if label is not None and one.is_typed:
                yield Row(session.name, one.sentence, one.message.turn.text, one.assistant, label)


def labels_of(session: Session, message: TranscriptMessage) -> list[Label]:
    return [one for one in session.labels if one.offset == message.offset]


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


def fit_rows(
    seen: Matrix, states: Matrix, said: Matrix, wanted: Sequence[Matrix], weights: Matrix, ridge: float
) -> tuple[Matrix, Matrix]:
    """A row for each of `wanted`: the weights of what is seen and of the states, with the constant; and apart those of
    the phrases said. The states are fitted on one scale, which goes into their weights."""
    middle, scale = states.mean(axis=0), STATES / (states.std(axis=0) * WIDTH**0.5 + 1e-9)
    columns = np.hstack([seen, (states - middle) * scale, said * PHRASE])
    penalties = np.full(columns.shape[1], ridge)
    found = np.array([fit(columns, one.astype(float), weights, penalties) for one in wanted])
    own, inner, spoken, constant = np.split(found, np.cumsum([seen.shape[1], states.shape[1], said.shape[1]]), axis=1)
    inner = inner * scale
    return np.hstack([own, inner, constant - (inner @ middle)[:, None]]), spoken * PHRASE


@dataclass(frozen=True)
class Table:
    """What the weights are fitted on, a row a sentence."""

    cues: Matrix
    states: Matrix
    views: Sequence[str]
    labels: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float64]
    sources: npt.NDArray[np.str_]

    def seen(self, way: str) -> Matrix:
        return np.hstack([self.cues, self.states]) if way == "model" else self.cues

    def fit(self, chosen: npt.NDArray[np.bool_]) -> dict[str, Weights]:
        """The weights, with and without a model, that the chosen rows give."""
        talk = np.where(np.isin(self.sources, LINES), self.weights, TALK * self.weights)
        plain = self.weights * np.where(self.sources == "talk", 0.0, np.where(self.labels == NOTHING, CAUTION, 1.0))
        spoken = [phrases(view) for view, is_chosen in zip(self.views, chosen, strict=True) if is_chosen]
        common = Counter(one for said in spoken for one in said)
        names = sorted(one for one, count in common.items() if count >= LEAST_SAID)
        said = np.array([[one in each for one in names] for each in spoken], dtype=float)
        made = dict[str, Weights]()
        for way, weights, states in (("cues", plain, self.states[:, :0]), ("model", talk, self.states)):
            wanted = [(self.labels == ONCE)[chosen], (self.labels > NOTHING)[chosen]]
            rows, of_phrases = fit_rows(self.cues[chosen], states[chosen], said, wanted, weights[chosen], RIDGE)
            each = zip(names, of_phrases.T.round(3).tolist(), strict=True)
            made[way] = Weights(rows.round(4), {one: added for one, added in each if any(added)})
        return made


def training_table() -> Table:
    every = [*rows_of_sessions(files_in([SESSIONS])), *rows_of_lines()]
    rows = [row for row in every if not is_vetoed(row.sentence)]
    return Table(
        np.array([features(row.sentence, row.message, row.assistant, _ruled(row.sentence)) for row in rows]),
        states_of([row.sentence.text for row in rows]),
        [row.sentence.view for row in rows],
        np.array([row.label for row in rows]),
        np.array([row.weight for row in rows]),
        np.array([row.source for row in rows]),
    )


Pair = tuple[list[float], UserSentence, UserSentence, bool]
"""What is seen beside two sentences, the two, and whether they belong together."""


def fit_pairs(pairs: Sequence[Pair], ridge: float) -> Weights:
    states = np.hstack([states_of([pair[at].text for pair in pairs]) for at in (1, 2)])
    seen, wanted, none = np.array([pair[0] for pair in pairs]), np.array([pair[3] for pair in pairs]), states[:, :0]
    return Weights(fit_rows(seen, states, none, [wanted], np.ones(len(pairs)), ridge)[0].round(4), {})


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
        for one in spoken_sentences(session.messages):
            made = offer(one.sentence, one.assistant) if one.assistant else None
            labels = labels_of(session, one.message)
            if made is None or is_vetoed(one.sentence) or any(label.mark == "~" for label in labels):
                continue
            meant = [label for label in labels if share_of_words(label.statement, one.message.turn.text) < 0.34]
            agreed = [label for label in meant if share_of_words(label.statement, one.assistant) >= 0.5]
            if agreed or not meant:
                seen = offer_features(one.sentence, made, agreement(one.sentence, one.assistant))
                yield seen, one.sentence, made.sentence, any(label.mark == AT_ONCE for label in agreed)


def fit_replacements(files: Sequence[Path]) -> Weights:
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
    none = table[:, :0]
    return Weights(fit_rows(table, none, none, [np.array(wanted)], np.ones(len(table)), 1.0)[0].round(4), {})


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
                seen = table.seen(name)
                for at in np.flatnonzero(inside):
                    scores[name][at] = found.likelihoods(seen[at], table.views[at])
        for name, likely in scores.items():
            print_curve(name, table.labels[talked], likely[talked])
    if options.write:
        files = files_in([SESSIONS])
        made = table.fit(table.labels >= NOTHING) | {
            "agreement": fit_pairs(list(_answers(files)), 1.0),
            "reason": fit_pairs(list(_reasons(files)), RIDGE),
            "replaces": fit_replacements(files),
        }
        written = {name: {"rows": found.rows.tolist(), "phrases": found.phrases} for name, found in made.items()}
        WEIGHTS.write_text(json.dumps(written, ensure_ascii=False) + "\n", encoding="utf-8")
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
WIDTH, FOLDS = 768, 8


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
