"""Fits the trees that judge whether a newer note makes an older one untrue, and writes them into the package.

    python -m tests.benchmarks.train_overtaken [--across] [--write]

`--across` prints what each author's vaults would get from trees fitted without them. Needs the bundled model once, and
scikit-learn, which comes with `mcp-memory[original]`.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mcp_memory.comparison import overtaken
from mcp_memory.comparison.other_value import NoteText
from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.embedders.open_embedder import open_embedder
from tests.benchmarks.extraction_sessions import AT_ONCE, MODELS, SESSIONS, files_in, read_session, share_of_words
from tests.eval.claims.measure import LabelledNote, authors, notes_of
from tests.eval.topics.labelled import read_vault

TREES = Path(overtaken.__file__).with_name("overtaken.json")
QUIET = ("developer", "household", "researcher")
"""Vaults in which hardly anything changes, as in most: so that nearness alone says little."""
VAULT, SESSION = 10.0, 1.0
"""The weight of a pair of notes, and of one of statements in a session: notes are what is judged."""
SAME_WORDS = 0.6
"""The share of the words that a session's label names from which on an earlier statement is meant."""
CHOSEN = {
    "max_iter": 120, "learning_rate": 0.06, "max_leaf_nodes": 12, "min_samples_leaf": 25, "l2_regularization": 5.0,
}  # fmt: skip
"""Chosen by leaving authors out, as the features are; half or twice of each changes the precision by a point."""

Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Vault:
    author: str
    name: str
    notes: Sequence[LabelledNote]
    weight: float = VAULT


@dataclass(frozen=True)
class Pairs:
    """`features` (n, m) of an older and a newer note, with whether the newer makes the older untrue, or the two can't
    both be true; `newer` names the newer one."""

    features: Matrix
    labels: npt.NDArray[np.bool_]
    weights: Matrix
    authors: npt.NDArray[np.str_]
    newer: Sequence[tuple[str, int]]


def vaults() -> Iterator[Vault]:
    for author in authors():
        for file in sorted(author.glob("*.jsonl")):
            yield Vault(author.name, file.stem, notes_of(file))
    for name in QUIET:
        told = [
            LabelledNote(0, one.day, one.kind, one.project or "", one.text, [], None, [])
            for one in read_vault(name).notes
        ]
        yield Vault(name, name, [replace(one, n=n) for n, one in enumerate(sorted(told, key=lambda one: one.day), 1)])
    for file in files_in([SESSIONS]):
        session, notes = read_session(file), list[LabelledNote]()
        said = [(text, "") for text, _ in session.notes]
        said += [(label.statement, label.replaces) for label in session.labels if label.mark == AT_ONCE]
        for text, replaces in said:
            shares = [(share_of_words(replaces, one.text), at) for at, one in enumerate(notes) if replaces]
            share, at = max(shares, default=(0.0, 0))
            if share >= SAME_WORDS:
                notes[at] = replace(notes[at], over=len(notes) + 1)
            notes.append(LabelledNote(len(notes) + 1, "", "fact", "", text, [], None, []))
        yield Vault("sessions", file.stem, notes, SESSION)


def pairs_of(some: Sequence[Vault]) -> tuple[Pairs, str]:
    """And the fingerprint of the model that embedded them."""
    embedder = open_embedder(EmbedderConfig(), MODELS)
    rows, labels, weights, names, newer = [], [], [], [], []
    for vault in some:
        texts = [NoteText(note.text, kind=note.kind, project=note.project) for note in vault.notes]
        vectors = embedder.embed_documents([note.text for note in vault.notes])
        for at, new in enumerate(vault.notes):
            olds = [old for old in range(at) if vault.notes[old].project == new.project]
            near = {old: float(vectors[old] @ vectors[at]) for old in olds}
            closest = sorted(olds, key=lambda old: -near[old])[: overtaken.NEAREST_OLDER]
            for old in closest:
                rest = max((near[other] for other in closest if other != old), default=0.0)
                rows.append(overtaken.pair_features(texts[old], texts[at], near[old], rest))
                labels.append(vault.notes[old].over == new.n or new.n in vault.notes[old].conflicts)
                weights.append(vault.weight)
                names.append(vault.author)
                newer.append((vault.name, at))
    made = Pairs(np.array(rows, float), np.array(labels), np.array(weights), np.array(names), newer)
    return made, embedder.fingerprint


def fit(pairs: Pairs, chosen: npt.NDArray[np.bool_]) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    model: Any = HistGradientBoostingClassifier(random_state=1, **CHOSEN)
    return model.fit(pairs.features[chosen], pairs.labels[chosen], sample_weight=pairs.weights[chosen])


def table_of(model: Any, embedding: str) -> dict[str, Any]:
    trees = [
        [
            [int(n["feature_idx"]), float(n["num_threshold"]), int(n["left"]), int(n["right"]), float(n["value"])]
            for n in predictor.nodes
        ]
        for (predictor,) in model._predictors
    ]
    rounded = [[[one if at != 1 else round(one, 6) for at, one in enumerate(row)] for row in tree] for tree in trees]
    return {"embedding": embedding, "start": float(model._baseline_prediction[0, 0]), "trees": rounded}


def print_curve(pairs: Pairs, scores: Matrix, chosen: npt.NDArray[np.bool_]) -> None:
    """Of each newer note the likeliest older one."""
    best: dict[tuple[str, int], tuple[float, bool]] = defaultdict(lambda: (0.0, False))
    for at in np.flatnonzero(chosen):
        best[pairs.newer[at]] = max(best[pairs.newer[at]], (float(scores[at]), bool(pairs.labels[at])))
    whole = int(pairs.labels[chosen].sum())
    for least in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
        named = [right for score, right in best.values() if score >= least]
        print(f"  from {least}: {sum(named)}/{len(named)} right, of {whole}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--across", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    pairs, embedding = pairs_of(list(vaults()))
    print(len(pairs.labels), "pairs,", int(pairs.labels.sum()), "of a change")
    if options.across:
        scores, of_vaults = np.zeros(len(pairs.labels)), pairs.weights == VAULT
        for author in sorted(set(pairs.authors[of_vaults])):
            left_out = pairs.authors == author
            scores[left_out] = fit(pairs, ~left_out).predict_proba(pairs.features[left_out])[:, 1]
        print_curve(pairs, scores, of_vaults & ~np.isin(pairs.authors, QUIET))
        print_curve(pairs, scores, np.isin(pairs.authors, QUIET))
    if options.write:
        table = table_of(fit(pairs, np.ones(len(pairs.labels), bool)), embedding)
        TREES.write_text(json.dumps(table) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
