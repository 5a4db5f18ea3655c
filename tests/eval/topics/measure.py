"""Files the notes of labelled vaults by the real model, and prints each tree with what it is worth.

    python -m tests.eval.topics.measure [--pages] [--as-notes] [--grown] [NAME …]

NAME: a vault, or a set of them such as `agents`. `--pages` prints the pages, too; `--as-notes` stores every note as the
kind `note`; `--grown` files each note as it comes, as a daemon does, and not all at the end.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import chain
from math import log
from pathlib import Path

import anyio

from mcp_memory.core.core import EngineConfig
from mcp_memory.engine.engine import open_engine
from mcp_memory.models import NoteId
from mcp_memory.topics.config import TopicsConfig
from mcp_memory.topics.page import PAGE, summary_text
from tests.eval.topics.labelled import (
    NAMES,
    LabelledVault,
    acceptable_names,
    group_of,
    is_acceptable,
    is_answered,
    read_vault,
    vaults_of,
)
from tests.support.keyword_engine import KeywordEngine
from tests.support.topics import ShownTopic, tree_of

MODELS = Path(os.environ.get("MCP_MEMORY_TEST_MODEL_CACHE", Path(tempfile.gettempdir()) / "mcp-memory-models"))


@dataclass
class Figures:
    """`named`: topic's title → whether it is acceptable; `answered`: question that the topic's notes answer → whether
    the page's text does; `lengths`: of the text of each page of notes, and of its notes."""

    v: float = 0.0
    notes: int = 0
    filed: int = 0
    named: list[tuple[str, bool]] = field(default_factory=list[tuple[str, bool]])
    mixed: list[str] = field(default_factory=list[str])
    answered: list[tuple[str, bool]] = field(default_factory=list[tuple[str, bool]])
    lengths: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    lines: list[str] = field(default_factory=list[str])

    @property
    def named_share(self) -> float:
        return _share(self.named)

    @property
    def answered_share(self) -> float:
        return _share(self.answered)

    @property
    def length_share(self) -> float:
        return sum(text for text, _ in self.lengths) / max(1, sum(notes for _, notes in self.lengths))

    def __str__(self) -> str:
        return (
            f"V {self.v:.2f}  filed {self.filed}/{self.notes}  "
            f"names {sum(ok for _, ok in self.named)}/{len(self.named)} = {self.named_share:.2f} "
            f"(mixed {len(self.mixed)})  "
            f"answers {sum(ok for _, ok in self.answered)}/{len(self.answered)} = {self.answered_share:.2f} "
            f"at {self.length_share:.2f} of the length"
        )


def _share(items: Sequence[tuple[str, bool]]) -> float:
    return sum(ok for _, ok in items) / max(1, len(items))


async def file_vault(
    vault: LabelledVault, place: Path, config: TopicsConfig, models: Path, *, pages: bool, grown: bool = False
) -> Figures:
    """Stores the notes day by day, files them at the end, or each as it comes, and looks at the tree."""
    day = datetime.fromisoformat("2026-01-01T12:00:00+00:00")
    settings = EngineConfig(place / "vault", place / "state", models, features={"topics": config})
    (place / "vault").mkdir(parents=True)
    async with open_engine(settings, watch=False, clock=lambda: day) as opened:
        engine = KeywordEngine(opened)
        groups: dict[NoteId, str] = {}
        said: dict[NoteId, str] = {}
        for note in vault.notes:
            day = datetime.fromisoformat(f"{note.day}T12:00:00+00:00")
            stored = await engine.append(
                note.text, kind=note.kind, title=note.title, tags=list(note.tags), project=note.project or "*"
            )
            assert stored.id
            groups[NoteId(stored.id)] = note.group
            said[NoteId(stored.id)] = f"{note.title}\n{note.text}" if note.title else note.text
            if grown:
                await engine.settled()
                await engine.compact()
        await engine.settled()
        await engine.compact()
        tree, fresh = await tree_of(engine), (await engine.perform("tree", {}))["fresh"]
        figures = Figures(notes=len(vault.notes))
        topics_of: dict[NoteId, str] = {}
        for topic in tree:
            _look_at(topic, 0, vault, groups, said, place / "vault", figures, topics_of, pages=pages)
        figures.filed = len(topics_of)
        figures.lines += [f"waits: {note['title'][:70]}" for note in fresh]
        rows = [note_id for note_id in topics_of if vault.names[groups[note_id]]]
        figures.v = v_measure([groups[row] for row in rows], [topics_of[row] for row in rows]) if rows else 0.0
        return figures


