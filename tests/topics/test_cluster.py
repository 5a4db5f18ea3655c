"""Clusters: the groups of the textbook's average linkage, within their limits, whatever the vectors are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage

from mcp_memory.topics import cluster
from mcp_memory.topics.cluster import clusters

Matrix = NDArray[np.float32]
SEEDS = range(12)


def unit(rows: NDArray[np.floating]) -> Matrix:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def random(seed: int, count: int, dimension: int = 8) -> Matrix:
    return unit(np.random.default_rng(seed).standard_normal((count, dimension)))


def planted(seed: int, count: int, middles: int, noise: float = 0.3, dimension: int = 16) -> Matrix:
    rng = np.random.default_rng(seed)
    centres = unit(rng.standard_normal((middles, dimension)))
    return unit(centres[rng.integers(middles, size=count)] + noise * rng.standard_normal((count, dimension)))


def repeated(seed: int, count: int) -> Matrix:
    """Several of each: the nearest of many are equally near."""
    rng = np.random.default_rng(seed)
    return random(seed, max(1, count // 5))[rng.integers(max(1, count // 5), size=count)]


def grouped(vectors: Matrix, least: float, most: int = 10**9) -> list[list[int]]:
    return sorted(clusters(vectors, range(len(vectors)), least_cosine=least, most=most))


def by_scipy(tree: NDArray[np.float64], least: float) -> list[list[int]]:
    labels = fcluster(tree, 1 - least, "distance")
    return sorted(np.flatnonzero(labels == label).tolist() for label in set(labels.tolist()))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("make", [random, lambda seed, count: planted(seed, count, 7), repeated])
def test_the_groups_are_those_of_scipy(make, seed: int) -> None:
    vectors = make(seed, 40 + 20 * seed)
    tree = linkage(vectors.astype(np.float64), "average", "cosine")
    for least in (0.9, 0.7, 0.5, 0.31, 0.1, -0.05):
        # A merge right at the limit is made or not by the last digit.
        if np.abs(1 - tree[:, 2] - least).min() > 1e-4:
            assert grouped(vectors, least) == by_scipy(tree, least)


def one_by_one(vectors: Matrix, least: float, most: int) -> list[list[int]]:
    """By the definition: always the two nearest groups that fit into one."""
    groups = [[row] for row in range(len(vectors))]
    while True:
        pairs = [(a, b) for a in groups for b in groups if a < b and len(a) + len(b) <= most]
        near = {(at[0][0], at[1][0]): float((vectors[at[0]] @ vectors[at[1]].T).mean()) for at in pairs}
        best = max(near, key=near.__getitem__, default=None)
        if best is None or near[best] < least:
            return sorted(groups)
        joined = [group for group in groups if group[0] in best]
        groups = [group for group in groups if group not in joined] + [sorted(joined[0] + joined[1])]


@pytest.mark.parametrize("seed", range(6))
def test_no_group_outgrows_its_limit_and_what_fits_is_joined_nearest_first(seed: int) -> None:
    vectors = planted(seed, 24, 3)
    for least, most in ((0.3, 12), (0.5, 10), (0.1, 9)):
        expected = one_by_one(vectors, least, most)
        assert sorted(map(sorted, cluster.linked(vectors @ vectors.T, least, most))) == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_with_ties_no_two_groups_are_near_enough_to_be_one(seed: int) -> None:
    """Signs in few dimensions: hundreds of cosines are equal, and the groups depend on which comes first."""
    vectors = unit(np.random.default_rng(seed).choice([-1.0, 1.0], size=(150, 6)))
    for least in (0.8, 0.4, 0.05):
        groups = grouped(vectors, least)
        assert sorted(row for group in groups for row in group) == list(range(150))
        middles = np.stack([vectors[group].mean(axis=0) for group in groups])
        between = middles @ middles.T
        np.fill_diagonal(between, -1)
        assert between.max() < least + 1e-5
        assert len(groups) == 1 or any(len(group) > 1 for group in groups)


@given(
    rows=st.lists(st.lists(st.integers(-3, 3), min_size=3, max_size=3).filter(any), max_size=40),
    least=st.sampled_from([-1.0, 0.0, 0.3, 0.5, 0.99, 1.0]),
    most=st.integers(1, 12),
    data=st.data(),
)
def test_every_row_is_in_one_group_no_larger_than_allowed(rows, least: float, most: int, data: st.DataObject) -> None:
    vectors = unit(np.array(rows, dtype=np.float64).reshape(-1, 3))
    chosen = data.draw(st.permutations(range(len(rows)))) if rows else []
    chosen = chosen[: data.draw(st.integers(0, len(chosen)))]
    groups = clusters(vectors, chosen, least_cosine=least, most=most)
    assert sorted(row for group in groups for row in group) == sorted(chosen)
    place = {row: at for at, row in enumerate(chosen)}
    for group in groups:
        assert 1 <= len(group) <= most
        assert group == sorted(group, key=place.__getitem__), "in the order given"


@pytest.mark.parametrize("size", [25, 40, 48, 100, 1000])
def test_no_group_is_too_large(size: int) -> None:
    one_apart = np.repeat(random(1, 1), size, axis=0)
    one_apart[0] *= -1
    for vectors in (random(3, size), one_apart, one_apart[1:].repeat(2, axis=0)[:size]):
        sizes = [len(group) for group in grouped(vectors, -1.1, most=24)]
        assert sum(sizes) == size
        assert max(sizes) <= 24


def test_parts_of_a_divided_group_belong_together() -> None:
    vectors = unit(planted(5, 60, 3, noise=0.05) + 2 * random(6, 1, 16))
    middles = grouped(vectors, 0.97)
    assert len(middles) == 3 and max(map(len, middles)) <= 30
    assert grouped(vectors, 0.0, most=30) == middles


@pytest.mark.parametrize("vectors", [np.repeat(random(1, 1, 64), 5000, axis=0), random(2, 10_000, 64)])
def test_large_sets_are_compared_block_by_block(vectors: Matrix, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    linked = cluster.linked

    def counted(block: Matrix, least_cosine: float, most: int):
        seen.append(len(block))
        return linked(block, least_cosine, most)

    monkeypatch.setattr(cluster, "linked", counted)
    groups = clusters(vectors, range(len(vectors)), least_cosine=0.35, most=24)
    assert sum(map(len, groups)) == sum(seen) == len(vectors)
    assert max(seen) <= cluster.BLOCK


def test_nothing_and_one_are_groups_too() -> None:
    assert grouped(random(1, 0), 0.3) == []
    assert grouped(random(1, 1), 0.3) == [[0]]
    assert grouped(np.zeros((3, 0), dtype=np.float32), 0.3) == [[0], [1], [2]]
