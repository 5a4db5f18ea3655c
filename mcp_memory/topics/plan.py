"""Plans the jobs of a round of compaction from the notes that topics may contain. Pure and deterministic.

Notes of a project go into its single topic, and from there into subtopics once there are several subjects; notes of
two projects are never mixed. Other notes join a fitting topic, or make a new topic with similar notes if they share a
subject or, without one, rare words; otherwise they wait. In a round without moves of notes, top-level topics without a
project join a fitting topic, or get a new parent. A run plans until a plan is empty, so growth cascades upwards. Filed
notes and topics keep their place, except for the loose notes of a project.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from mcp_memory.text.language.subjects import shared_subject
from mcp_memory.text.language.terms import content_words
from mcp_memory.topics.bare_notes import BareNotes, best_hosts
from mcp_memory.topics.cluster import Matrix, clusters, mean, topic_vectors, unit
from mcp_memory.topics.config import TopicsConfig
from mcp_memory.topics.owned_notes import PlanNote, by_owner, find_owners
from mcp_memory.topics.page import FRESH, upwards

OF_OTHER_SUBJECTS = 2.0
"""The factor of `leaf_cosine` for a note to join a topic of other subjects."""

TOP = ""
"""The folder of all topics, as `PlanJob.parent`."""


class PlanJob(NamedTuple):
    """A move of notes or topics into a topic. Paths are relative to the folder of all topics."""

    into: str | None
    """An existing topic; None for a new topic."""
    parent: str = TOP
    """The folder for a new topic."""
    leaves: tuple[str, ...] = ()
    """Paths of notes."""
    topics: tuple[str, ...] = ()
    """Folders of topics."""


def plan(notes: Sequence[PlanNote], vectors: Matrix, config: TopicsConfig) -> list[PlanJob]:
    """Return the next round of independent jobs; empty if nothing can move.

    `notes` are all notes in the tree, in any order. `vectors` (len(notes), dimension) have length 1, or 0 for a note
    without a vector, which waits. Notes in a folder whose name begins with `_`, and below, stay there, and nothing
    joins them."""
    rows = sorted(range(len(notes)), key=lambda row: notes[row].sort_key)
    notes, vectors = [notes[row] for row in rows], vectors[rows]
    within, owners = find_owners(notes, config)
    near = topic_vectors(vectors, owners)
    jobs: list[PlanJob] = []
    for owner, theirs in sorted(by_owner(within, owners).items()):
        tree = _Tree.of(within, near, theirs)
        if owner:
            jobs += _owner_filing(tree, config)
        else:
            filed, _ = _filed_by_subject(tree, tree.fresh, sorted(tree.below), TOP, config)
            jobs += filed or _condensation(replace(tree, vectors=vectors), config)
    return jobs


@dataclass(frozen=True)
class _Tree:
    """The topics of a project with notes at any depth, and the notes by age, as rows of `vectors`."""

    notes: Sequence[PlanNote]
    vectors: Matrix
    fresh: Sequence[int]
    """Notes without a topic that may be filed."""
    leaves: Mapping[str, Sequence[int]]
    """Maps a topic to the notes directly in it."""
    below: Mapping[str, Sequence[int]]
    """Maps a topic to the notes in it and below, except notes without a vector."""
    topics: Mapping[str, Sequence[str]]
    """Maps a folder to the topics directly in it."""
    heights: Mapping[str, int]
    """Maps a topic to 1 if it contains only notes, else to one more than its highest subtopic."""

    @classmethod
    def of(cls, notes: Sequence[PlanNote], vectors: Matrix, rows: Iterable[int]) -> Self:
        fresh: list[int] = []
        leaves: dict[str, list[int]] = defaultdict(list)
        below: dict[str, list[int]] = defaultdict(list)
        topics: dict[str, set[str]] = defaultdict(set)
        heights: dict[str, int] = defaultdict(int)
        for row in rows:
            folder, known = notes[row].folder, bool(vectors[row].any())
            if folder == FRESH and known:
                fresh.append(row)
            if not folder or f"/{folder}".find("/_") >= 0:
                continue
            leaves[folder].append(row)
            for height, topic in enumerate(upwards(folder), 1):
                heights[topic] = max(heights[topic], height)
                topics[topic.rpartition("/")[0]].add(topic)
                if known:
                    below[topic].append(row)
        return cls(notes, vectors, fresh, leaves, below, {at: sorted(some) for at, some in topics.items()}, heights)

    def belonging(self, rows: Sequence[int], topic: str, middle: Matrix, config: TopicsConfig) -> list[int]:
        """Return the rows that may join a topic: rows with its subjects, and rows that are near enough."""
        known = content_words(" ".join(self.notes[leaf].subject for leaf in self.leaves[topic]))
        least = (OF_OTHER_SUBJECTS if config.by_subject else 1) * config.leaf_cosine
        return [
            row
            for row in rows
            if not known.isdisjoint(content_words(self.notes[row].subject)) or self.vectors[row] @ middle >= least
        ]

    def middles(self, folders: Sequence[str]) -> Matrix:
        """Return the mean of each topic's vectors; its product with a vector is the mean cosine with them."""
        return np.stack([mean(self.vectors, self.below[folder]) for folder in folders])

    def directions(self, folders: Sequence[str]) -> Matrix:
        """Return the means at length 1."""
        return np.stack(list(map(unit, self.middles(folders))))


