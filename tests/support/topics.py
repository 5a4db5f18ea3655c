"""Notes that make two topics, and how they are looked at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from mcp_memory.text.markdown.links import find_links, resolve
from mcp_memory.topics.config import TopicsConfig
from mcp_memory.topics.page import PAGE, is_page, next_number, upwards
from mcp_memory.topics.plan import PlanJob
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import World, embedded

ALL_AT_ONCE = TopicsConfig(leaf_cosine=0.2, by_subject=False, min_leaves=3)
NESTED = TopicsConfig(leaf_cosine=0.3, by_subject=False, topic_cosine=0.2, min_leaves=3, max_leaves=3)
ABOUT = "---\nstatus: archived\n---\n# What this folder is\n\nThe memory of your agents; every note is a plain file.\n"
"""A note without a topic: words that all notes of a vault share make no name of a topic."""

TEA = [f"Green tea from Uji needs water of {60 + n} degrees and a warm pot." for n in range(4)]
RAIL = [f"The night train to Vienna leaves from platform {n} with a sleeping car." for n in range(4)]


async def told(engine: KeywordEngine, texts: list[str]) -> list[str]:
    """Their ids."""
    ids = [(await engine.append(text)).id for text in texts]
    await embedded(engine)
    return ids


def carried_out(notes: Sequence[str], jobs: Sequence[PlanJob]) -> list[str]:
    """Where planned notes are then. New topics get the numbers that follow."""
    folders = {folder for note in notes for folder in upwards(note.rpartition("/")[0])}
    names: dict[str, list[str]] = {job.parent: [] for job in jobs}
    for folder in folders:
        parent, _, name = folder.rpartition("/")
        names.setdefault(parent, []).append(name)
    moved: dict[str, str] = {}
    for job in jobs:
        target = job.into
        if target is None:
            names[job.parent].append(f"{next_number(names[job.parent]):02}-topic")
            target = f"{job.parent}/{names[job.parent][-1]}".removeprefix("/")
        moved |= {place: f"{target}/{place.rpartition('/')[2]}" for place in (*job.leaves, *job.topics)}

    def place_after(note: str) -> str:
        start = next((start for start in (note, *upwards(note.rpartition("/")[0])) if start in moved), "")
        return moved[start] + note[len(start) :] if start else note

    return list(map(place_after, notes))


def leaves(files: Mapping[str, bytes]) -> dict[str, bytes]:
    return {path: data for path, data in files.items() if path.startswith("topics/") and not is_page(path)}


def topic_of(world: World, word: str) -> str:
    """The folder of the topic that has notes with this word in their names."""
    (folder,) = {each.parent for each in world.root.glob(f"topics/[0-9]*/*{word}*.md")}
    return folder.relative_to(world.root).as_posix()


def dangling(world: World) -> Iterator[tuple[str, str]]:
    """Links in the files of the vault that lead to nothing there."""
    files = world.files()
    for path, data in files.items():
        for link in find_links(data.decode()):
            place = resolve(link.target, path)
            if link.kind == "wiki" and "/" in link.target:
                place = link.target.removesuffix(".md") + ".md"
            if place is not None and place not in files and link.kind in {"markdown", "wiki"}:
                yield path, link.target


class ShownTopic:
    """A topic as `tree` shows it."""

    def __init__(self, shown: Mapping[str, Any]) -> None:
        self.folder: str = shown["path"]
        self.name = self.folder.rpartition("/")[2]
        self.page_path = f"{self.folder}/{PAGE}"
        self.page, self.id, self.title = shown["page"], shown["id"], shown["title"]
        self.notes, self.stale, self.edited, self.ours = (shown[key] for key in ("notes", "stale", "edited", "ours"))
        self.topics = list(map(ShownTopic, shown["topics"]))
        self.leaves = [SimpleNamespace(**note) for note in shown["leaves"]]

    def walk(self) -> Iterator[ShownTopic]:
        """The topics below, and this one."""
        for topic in self.topics:
            yield from topic.walk()
        yield self

    def linked(self) -> Iterator[str]:
        """Where its page has to lead to: the nearest pages below, and the notes above them."""
        yield from (note.path for note in self.leaves)
        for topic in self.topics:
            yield from [topic.page] if topic.page else topic.linked()


async def tree_of(engine: KeywordEngine) -> list[ShownTopic]:
    return list(map(ShownTopic, (await engine.perform("tree", {}))["topics"]))


SOON = replace(ALL_AT_ONCE, quiet_s=0.1, longest_wait_s=0.3)
SETTINGS = {
    "MCP_MEMORY_TOPICS_FRESH_TAIL_COUNT": "0",
    "MCP_MEMORY_TOPICS_AUTOMATIC": "false",
}
BREAD = [
    "Sourdough bread bakes 45 minutes at 230 degrees.",
    "Feed the sourdough starter the evening before baking bread.",
    "The dough of sourdough bread rises four hours before baking.",
]
