"""Rehearsal: how sure an answer is, fitted to an embedding model by questions asked of a vault that is shipped.

Of the signs that tell it, the best cosine alone depends on the model: what is a high one for one is a low one for
another. How much of each question the passages say was found out beforehand, by the whole search
(`python -m tests.eval.rehearsal` writes it down).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mcp_memory.embedders.base import Embedder
from mcp_memory.search.calibration_fit import CalibrationSample, fitted, pinned
from mcp_memory.search.confidence import ConfidenceFeatures
from mcp_memory.search.confidence_config import UNSURE, UNWANTED, ConfidenceConfig
from mcp_memory.search.memory_intent import MemoryIntent

FOLDER = Path(__file__).with_name("examples")
PASSAGES, QUESTIONS = FOLDER / "passages.jsonl", FOLDER / "questions.jsonl"

LOST = 0.05
"""The share of what can be answered, and of the prompts that want memory, that lies below the shipped thresholds: the
bundled model loses as much."""


def rehearsed(embedder: Embedder, wanting: MemoryIntent, now: ConfidenceConfig) -> ConfidenceConfig:
    """`now` with the weights for this model, so that the thresholds keep their meaning. Embeds some 900 texts. Raises
    EmbedderUnavailable."""
    passages = embedder.embed_documents([row["text"] for row in _rows(PASSAGES)])
    asked: dict[str, list[CalibrationSample]] = {"questions": [], "prompts": []}
    for row in _rows(QUESTIONS):
        vector = embedder.embed_query(row["text"])
        wanted = wanting.log_odds(row["text"], vector) if row["prompt"] else None
        signs = ConfidenceFeatures(row["closest"], row["together"], float(np.max(passages @ vector)), wanted)
        asked["prompts" if row["prompt"] else "questions"].append(CalibrationSample(signs, row["answerable"]))
    found = fitted(asked, now, embedder.fingerprint)
    without_words = [
        CalibrationSample(ConfidenceFeatures(cosine=each.signs.cosine), each.answerable) for each in asked["questions"]
    ]
    for tried, threshold in ((asked["questions"], UNSURE), (without_words, UNSURE), (asked["prompts"], UNWANTED)):
        found = pinned(found, tried, threshold, LOST)
    return replace(found, words=now.words)  # which are the same for every model


def _rows(file: Path) -> Iterator[Mapping[str, Any]]:
    return map(json.loads, file.read_text(encoding="utf-8").splitlines())
