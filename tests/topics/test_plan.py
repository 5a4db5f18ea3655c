"""The plan: notes find their topics, topics their parents, and what has a place keeps it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from mcp_memory.text.language.subjects import shared_subject
from mcp_memory.topics import plan as planning
from mcp_memory.topics.config import TopicsConfig
from mcp_memory.topics.owned_notes import PlanNote
from mcp_memory.topics.page import FRESH, is_topic_name, next_number
from mcp_memory.topics.plan import TOP, PlanJob
from tests.support.topics import carried_out

Matrix = NDArray[np.float32]
ALL_READY = TopicsConfig(leaf_cosine=0.5, by_subject=False, topic_cosine=0.5, max_leaves=10, max_topics=6)
SEEDS = range(8)


def plan(
    notes: Sequence[str], vectors: Matrix, config: TopicsConfig, projects: Sequence[str] | None = None
) -> list[PlanJob]:
    known = projects or [""] * len(notes)
    found = [PlanNote(place, project=project) for place, project in zip(notes, known, strict=True)]
    return planning.plan(found, vectors, config)


def unit(rows: NDArray[np.floating]) -> Matrix:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def fields(seed: int, count: int, *, topics: int = 12, fields: int = 3, dimension: int = 32) -> Matrix:
    """Leaves of topics, and topics of fields."""
    rng = np.random.default_rng(seed)
    middles = unit(rng.standard_normal((fields, dimension)))[rng.integers(fields, size=topics)]
    middles = unit(middles + 0.1 * rng.standard_normal((topics, dimension)))
    return unit(middles[rng.integers(topics, size=count)] + 0.08 * rng.standard_normal((count, dimension)))


def fresh(count: int, start: int = 1) -> list[str]:
    return [f"{FRESH}/{number:03}-leaf.md" for number in range(start, start + count)]


def settled(notes: Sequence[str], vectors: Matrix, config: TopicsConfig) -> tuple[list[str], list[list[PlanJob]]]:
    """Where the notes are when a plan is empty, and the rounds until then."""
    rounds: list[list[PlanJob]] = []
    notes = list(notes)
    while jobs := plan(notes, vectors, config):
        check(notes, vectors, jobs, config)
        notes = carried_out(notes, jobs)
        rounds.append(jobs)
        assert len(rounds) <= 20, "as many as a run of the compactor has"
    return notes, rounds


def check(notes: Sequence[str], vectors: Matrix, jobs: Sequence[PlanJob], config: TopicsConfig) -> None:
    """What holds of every plan."""
    assert most_often(leaf for job in jobs for leaf in job.leaves) <= 1
    assert most_often(topic for job in jobs for topic in job.topics) <= 1
    assert most_often(job.into for job in jobs if job.into) <= 1
    rows = {note: at for at, note in enumerate(notes)}
    moving = {topic for job in jobs for topic in job.topics}
    for job in jobs:
        assert bool(job.leaves) != bool(job.topics)
        assert job.parent == TOP
        assert list(job.leaves) == sorted(job.leaves, key=number_of)
        assert not any(folder_of(leaf) != FRESH for leaf in job.leaves)
        assert all(vectors[rows[leaf]].any() for leaf in job.leaves)
        assert not any(topic.startswith(f"{each}/") or topic == each for each in moving for topic in [job.into or ""])
        there = [note for note in notes if job.into and folder_of(note) == job.into]
        beside = {"/".join(note.split("/")[: job.into.count("/") + 2]) for note in notes
                  if job.into and folder_of(note).startswith(f"{job.into}/")}  # fmt: skip
        if job.leaves:
            assert len(there) + len(job.leaves) <= config.max_leaves
            assert job.into or len(job.leaves) >= config.min_leaves
        else:
            assert len(job.topics) >= (1 if job.into else config.condensed_min_fanout)
            assert len(beside) + len(job.topics) <= config.max_topics


def most_often(values: Iterable[object]) -> int:
    return max(Counter(values).values(), default=0)


def folder_of(path: str) -> str:
    return path.rpartition("/")[0]


def number_of(path: str) -> int:
    return int(path.rpartition("/")[2].partition("-")[0])


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[str], Matrix, TopicsConfig]:
    count = draw(st.integers(0, 120))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    make = draw(st.sampled_from(["fields", "random", "same", "few"]))
    vectors = {
        "fields": lambda: fields(seed, count),
        "random": lambda: unit(rng.standard_normal((count, 4))),
        "same": lambda: np.repeat(unit(rng.standard_normal((1, 5))), count, axis=0),
        "few": lambda: unit(rng.standard_normal((3, 5)))[rng.integers(3, size=count)],
    }[make]()
    vectors = vectors.copy()
    vectors[rng.random(count) < draw(st.sampled_from([0.0, 0.0, 0.2, 1.0]))] = 0
    config = TopicsConfig(
        leaf_cosine=draw(st.sampled_from([-1.0, 0.3, 0.6, 0.95])),
        by_subject=draw(st.booleans()),
        min_leaves=draw(st.integers(2, 4)),
        max_leaves=draw(st.sampled_from([2, 4, 16])),
        topic_cosine=draw(st.sampled_from([-1.0, 0.3, 0.6, 0.95])),
        condensed_min_fanout=draw(st.integers(2, 5)),
        max_topics=draw(st.sampled_from([2, 5, 16])),
        max_depth=draw(st.integers(1, 6)),
    )
    return fresh(count), vectors, config


@settings(max_examples=150, deadline=None)
@given(world=worlds())
def test_rounds_end_and_keep_to_the_limits(world: tuple[list[str], Matrix, TopicsConfig]) -> None:
    notes, vectors, config = world
    there, rounds = settled(notes, vectors, config)
    assert most_often(there) <= 1
    filed = [leaf for jobs in rounds for job in jobs for leaf in job.leaves]
    assert most_often(filed) <= 1, "what is filed is not filed again"
    assert {note for note in there if folder_of(note) == FRESH} == set(notes) - set(filed)
    assert all(folder.count("/") < config.max_depth for folder in map(folder_of, there))
    assert plan(there, vectors, config) == []


def test_a_settled_tree_is_found_again_from_its_fields() -> None:
    vectors = fields(1, 300, topics=20, fields=2)
    there, rounds = settled(fresh(300), vectors, replace(ALL_READY, leaf_cosine=0.2))
    assert not any(folder_of(note) == FRESH for note in there)
    for parent in {note.partition("/")[0] for note in there}:
        mine = vectors[[at for at, note in enumerate(there) if note.startswith(f"{parent}/")]]
        assert (mine @ mine.T).min() > 0.3 > (vectors @ vectors.T).min(), "one field"
    assert any(job.topics for jobs in rounds for job in jobs)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_new_note_moves_alone(seed: int) -> None:
    vectors = fields(seed, 401)
    notes, _ = settled(fresh(400), vectors[:400], ALL_READY)
    waiting = {note for note in notes if folder_of(note) == FRESH}
    new = fresh(1, start=401)
    (job,) = plan([*notes, *new], vectors, ALL_READY) or [PlanJob(None, TOP)]
    assert set(job.leaves) <= {*new, *waiting} and not job.topics
    if job.into is None:
        assert not job.leaves or set(job.leaves) >= set(new)
    else:
        assert job.leaves == tuple(new)
        mine = [at for at, note in enumerate(notes) if folder_of(note) == job.into]
        assert float((vectors[mine] @ vectors[400]).mean()) >= ALL_READY.leaf_cosine


@pytest.mark.parametrize("seed", SEEDS)
def test_notes_that_come_one_by_one_are_filed_once(seed: int) -> None:
    vectors = fields(seed, 150, topics=6)
    notes: list[str] = []
    for number in range(150):
        before = [*notes, f"{FRESH}/{number + 1:03}-leaf.md"]
        notes, rounds = settled(before, vectors[: number + 1], ALL_READY)
        moved = {leaf for jobs in rounds for job in jobs for leaf in job.leaves}
        for was, now in zip(before, notes, strict=True):
            assert folder_of(was) == FRESH or was.rpartition("/")[2] == now.rpartition("/")[2]
            assert (was in moved) == (folder_of(was) == FRESH != folder_of(now))
    waiting = sum(folder_of(note) == FRESH for note in notes)
    assert waiting < 60, "most have a topic"


def test_notes_without_a_vector_wait() -> None:
    vectors = fields(2, 60, topics=2)
    vectors[::2] = 0
    there, _ = settled(fresh(60), vectors, ALL_READY)
    waiting = {at for at, note in enumerate(there) if folder_of(note) == FRESH}
    assert waiting >= {*range(0, 60, 2)} and len(waiting) < 35
    assert plan(fresh(9), np.zeros((9, 0), dtype=np.float32), ALL_READY) == []
    assert plan([], np.zeros((0, 1), dtype=np.float32), ALL_READY) == []


def test_thousands_of_notes_that_say_the_same() -> None:
    config = TopicsConfig(by_subject=False)
    vectors = np.repeat(unit(np.random.default_rng(1).standard_normal((1, 384))), 5000, axis=0)
    there, rounds = settled(fresh(5000), vectors, config)
    topics = Counter(map(folder_of, there))
    assert config.min_leaves <= min(topics.values()) <= max(topics.values()) <= config.max_leaves
    assert len({topic.partition("/")[0] for topic in topics}) < 16 and len(rounds) < 10


def test_many_notes_of_no_kind_wait() -> None:
    vectors = unit(np.random.default_rng(1).standard_normal((10_000, 384)))
    assert plan(fresh(10_000), vectors, TopicsConfig()) == []


def test_growth_cascades_upwards() -> None:
    config = replace(ALL_READY, max_topics=4, max_leaves=4)
    vectors = np.repeat(np.eye(4, dtype=np.float32)[:1], 1000, axis=0)
    there, rounds = settled(fresh(1000), vectors, config)
    assert max(note.count("/") for note in there) >= 4
    assert {bool(job.topics) for job in rounds[0]} == {False}
    shallow, _ = settled(fresh(1000), vectors, replace(config, max_depth=2))
    assert max(note.count("/") for note in shallow) == 2
    flat, _ = settled(fresh(1000), vectors, replace(config, max_depth=1))
    assert max(note.count("/") for note in flat) == 1


def test_a_topic_joins_a_parent_that_it_fits_however_deep() -> None:
    one, other = np.eye(4, dtype=np.float32)[:2]
    notes = [f"01-a/01-b/{topic:02}-c/{at}.md" for topic in range(1, 5) for at in range(3)]
    notes += [f"01-a/02-other/01-c/{at}.md" for at in range(3)] + [f"02-new/{at}.md" for at in range(3)]
    vectors = np.array([one] * 12 + [other] * 3 + [one] * 3)
    assert plan(notes, vectors, ALL_READY) == [PlanJob("01-a/01-b", topics=("02-new",))]


def test_numbers_follow_the_highest() -> None:
    assert next_number([]) == 1
    assert next_number(["01-a", "07-b", "tea", "2-c", "1234567-d", "_fresh"]) == 8
    assert is_topic_name("01-a") and is_topic_name("100-ä b") and not is_topic_name("01-") and not is_topic_name("1-a")


def test_a_small_project_is_one_topic_until_it_has_two_subjects() -> None:
    one, other = np.eye(4, dtype=np.float32)[:2]
    few = np.array([one] * 4 + [other] * 4)
    assert plan(fresh(2), few[:2], ALL_READY, ["harbor"] * 2) == []
    assert plan(fresh(4), few[:4], ALL_READY, ["harbor"] * 4) == [PlanJob(None, TOP, leaves=tuple(fresh(4)))]
    notes = [f"01-harbor/{at}.md" for at in range(8)]
    first, second = plan(notes, few, ALL_READY, ["harbor"] * 8)
    assert (first.into, first.parent, second.parent) == (None, "01-harbor", "01-harbor")
    assert plan(notes[:4], few[:4], ALL_READY, ["harbor"] * 4) == []


@st.composite
def sorted_notes(draw: st.DrawFn) -> tuple[list[PlanNote], Matrix]:
    """Notes of three projects and of none, with subjects and words or without."""
    seed, count = draw(st.integers(0, 2**32 - 1)), draw(st.integers(0, 60))
    rng = np.random.default_rng(seed)
    vocabulary = ["red", "green", "blue", "tea"]
    subjects = [(), ("payments",), ("payment",), ("deploys",), ("payments", "payments api"), ("deploys", "canary")]
    notes = [
        PlanNote(
            place,
            project=("", "harbor", "lantern")[rng.integers(3)],
            subjects=subjects[rng.integers(6)],
            words=frozenset(vocabulary[at] for at in rng.integers(4, size=rng.integers(3))),
        )
        for place in fresh(count)
    ]
    return notes, fields(seed, count, topics=4, fields=1)


@settings(max_examples=60, deadline=None)
@given(world=sorted_notes(), data=st.data())
def test_what_a_topic_is_founded_on_is_shared(world: tuple[list[PlanNote], Matrix], data: st.DataObject) -> None:
    notes, vectors = world
    config = TopicsConfig(leaf_cosine=data.draw(st.sampled_from([-1.0, 0.0, 0.11, 0.5])))
    order = data.draw(st.permutations(range(len(notes)))) if notes else []
    rounds = 0
    while jobs := planning.plan(notes, vectors, config):
        shuffled = [notes[at] for at in order]
        assert planning.plan(shuffled, vectors[np.array(order, dtype=int)], config) == jobs
        at_place = {note.place: note for note in notes}
        for job in jobs:
            some = [at_place[place] for place in job.leaves]
            assert len({note.project for note in some}) <= 1, "projects are never mixed"
            is_projects_own = job.parent == TOP and bool(some and some[0].project)
            if job.into is None and some and not is_projects_own:
                named = [subject for note in some for subject in note.subjects]
                is_named = any(sum(subject in note.subjects for note in some) == len(some) for subject in named)
                assert is_named or shared_subject([note.subject for note in some])
        places = carried_out([note.place for note in notes], jobs)
        notes = [replace(note, place=place) for note, place in zip(notes, places, strict=True)]
        rounds += 1
        assert rounds <= 20, "as many as a run of the compactor has"