def _filed_by_subject(
    tree: _Tree, ready: Sequence[int], topics: Iterable[str], parent: str, config: TopicsConfig
) -> tuple[list[PlanJob], list[int]]:
    """Plan jobs in which `ready` notes join some of the `topics` or make new topics below `parent`; also return the
    remaining notes. Enough notes that name the same subject make a topic, whatever they say."""
    room = {topic: config.max_leaves - len(tree.leaves[topic]) for topic in topics}
    hosts = [topic for topic in room if room[topic] > 0 and not tree.topics.get(topic)]
    bare = [row for row in ready if tree.notes[row].said]
    compared = BareNotes.of(tree.notes, tree.vectors, bare, [tree.leaves[host] for host in hosts])
    places = [room[host] for host in hosts]
    joins = {hosts[at]: rows for at, rows in compared.joins(places).items()}
    named = [row for row in ready if not tree.notes[row].said]
    if hosts and named:
        middles = tree.middles(hosts)
        free = [room[host] - len(joins.get(host, ())) for host in hosts]
        for at, rows in best_hosts(tree.vectors, named, middles, free, config.leaf_cosine).items():
            joins[hosts[at]] = joins.get(hosts[at], []) + tree.belonging(rows, hosts[at], middles[at], config)
    jobs = [_filed(tree, rows, into=topic) for topic, rows in sorted(joins.items()) if rows]
    taken = {row for rows in joins.values() for row in rows}
    rest = [row for row in ready if row not in taken]
    founding = _by_named_subject(tree, rest, config)
    unnamed = sorted(set(rest).difference(*founding))
    groups = clusters(tree.vectors, unnamed, least_cosine=config.leaf_cosine, most=config.max_leaves)
    for rows in sorted(groups):
        is_named = shared_subject([tree.notes[row].subject for row in rows]) or not config.by_subject
        if is_named and len(rows) >= config.min_leaves:
            founding.append(rows)
    founding += compared.groups(taken.union(*founding), config)
    return jobs + [_filed(tree, rows, parent=parent) for rows in founding], sorted(set(rest).difference(*founding))


def _by_named_subject(tree: _Tree, rows: Sequence[int], config: TopicsConfig) -> list[list[int]]:
    """Return the notes of each subject that enough of them name for a topic, while there is room."""
    found: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        if tree.notes[row].subject_key:
            found[tree.notes[row].subject_key].append(row)
    return [some[: config.max_leaves] for some in sorted(found.values()) if len(some) >= config.min_leaves]


def _owner_filing(tree: _Tree, config: TopicsConfig) -> list[PlanJob]:
    """Plan the notes of an owner that make or join its topic, or a subtopic. Subtopics are made when the topic has
    two subjects, or more notes than fit."""
    root = next((topic for topic in sorted(tree.below) if "/" not in topic), None)
    if root is None:
        return [_filed(tree, tree.fresh)] if len(tree.fresh) >= config.min_leaves else []
    loose = [row for row in tree.leaves[root] if not tree.notes[row].is_fixed and tree.vectors[row].any()]
    topics = [topic for topic in sorted(tree.below) if topic.startswith(f"{root}/")]
    ready = sorted([*loose, *tree.fresh])
    jobs, left = _filed_by_subject(tree, ready, topics, root, config)
    whole = len(tree.below[root]) + len(tree.fresh)
    if config.max_depth < 2 or (not topics and len(jobs) < 2 and whole <= config.max_leaves):
        jobs, left = [], ready
    staying = [row for row in left if row in set(tree.fresh)]
    return jobs + ([_filed(tree, staying, into=root)] if staying else [])


def _condensation(tree: _Tree, config: TopicsConfig) -> list[PlanJob]:
    """Plan parents for topics at the top, on the lowest level with work to do. Topics join a parent of this level or
    get a new parent. A topic with a parent keeps it."""
    levels: dict[int, list[str]] = defaultdict(list)
    hosts: dict[int, list[str]] = defaultdict(list)
    for topic in sorted(tree.below):
        height = tree.heights[topic]
        if "/" not in topic:
            levels[height].append(topic)
        if height > 1 and len(tree.topics[topic]) < config.max_topics:
            hosts[height - 1].append(topic)
    for height, topics in sorted(levels.items()):
        if jobs := _condensed(tree, topics, hosts[height], config, deepest=height == config.max_depth):
            return jobs
    return []


def _condensed(
    tree: _Tree, topics: Sequence[str], hosts: Sequence[str], config: TopicsConfig, *, deepest: bool
) -> list[PlanJob]:
    directions = tree.directions(topics)
    joins: dict[int, list[int]] = {}
    if hosts:
        room = [config.max_topics - len(tree.topics[host]) for host in hosts]
        joins = best_hosts(directions, range(len(topics)), tree.directions(hosts), room, config.topic_cosine)
    jobs = [_moved(topics, some, into=hosts[at]) for at, some in sorted(joins.items())]
    taken = {at for some in joins.values() for at in some}
    rest = [] if deepest else [at for at in range(len(topics)) if at not in taken]
    groups = clusters(directions, rest, least_cosine=config.topic_cosine, most=config.max_topics)
    return jobs + [_moved(topics, some) for some in sorted(groups) if len(some) >= config.condensed_min_fanout]


def _filed(tree: _Tree, rows: Iterable[int], into: str | None = None, parent: str = TOP) -> PlanJob:
    return PlanJob(into, parent, leaves=tuple(tree.notes[row].place for row in sorted(rows)))


def _moved(topics: Sequence[str], some: Iterable[int], into: str | None = None) -> PlanJob:
    return PlanJob(into, topics=tuple(topics[at] for at in some))
