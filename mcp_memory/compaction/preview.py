"""Simulates a run on note records, without writing pages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mcp_memory.models import Etag, Meta, NoteId, NotePath, NoteRecord, NoteState
from mcp_memory.topics.config import TopicsConfig
from mcp_memory.topics.page import PAGE
from mcp_memory.topics.places import FRESH
from mcp_memory.topics.plan import PlanJob, PlanNote, paths_after, plan
from mcp_memory.topics.topic_tree import Ours, PageState, Topic, build_tree, place_notes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NameTopic = Callable[[str, Sequence[str], Sequence[NoteRecord], Sequence[str]], tuple[str, str]]
"""Maps the folder above a new topic, its siblings, its notes and the titles of its subtopics to the folder name and the
title of the topic."""


@dataclass(frozen=True, slots=True)
class Preview:
    """The expected result of a run. Paths are the paths after the run."""

    tree: Sequence[Topic]
    fresh: Sequence[NoteRecord]
    """Notes that would still wait."""
    new: Collection[NotePath]
    """Folders that a run would create."""
    came_from: Mapping[NotePath, NotePath]
    """Maps each note and page that would move to its current path."""


class Sketch:
    """A copy of the tree that can be changed without touching a file."""

    def __init__(self, root: str, tree: Sequence[Topic], fresh: Sequence[NoteRecord]) -> None:
        below = [topic for top in tree for topic in top.walk()]
        pages = [topic.page for topic in below if topic.page]
        self._root = root
        self._records = [*fresh, *(note for topic in below for note in topic.leaves), *pages]
        places = place_notes(tree, fresh, root)
        known = {note.path: place for place, note in places.items()}
        self._places = [known.get(record.path, record.path[len(root) + 1 :]) for record in self._records]
        self._known = len(self._records)
        rows = {record.path: row for row, record in enumerate(self._records)}
        self._planned_rows = [rows[note.path] for note in places.values()]

    def run_rounds(
        self,
        notes: Sequence[PlanNote],
        vectors: NDArray[np.float32],
        config: TopicsConfig,
        named: NameTopic,
        most_rounds: int,
        wanted: Callable[[PlanJob], bool],
    ) -> None:
        """Simulate the wanted jobs, round by round. `notes` and their `vectors` describe the present places."""
        for _ in range(most_rounds):
            now = [replace(note, place=self._places[row]) for note, row in zip(notes, self._planned_rows, strict=True)]
            jobs = list(filter(wanted, plan(now, vectors, config)))
            if not jobs:
                return
            self._apply(jobs, named)

    def to_preview(self, made: Ours, state_of: Callable[[NoteRecord], PageState]) -> Preview:
        """Return the result. `made` and `state_of` are arguments of `build_tree`, for the present pages."""
        linked: dict[str, list[NoteId]] = defaultdict(list)
        for record, place in zip(self._records, self._places, strict=True):
            if not self._is_inside(record):
                linked[_folder(place)].append(record.id)
        records = [
            replace(record, path=NotePath(f"{self._root}/{place}"), meta=_with_sources(record, linked[_folder(place)]))
            if self._is_inside(record)
            else record
            for record, place in zip(self._records, self._places, strict=True)
        ]
        came_from = {now.path: before.path for now, before in zip(records, self._records, strict=True)}
        new = {record.path for record in records[self._known :]}
        tree = build_tree(
            records,
            self._root,
            lambda page, now: page in new or made(came_from.get(page, page), now),
            lambda page: state_of(page) if page.etag else PageState(),
        )
        return Preview(
            tree,
            [record for record, place in zip(records, self._places, strict=True) if _folder(place) == FRESH],
            {NotePath(_folder(page)) for page in new},
            {now: before for now, before in came_from.items() if now != before and now not in new},
        )

    def _is_inside(self, record: NoteRecord) -> bool:
        return record.path.startswith(f"{self._root}/")

    def _apply(self, jobs: Sequence[PlanJob], named: NameTopic) -> None:
        rows = {place: row for row, place in enumerate(self._places)}
        beside: dict[str, list[str]] = {job.parent: self._folders_in(job.parent) for job in jobs}
        names: dict[PlanJob, str] = {}
        pages: list[tuple[str, NoteRecord]] = []
        for job in (job for job in jobs if job.into is None):
            notes = [self._records[rows[path]] for path in job.leaves]
            name, title = named(
                job.parent, beside[job.parent], notes, [self._title(topic, rows) for topic in job.topics]
            )
            names[job] = name
            beside[job.parent].append(name)
            page = f"{job.parent}/{name}/{PAGE}".removeprefix("/")
            path = NotePath(f"{self._root}/{page}")
            pages.append((page, NoteRecord(path, NoteId(""), Etag(""), "", title, "summary", NoteState.SUMMARY)))
        where = paths_after(self._places, jobs, names.__getitem__)
        self._places = [where[place] for place in self._places] + [place for place, _ in pages]
        self._records += [record for _, record in pages]

    def _folders_in(self, parent: str) -> list[str]:
        start = f"{parent}/" if parent else ""
        below = (place[len(start) :] for place in self._places if place.startswith(start))
        return sorted({rest.partition("/")[0] for rest in below if "/" in rest})

    def _title(self, topic: str, rows: Mapping[str, int]) -> str:
        row = rows.get(f"{topic}/{PAGE}")
        return self._records[row].title if row is not None else topic.rpartition("/")[2]


def _with_sources(page: NoteRecord, linked: Sequence[NoteId]) -> Meta:
    """Return a page's frontmatter as if it also linked to these notes."""
    if page.state is not NoteState.SUMMARY:
        return page.meta
    return {**page.meta, "derived_from": [*page.meta.get("derived_from", ()), *linked]}


def _folder(path: str) -> str:
    return path.rpartition("/")[0]
