"""What extraction finds in a labelled set of messages: precision and recall by kind, and of what counts at once."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from itertools import accumulate, groupby
from math import inf
from pathlib import Path
from typing import Any

from mcp_memory.capture.readers.own_format import read_plain
from mcp_memory.statements.extractor import extract_candidates
from tests.benchmarks.figures import Figure

SETS = Path(__file__).parents[1] / "eval" / "extraction"
WRITTEN_WITH, HELD_OUT = "the rules were written with these", "held out"
AFTERWARDS, UNSEEN, DUE = "written after the first rules", "written last", "promises and reminders"
FILES = {AFTERWARDS: "afterwards.jsonl", UNSEEN: "unseen.jsonl", DUE: "commitments.jsonl"}
"""The others are parts of `messages.jsonl`."""
AT_ONCE = "counts at once"
PRECISION = 0.9


@dataclass
class Tally:
    """By kind, `AT_ONCE` among them: what was found rightly, what was found, what was to be found; and the misses."""

    right: Counter[str] = field(default_factory=Counter[str])
    found: Counter[str] = field(default_factory=Counter[str])
    wanted: Counter[str] = field(default_factory=Counter[str])
    misses: list[str] = field(default_factory=list[str])

    def precision(self, kind: str) -> float:
        return self.right[kind] / self.found[kind] if self.found[kind] else 1.0

    def recall(self, kind: str) -> float:
        return self.right[kind] / self.wanted[kind] if self.wanted[kind] else 1.0


def extraction() -> Iterator[Figure]:
    for about in (WRITTEN_WITH, HELD_OUT, *FILES):
        tally = tallied(about)
        for kind in (AT_ONCE, "preference", "decision", "lesson", "fix", "fact", "commitment"):
            counts = f"{about}: {tally.right[kind]} of {tally.found[kind]} found, {tally.wanted[kind]} wanted"
            goal = PRECISION if kind == AT_ONCE else inf
            yield Figure(f"{kind}: precision", tally.precision(kind), "of found", goal, bound="least", about=counts)
            yield Figure(f"{kind}: recall", tally.recall(kind), "of wanted", inf, bound="least")


def tallied(which: str) -> Tally:
    """Of one of the five sets."""
    tally = Tally()
    file = SETS / FILES.get(which, "messages.jsonl")
    rows: list[dict[str, Any]] = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    for _, group in groupby(rows, key=lambda row: row["session"]):
        talk = list(group)
        if which in FILES or talk[0]["held"] is (which == HELD_OUT):
            _judge(talk, tally)
    return tally


def _judge(talk: Sequence[dict[str, Any]], tally: Tally) -> None:
    lines = [json.dumps(row).encode() + b"\n" for row in talk]
    found = extract_candidates(read_plain(b"".join(lines), UTC))
    for row, offset in zip(talk, accumulate(map(len, lines[:-1]), initial=0), strict=True):
        wanted = Counter(_named(label) for label in row.get("expect", []))
        here = Counter((str(each.kind), each.outright) for each in found if each.offset == offset)
        kinds, kinds_wanted = _by_kind(here), _by_kind(wanted)
        tally.found.update(kinds)
        tally.wanted.update(kinds_wanted)
        tally.right.update(kinds & kinds_wanted)
        once, once_wanted = (Counter({k: n for k, n in each.items() if k[1]}) for each in (here, wanted))
        tally.found[AT_ONCE] += once.total()
        tally.wanted[AT_ONCE] += once_wanted.total()
        tally.right[AT_ONCE] += (once & once_wanted).total()
        if here != wanted:
            tally.misses.append(f"{row['text'][:120]!r}: wanted {dict(wanted)}, found {dict(here)}")


def _named(label: str) -> tuple[str, bool]:
    return label.removesuffix("+"), label.endswith("+")


def _by_kind(found: Counter[tuple[str, bool]]) -> Counter[str]:
    kinds = Counter[str]()
    for (kind, _), count in found.items():
        kinds[kind] += count
    return kinds
