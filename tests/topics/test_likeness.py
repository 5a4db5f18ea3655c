"""Which notes are alike, and whether a person would see what they have in common."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory.text.language.subjects import shared_subject, subject_of
from mcp_memory.topics.bare_notes import word_cosines
from mcp_memory.topics.cluster import Matrix, topic_vectors
from mcp_memory.topics.config import TopicsConfig
from mcp_memory.topics.owned_notes import PlanNote
from mcp_memory.topics.plan import plan

CONFIG = TopicsConfig()


def random_units(count: int, dimension: int = 16) -> Matrix:
    rows = np.random.default_rng(count).standard_normal((count, dimension))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def filed(notes: Sequence[tuple[str, str]]) -> list[set[int]]:
    """The new topics of notes with these words of titles and texts, which name no subject and aren't alike."""
    made = [PlanNote(f"_fresh/{at:03}-x.md", words=frozenset(title.split()), said=frozenset(text.split()))
            for at, (title, text) in enumerate(notes)]  # fmt: skip
    jobs = plan(made, random_units(len(made), 256), CONFIG)
    return [{int(place.partition("/")[2][:3]) for place in job.leaves} for job in jobs]


def test_what_a_project_says_in_every_note_makes_no_two_of_them_alike() -> None:
    project = np.zeros((1, 16), dtype=np.float32)
    project[0, 0] = 3.0
    rows = random_units(20) + project
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    apart = topic_vectors(rows, ["shop"] * 20)
    off = ~np.eye(20, dtype=bool)
    assert (apart @ apart.T)[off].mean() < 0.85 * (rows @ rows.T)[off].mean()


def test_another_project_changes_nothing() -> None:
    rows = random_units(8)
    assert np.allclose(topic_vectors(rows, ["shop"] * 4 + ["moor"] * 4)[4:], topic_vectors(rows[4:], ["moor"] * 4))


@given(count=st.integers(0, 12), silent=st.sets(st.integers(0, 11)))
def test_no_vector_is_longer_than_one_and_what_has_none_gets_none(count: int, silent: set[int]) -> None:
    rows = random_units(count)
    gone = [row for row in silent if row < count]
    rows[gone] = 0
    made = topic_vectors(rows, [""] * count)
    lengths = np.linalg.norm(made, axis=1)
    assert not made[gone].any() and (lengths <= 1 + 1e-5).all()


VARNISH = [("layers", "varnish ground"), ("fewer layers", "varnish dull"), ("drying", "varnish layers line")]
OTHERS = [
    ("guild", "fee paid"),
    ("walk", "snow hut"),
    ("cards", "scan number"),
    ("hammer", "bridge sweep"),
    ("hum", "mains"),
]


def test_notes_without_a_subject_make_a_topic_if_they_have_rare_words_in_common() -> None:
    assert filed([*VARNISH, *OTHERS]) == [{0, 1, 2}]
    assert not filed([*VARNISH[:2], *OTHERS]), "two notes are no topic"
    everywhere = [(title, f"shop {text}") for title, text in OTHERS]
    assert not filed(everywhere), "a word that all have tells none apart"


def test_a_word_of_the_title_weighs_more_than_one_of_the_text() -> None:
    texts = [("", "layers varnish ground"), ("", "layers varnish dull fewer"), ("", "layers varnish line drying wait")]
    near, far = map(compared, (VARNISH, texts))
    assert near[0, 1] > far[0, 1]


def compared(notes: Sequence[tuple[str, str]]) -> Matrix:
    """The cosines between notes with these words of titles and texts."""
    made = [PlanNote("", words=frozenset(title.split()), said=frozenset(text.split())) for title, text in notes]
    return word_cosines(made, [1] * len(made), len(made))


def test_compounds_and_forms_of_a_word_are_alike() -> None:
    cosines = compared([("", "waage hof"), ("", "stockwaagen akku"), ("", "honig preis")])
    assert cosines[0, 1] > 0.1 > cosines[0, 2]


def test_a_third_of_the_notes_may_name_the_subject_of_all() -> None:
    assert shared_subject(["payments", "Payments", "payment", "", "", "deploy", "", ""]) == "payments"
    assert shared_subject(["payments", *[""] * 4]) == "" == shared_subject([]) == shared_subject(["", ""])
    assert shared_subject(["a", "b", "c", "d", "e", "a"]) == "" == shared_subject(["the", "the"])


@pytest.mark.parametrize(("tags", "subject"), [
    ((), ""), (("harbor", "payments"), "payments"), (("fix", "2026", "todo"), ""), (("🚀", "it", "deploy"), "deploy"),
    (("google-calendar", "ics"), "google calendar"), (("ci/cd",), "ci cd"), (("--",), ""),
    (("Salle de bain",), "Salle de bain"),
])  # fmt: skip
def test_the_first_tag_is_the_subject(tags: tuple[str, ...], subject: str) -> None:
    assert subject_of(tags, "harbor") == subject


def test_a_note_joins_a_topic_named_after_its_subject_or_one_that_is_twice_as_near() -> None:
    rows = np.repeat(random_units(1), 4, axis=0) * np.float32(1.0)
    away = rows + 0.9 * random_units(4)
    rows = np.vstack([rows, away / np.linalg.norm(away, axis=1, keepdims=True)]).astype(np.float32)
    places = [f"01-shop/{at}.md" for at in range(4)] + [f"_fresh/{at:03}-x.md" for at in range(4)]

    def joined(subjects: tuple[str, ...], least: float) -> int:
        topic, fresh = (PlanNote("", subjects=named) for named in (("payments",), subjects))
        notes = [replace(topic if at < 4 else fresh, place=place) for at, place in enumerate(places)]
        return sum(len(job.leaves) for job in plan(notes, rows, TopicsConfig(leaf_cosine=least)) if job.into)

    assert joined(("payments",), 0.3) == 4 > joined(("testing",), 0.3)
    assert joined(("testing",), 0.01) == joined((), 0.01) == 4


def test_a_note_without_a_subject_joins_the_topic_that_it_shares_rare_words_with() -> None:
    lone = [(f"word{at}", f"text{at} thing{at}") for at in range(20)]
    places = ["01-varnish"] * 3 + ["02-scans"] * 3 + ["_fresh"] * 22
    scans = [("scan", "lens number"), ("scan dust", "lens cloth"), ("old scan", "lens tray")]
    both = [("varnish", "brush layers"), ("scan varnish", "lens layers")]
    notes = [
        PlanNote(f"{place}/{at:03}-x.md", words=frozenset(title.split()), said=frozenset(text.split()))
        for at, (place, (title, text)) in enumerate(zip(places, [*VARNISH, *scans, *both, *lone], strict=True))
    ]
    jobs = plan(notes, random_units(len(notes), 256), CONFIG)
    assert [(job.into, job.leaves) for job in jobs] == [("01-varnish", ("_fresh/006-x.md",))], "not one between two"


def test_the_vectors_are_the_same_in_every_process() -> None:
    code = (
        "from mcp_memory.topics.bare_notes import PlanNote as note, word_cosines as made;"
        "notes = [note('', said=frozenset(text.split())) for text in ('red green blue tea', 'red tea')];"
        "print(made(notes, [1, 1], 2).tobytes().hex())"
    )
    run = [sys.executable, "-c", code]
    told = {
        subprocess.run(run, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True).stdout for seed in "12"
    }
    assert len(told) == 1 and told != {b""}