def _look_at(
    topic: ShownTopic, level: int, vault: LabelledVault, groups: dict[NoteId, str], said: dict[NoteId, str], root: Path,
    figures: Figures, topics_of: dict[NoteId, str], *, pages: bool,
) -> None:  # fmt: skip
    below = [note for each in topic.walk() for note in each.leaves]
    theirs = [groups[note.id] for note in below]
    chosen = group_of(theirs, is_top=level == 0)
    ok = is_acceptable(topic.title, acceptable_names(vault, chosen))
    mark = ("+" if ok else "-") if chosen else "?"
    if chosen:
        figures.named.append((topic.title, ok))
    else:
        figures.mixed.append(topic.title)
    figures.lines.append(f"{'  ' * level}{mark} {topic.name}  «{topic.title}»  {len(below)}  {'/'.join(chosen)}")
    text = summary_text((root / topic.folder / PAGE).read_text(encoding="utf-8").split("---\n", 2)[2])
    if pages:
        figures.lines += [f"{'  ' * level}    | {line}" for line in text.splitlines()]
    if not topic.topics:
        figures.lengths.append((len(text), sum(len(said[note.id]) for note in below)))
    for group in sorted(set(theirs)):
        if theirs.count(group) * 2 > sum(each == group for each in groups.values()) and not topic.topics:
            for question, answers in vault.questions.get(group, []):
                if not any(is_answered(answers, said[note.id]) for note in below):
                    continue  # another topic's, or nobody's
                ok = is_answered(answers, text)
                figures.answered.append((question, ok))
                if pages:
                    figures.lines.append(f"{'  ' * level}    {'answered' if ok else 'NOT ANSWERED'}: {question}")
    for note in topic.leaves:
        topics_of[note.id] = topic.folder
        figures.lines.append(f"{'  ' * level}    {note.kind:10} {groups[note.id]:20} {note.title[:70]}")
    for each in topic.topics:
        _look_at(each, level + 1, vault, groups, said, root, figures, topics_of, pages=pages)


def v_measure(labels: Sequence[object], groups: Sequence[object]) -> float:
    """The harmonic mean of homogeneity (1: no group has two labels) and completeness (1: no label has two groups), as
    Rosenberg and Hirschberg define it (2007)."""
    both = list(zip(labels, groups, strict=True))
    of_labels, of_groups = _entropy(labels), _entropy(groups)
    shared = of_labels + of_groups - _entropy(both)
    homogeneity = shared / of_labels if of_labels else 1.0
    completeness = shared / of_groups if of_groups else 1.0
    return 2 * homogeneity * completeness / (homogeneity + completeness) if homogeneity + completeness > 0 else 0.0


def _entropy(values: Sequence[object]) -> float:
    return -sum(count / len(values) * log(count / len(values)) for count in Counter(values).values())


def measured(
    names: Iterable[str], config: TopicsConfig, *, pages: bool, as_notes: bool, grown: bool
) -> Iterator[tuple[str, Figures]]:
    for name in names:
        vault = read_vault(name)
        if as_notes:
            vault.notes = [replace(note, kind="note") for note in vault.notes]
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            filed = partial(file_vault, vault, place, config, MODELS, pages=pages, grown=grown)
            yield name, anyio.run(filed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(NAMES[:3]))
    parser.add_argument("--pages", action="store_true")
    parser.add_argument("--as-notes", action="store_true")
    parser.add_argument("--grown", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--cosine", type=float, default=TopicsConfig().leaf_cosine)
    given = parser.parse_args()
    config = TopicsConfig(automatic=False, leaf_cosine=given.cosine)
    for name, figures in measured(
        chain(*map(vaults_of, given.names)), config, pages=given.pages, as_notes=given.as_notes, grown=given.grown
    ):
        lines = [] if given.quiet else figures.lines
        print("\n".join([f"== {name}", *lines, f"{name}: {figures}"]), flush=True)


if __name__ == "__main__":
    main()
