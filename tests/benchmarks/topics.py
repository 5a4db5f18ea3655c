"""The topic tree: how well topics agree with the folders and projects of people, and what planning takes.

Notes of our own set and of those that `MCP_MEMORY_EVAL_SETS` names (folders, with `:` between them) are filed until
nothing moves; logs are cut into leaves of a dozen turns. V-measure (Rosenberg & Hirschberg 2007) stands beside k-means
with as many clusters, and beside equal runs of notes by file name. What waits is left out of all three.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, log
from pathlib import Path, PurePosixPath

import anyio
import numpy as np

from mcp_memory.core.config import EngineConfig
from mcp_memory.engine.factory import open_engine
from mcp_memory.index import INDEXES
from mcp_memory.models import NotePath
from mcp_memory.runtime.telemetry import switch_off
from mcp_memory.text.markdown import frontmatter
from mcp_memory.text.markdown.logs import is_log_path
from mcp_memory.topics import plan as planning
from mcp_memory.topics.config import TopicsConfig
from mcp_memory.topics.places import next_number
from mcp_memory.topics.plan import PlanJob, PlanNote, paths_after
from tests.benchmarks.figures import Figure
from tests.benchmarks.site import KEPT, models
from tests.evaluation.sets import notes_of

OWN = Path(__file__).parents[1] / "eval" / "developer"
TURNS_A_LEAF = 12
SIZES = (1_000, 10_000, 100_000)
DIMENSION = 384
NOTES_A_TOPIC, TOPICS_A_FIELD = 12, 10
NEVER_FRESH = TopicsConfig(fresh_tail_count=0, shared_words=0)


@dataclass(frozen=True)
class Leaf:
    """`labels`: what people say it belongs to, by the name of the division."""

    name: str
    text: str
    labels: Mapping[str, str]


@dataclass(frozen=True)
class Grown:
    """A tree in which nothing moves any more: each leaf's topic, None where it waits."""

    topics: Sequence[str | None]

    @property
    def sizes(self) -> list[int]:
        return sorted(Counter(topic for topic in self.topics if topic).values())

    @property
    def waiting(self) -> float:
        return self.topics.count(None) / len(self.topics)

    @property
    def depth(self) -> int:
        return max((topic.count("/") + 1 for topic in self.topics if topic), default=0)


def plan(notes: Sequence[str], vectors: np.ndarray, config: TopicsConfig) -> list[PlanJob]:
    return planning.plan(list(map(PlanNote, notes)), vectors, config)


def topics() -> Iterator[Figure]:
    for name, leaves, vectors in vaults():
        grown = grow(vectors, NEVER_FRESH)
        sizes = grown.sizes
        about = f"{len(leaves)} leaves, {len(sizes)} topics of {sizes[0]} to {sizes[-1]}" if sizes else "no topic"
        yield Figure(f"{name}: leaves that wait", 100 * grown.waiting, "%", inf, about=about)
        for division, values in agreement(leaves, vectors, grown).items():
            ours, by_means, by_name = values
            about = f"k-means {by_means:.3f}, runs by name {by_name:.3f}"
            yield Figure(f"{name}: topics and {division}", ours, "V", inf, bound="least", about=about)
    for size in SIZES:
        command = [sys.executable, "-m", "tests.benchmarks.topics", str(size)]
        said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
        first_s, all_s, peak_mb, rounds = map(float, said)
        about = f"{all_s:.3g} s until nothing moves, {rounds:.0f} rounds"
        yield Figure(f"planning {size:,} fresh leaves", first_s, "s", inf, about=about)
        yield Figure(f"planning {size:,} fresh leaves: memory", peak_mb, "MB", inf, about="besides the vectors")


def grow(vectors: np.ndarray, config: TopicsConfig) -> Grown:
    """All leaves fresh at first."""
    notes = [f"_fresh/{at:06}-leaf.md" for at in range(len(vectors))]
    while jobs := plan(notes, vectors, config):
        notes = carried_out(notes, jobs)
    folders = [note.rpartition("/")[0] for note in notes]
    return Grown([None if folder == "_fresh" else folder for folder in folders])


def carried_out(notes: Sequence[str], jobs: Sequence[PlanJob]) -> list[str]:
    """Where the notes are then; a new topic is called by its number."""
    folders = {note[:at] for note in notes for at, letter in enumerate(note) if letter == "/"}
    inside: dict[str, list[str]] = defaultdict(list)
    for folder in folders:
        inside[folder.rpartition("/")[0]].append(folder.rpartition("/")[2])
    free = {job.parent: next_number(inside[job.parent]) for job in jobs}

    def named(job: PlanJob) -> str:
        free[job.parent] += 1
        return f"{free[job.parent] - 1:02}-topic"

    moved = paths_after(notes, jobs, named)
    return [moved[note] for note in notes]


# -- quality -----------------------------------------------------------------------------------------------------


def vaults() -> Iterator[tuple[str, list[Leaf], np.ndarray]]:
    """Name, leaves and their vectors by the real model, of each vault of each set."""
    for folder in (OWN, *map(Path, filter(None, os.environ.get("MCP_MEMORY_EVAL_SETS", "").split(":")))):
        marked = [each for each in sorted((folder / "vault").iterdir()) if (each / "memory").is_dir()]
        for vault in marked or [folder / "vault"]:
            name = f"{folder.name} {vault.name}" if marked else folder.name
            leaves = leaves_of(vault)
            yield name, leaves, anyio.run(embedded, leaves, KEPT / f"topics-{name.replace(' ', '-')}")


