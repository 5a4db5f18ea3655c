"""What vaults of changing facts are taken to say now: which notes are told as holding, and what a question gets.

python -m tests.eval.claims.measure [--show] [FILE …]
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from mcp_memory.core.core import EngineConfig
from mcp_memory.core.line_reader import LineReader
from mcp_memory.curation.claims.claim_base import ClaimBase
from mcp_memory.engine.engine import open_engine
from mcp_memory.errors import NotFound
from mcp_memory.models import Filters
from mcp_memory.recall.config import RecallConfig
from mcp_memory.summarizers.config import SummarizerConfig
from mcp_memory.topics.config import TopicsConfig
from tests.eval.ninety_days.replay import Count
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import embedded, index_of

FOLDER = Path(__file__).parent
MODELS = Path(os.environ.get("MCP_MEMORY_TEST_MODEL_CACHE", Path(tempfile.gettempdir()) / "mcp-memory-models"))

HOLDS, OUTDATED, PARTLY = "told as holding, of notes that hold", "noticed, of outdated notes", "… of half outdated ones"
PAIRS, RECALLED, NOT_TOLD = "conflicts shown", "notes recalled, of those a question needs", "outdated notes kept out"
SUBJECTS = "subjects of questions that have a page"


@dataclass(frozen=True)
class LabelledNote:
    """`over`: the number of the later note that makes this one untrue, in part if `partly`."""

    n: int
    day: str
    kind: str
    project: str
    text: str
    subjects: list[str]
    over: int | None
    conflicts: list[int]
    partly: bool = False


def notes_of(file: Path) -> list[LabelledNote]:
    return [LabelledNote(**json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]


def questions_of(name: str) -> list[dict[str, Any]]:
    lines = (FOLDER / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [one for one in map(json.loads, lines) if one["vault"] == name]


async def measure(file: Path, place: Path, models: Path, wrong: list[str]) -> Mapping[str, Count]:
    """Stores the notes day by day; then looks at claims and asks the questions."""
    counts = defaultdict[str, Count](Count)
    labelled, now = notes_of(file), datetime.fromisoformat("2026-01-01T12:00:00+00:00")
    features = {"topics": TopicsConfig(automatic=False)}
    settings = EngineConfig(place / "vault", place / "state", models, features=features)
    (place / "vault").mkdir(parents=True)
    async with open_engine(settings, watch=False, clock=lambda: now) as opened:
        engine = KeywordEngine(opened, settings.state)
        ids: dict[int, str] = {}
        for note in labelled:
            now = datetime.fromisoformat(f"{note.day}T12:00:00+00:00").replace(minute=note.n)
            stored = await engine.append(note.text, kind=note.kind, project=note.project or "*")
            ids[note.n] = str(stored.id)
        await engine.settled()
        await embedded(engine)
        await engine.conflicts()
        with index_of(engine) as index:
            of_the_person = Filters(private=RecallConfig().private_marks, foreign=False)
            no_model = LineReader(SummarizerConfig(), settings.state / "read-lines.jsonl")
            base = ClaimBase(index, of_the_person, lambda: now, no_model)
            claims = base.claims(Filters(now=now))
            pairs = {frozenset((one.older, one.newer)) for one in index.conflicts()}
        holding = {one.note.id for claim in claims if claim.holds for one in claim.evidence}
        refuted = {one.note.id for claim in claims if not claim.holds for one in claim.evidence}
        for note in labelled:
            if note.over is None and not note.conflicts:
                _add(counts[HOLDS], wrong, f"{HOLDS}: {note.text}", is_right=ids[note.n] not in refuted)
            elif note.over is not None:
                what = PARTLY if note.partly else OUTDATED
                noticed = ids[note.n] in refuted if note.partly else ids[note.n] not in holding
                _add(counts[what], wrong, f"{what}: {note.text} ← {labelled[note.over - 1].text}", is_right=noticed)
            for other in note.conflicts:
                if note.n < other:
                    told = frozenset((ids[note.n], ids[other])) in pairs
                    what = f"{PAIRS}: {note.text} ≠ {labelled[other - 1].text}"
                    _add(counts[PAIRS], wrong, what, is_right=told)
        for question in questions_of(file.stem):
            with suppress(NotFound):
                await engine.perform("claims", {"subject": question["subject"]})
                counts[SUBJECTS].right += 1
            counts[SUBJECTS].of += 1
            answer = await engine.recall(query=question["q"])
            for n in question["hold"]:
                is_right = _is_in(labelled[n - 1].text, answer)
                _add(counts[RECALLED], wrong, f"{RECALLED}: {question['q']}: {labelled[n - 1].text}", is_right=is_right)
            for n in question["not"]:
                kept_out = not _is_in(labelled[n - 1].text, answer)
                _add(counts[NOT_TOLD], wrong, f"{NOT_TOLD}: {question['q']}: {labelled[n - 1].text}", is_right=kept_out)
    return counts


def _add(count: Count, wrong: list[str], what: str, *, is_right: bool) -> None:
    count.add(is_right, what)
    if not is_right:
        wrong.append(what)


def _is_in(text: str, told: str) -> bool:
    """Whether its first sentence is."""
    return " ".join(text.split())[:50] in " ".join(told.split())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", action="store_true", help="print what is wrong")
    parser.add_argument("files", nargs="*", type=Path, default=sorted(FOLDER.glob("*/*.jsonl")))
    options = parser.parse_args()
    total = defaultdict[str, Count](Count)
    for file in options.files:
        wrong = list[str]()
        with tempfile.TemporaryDirectory() as folder:
            counts = anyio.run(partial(measure, file, Path(folder), MODELS, wrong))
        print(f"== {file.stem}")
        for what, count in counts.items():
            print(f"{what:45} {count.right}/{count.of}")
            total[what].right, total[what].of = total[what].right + count.right, total[what].of + count.of
        if options.show:
            print(*wrong, sep="\n")
    print("== all")
    for what, count in total.items():
        print(f"{what:45} {count.right}/{count.of}")


if __name__ == "__main__":
    main()
