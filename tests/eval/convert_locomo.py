"""Turn the published `locomo10.json` into vaults of daily logs and a query file.

    python -m tests.eval.convert_locomo locomo10.json OUT

Data: https://github.com/snap-research/locomo (Maharana et al., 2024), CC BY-NC 4.0: for evaluation only, never part
of a package. OUT gets `queries.jsonl` and `vault/<conversation>/memory/YYYY-MM-DD.md`: one `## HH:MM A and B` entry
a session, one bullet a turn. Questions whose evidence names no turn are left out.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_TURN = re.compile(r"D:?(\d+):(\d+)")

Place = tuple[str, int]
"""Path in the vault and 1-based line."""


@dataclass
class Converted:
    """`files`: path → text; `places`: session and turn → where the turn stands."""

    files: dict[str, str]
    queries: list[dict[str, Any]]
    places: dict[tuple[int, int], Place] = field(default_factory=dict)


def convert(sample: dict[str, Any]) -> Converted:
    """One conversation with its questions."""
    name, talk = sample["sample_id"], sample["conversation"]
    files: dict[str, list[str]] = {}
    places: dict[tuple[int, int], Place] = {}
    for number in sorted(int(m[1]) for key in talk if (m := re.fullmatch(r"session_(\d+)", key)) and talk[key]):
        began = session_time(talk[f"session_{number}_date_time"])
        path = f"memory/{began:%Y-%m-%d}.md"
        lines = files.setdefault(path, [f"# {began:%Y-%m-%d}"])
        lines += ["", f"## {began:%H:%M} {talk['speaker_a']} and {talk['speaker_b']}", ""]
        for turn in talk[f"session_{number}"]:
            lines.append(turn_line(turn))
            places[_evidence([turn["dia_id"]])[0]] = (path, len(lines))
    queries = [
        query for number, qa in enumerate(sample["qa"]) if (query := _query(f"{name}-q{number:03}", name, qa, places))
    ]
    return Converted({path: "\n".join(lines) + "\n" for path, lines in files.items()}, queries, places)


def session_time(text: str) -> datetime:
    """`1:56 pm on 8 May, 2023`."""
    return datetime.strptime(" ".join(text.split()), "%I:%M %p on %d %B, %Y")


def turn_line(turn: dict[str, Any]) -> str:
    """`- Speaker: words [image: caption]`, on one line."""
    caption = f" [image: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
    return " ".join(f"- {turn['speaker']}: {turn['text']}{caption}".split())


def _query(
    query_id: str, conversation: str, qa: dict[str, Any], places: dict[tuple[int, int], Place]
) -> dict[str, Any] | None:
    category = CATEGORIES[qa["category"]]
    found = sorted({places[turn] for turn in _evidence(qa.get("evidence") or []) if turn in places})
    if not found:
        return None
    gold = [{"path": path, "line": line} for path, line in found]
    answerable = category != "adversarial"
    return {
        "id": query_id,
        "conv": conversation,
        "question": qa["question"],
        "category": category,
        "answerable": answerable,
        "answer": str(qa["answer"]) if answerable else None,
        "gold" if answerable else "near": gold,
        **({} if answerable else {"gold": []}),
    }


def _evidence(cited: Iterable[str]) -> list[tuple[int, int]]:
    """Session and turn of each citation; the published file has several in one string, and `D:11:26`."""
    return [(int(m[1]), int(m[2])) for each in cited for m in _TURN.finditer(each)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="locomo10.json")
    parser.add_argument("out", type=Path, help="a new folder")
    arguments = parser.parse_args()
    out: Path = arguments.out
    out.mkdir(parents=True)
    queries: list[dict[str, Any]] = []
    for sample in json.loads(arguments.source.read_text(encoding="utf-8")):
        converted = convert(sample)
        queries += converted.queries
        for path, text in converted.files.items():
            file = out / "vault" / sample["sample_id"] / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    lines = "".join(json.dumps(query, ensure_ascii=False) + "\n" for query in queries)
    (out / "queries.jsonl").write_text(lines, encoding="utf-8")
    print(f"{len(queries)} questions")


if __name__ == "__main__":
    main()