def leaves_of(vault: Path) -> list[Leaf]:
    paths = sorted(notes_of(vault), key=lambda path: path.name)
    folders = [path.parent for path in paths if not is_log_path(path.as_posix()) and path.parent != PurePosixPath(".")]
    above = len(Path(os.path.commonpath(folders)).parts) if folders else 0
    leaves: list[Leaf] = []
    for path in paths:
        text = (vault / path).read_text(encoding="utf-8")
        if is_log_path(path.as_posix()):
            turns = [line for line in text.splitlines() if line.startswith("- ")]
            leaves += [Leaf("turns", "\n".join(part), {}) for part in _parts(turns)]
            continue
        labels = {"folders": path.parts[above]} if len(path.parts) > above + 1 else {}
        if project := frontmatter.parse(text).meta.get("project"):
            labels["projects"] = str(project)
        leaves.append(Leaf(path.stem, text, labels))
    return leaves


def _parts(turns: Sequence[str]) -> Iterator[Sequence[str]]:
    for at in range(0, len(turns), TURNS_A_LEAF):
        yield turns[at : at + TURNS_A_LEAF]


async def embedded(leaves: Sequence[Leaf], place: Path) -> np.ndarray:
    shutil.rmtree(place / "vault", ignore_errors=True)
    paths = [NotePath(f"leaves/{at:04}-{leaf.name}.md") for at, leaf in enumerate(leaves)]
    (place / "vault" / "leaves").mkdir(parents=True)
    for path, leaf in zip(paths, leaves, strict=True):
        (place / "vault" / path).write_text(leaf.text, encoding="utf-8")
    config = EngineConfig(place / "vault", place / "state", models())
    async with open_engine(config, watch=False) as engine:
        await engine.settled()
    index = INDEXES.get("sqlite")(config.state / "index")
    try:
        return index.mean_vectors(paths)
    finally:
        index.close()
        shutil.rmtree(place)


def agreement(leaves: Sequence[Leaf], vectors: np.ndarray, grown: Grown) -> dict[str, tuple[float, float, float]]:
    """By division the V-measure of the topics, of k-means and of runs by name."""
    from sklearn.cluster import KMeans

    found: dict[str, tuple[float, float, float]] = {}
    for division in sorted({division for leaf in leaves for division in leaf.labels}):
        rows = [at for at, leaf in enumerate(leaves) if division in leaf.labels and grown.topics[at]]
        ours = [str(grown.topics[at]) for at in rows]
        count = len(set(ours))
        if count < 2:
            continue
        labels = [leaves[at].labels[division] for at in rows]
        means = KMeans(count, n_init=4, random_state=0).fit_predict(vectors[rows])
        runs = [at * count // len(rows) for at in range(len(rows))]
        found[division] = v_measure(labels, ours), v_measure(labels, means.tolist()), v_measure(labels, runs)
    return found


def v_measure(labels: Sequence[object], groups: Sequence[object]) -> float:
    """The harmonic mean of homogeneity (1: no group has two labels) and completeness (1: no label has two groups)."""
    both = list(zip(labels, groups, strict=True))
    of_labels, of_groups = _entropy(labels), _entropy(groups)
    shared = of_labels + of_groups - _entropy(both)
    homogeneity = shared / of_labels if of_labels else 1.0
    completeness = shared / of_groups if of_groups else 1.0
    return 2 * homogeneity * completeness / (homogeneity + completeness) if homogeneity + completeness > 0 else 0.0


def _entropy(values: Sequence[object]) -> float:
    return -sum(count / len(values) * log(count / len(values)) for count in Counter(values).values())


# -- time and memory ---------------------------------------------------------------------------------------------


def synthetic(count: int) -> np.ndarray:
    """Leaves of topics of fields: cosines are about 0.6 within a topic and 0.3 within a field."""
    rng = np.random.default_rng(count)
    topics = 1 + count // NOTES_A_TOPIC
    fields = rng.standard_normal((1 + topics // TOPICS_A_FIELD, DIMENSION), dtype=np.float32)
    middles = fields[rng.integers(len(fields), size=topics)]
    middles += rng.standard_normal(middles.shape, dtype=np.float32)
    leaves = middles[rng.integers(topics, size=count)]
    leaves += 1.15 * rng.standard_normal(leaves.shape, dtype=np.float32)
    leaves /= np.linalg.norm(leaves, axis=1, keepdims=True)
    return leaves


def planned(count: int) -> tuple[float, float, float, int]:
    """Seconds of the first plan and of all, megabytes besides the vectors at most, rounds."""
    vectors = synthetic(count)
    plan(["_fresh/1-x.md"], vectors[:1], NEVER_FRESH)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak so far is forgotten
    before = _status_mb("VmRSS")
    notes = [f"_fresh/{at:06}-leaf.md" for at in range(count)]
    taken: list[float] = []
    while True:
        start = time.perf_counter()
        jobs = plan(notes, vectors, NEVER_FRESH)
        taken.append(time.perf_counter() - start)
        if not jobs:
            return taken[0], sum(taken), _status_mb("VmHWM") - before, len(taken) - 1
        notes = carried_out(notes, jobs)


def _status_mb(key: str) -> float:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith(f"{key}:"))


if __name__ == "__main__":
    switch_off()
    print(*planned(int(sys.argv[1])))
