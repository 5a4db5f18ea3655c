"""The judge of a topic tree: each note there once, with its bytes, and led to; each function returns a line a fault."""

from __future__ import annotations

import hashlib
import re
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_memory.models import NoteState
from mcp_memory.runs.journal import RunJournal
from mcp_memory.storage.filesystem import FilesystemBackend
from mcp_memory.text.markdown.frontmatter import parse
from mcp_memory.text.markdown.links import find_links, resolve
from mcp_memory.topics.page import CHILDREN, MAP, TOPICS, is_page
from tests.support.keyword_engine import KeywordEngine
from tests.support.topics import tree_of
from tests.support.world import World, records

MAP_PATH = f"{TOPICS}/{MAP}"
RENAMED = "-called-"
"""In the name that a person gave a folder, which stays, though it may have been empty by then."""
WORD = re.compile(rb"told as (w\w+x)\.")


@dataclass
class Note:
    """`etag` is None where the append was never answered; `forgotten` is None where a forget was not answered."""

    id: str
    etag: str | None
    forgotten: bool | None = False


@dataclass
class Book:
    """What was answered. Thread-safe."""

    notes: dict[str, Note] = field(default_factory=dict[str, Note])
    refusals: list[str] = field(default_factory=list[str])
    moved: bool = False
    """Whether somebody moved or renamed anything."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def told(self, said: Mapping[str, Any]) -> None:
        with self.lock:
            if "appended" in said:
                self.notes[said["appended"]] = Note(said["id"], said["etag"])
            elif "asked" in said:
                self.notes[said["asked"]].forgotten = None
            elif "forgot" in said:
                self.notes[said["forgot"]].forgotten = True
            else:
                self.refusals.append(said["fault"])

    def edited(self, word: str, data: bytes) -> None:
        self.notes[word].etag = hashlib.sha256(data).hexdigest()

    def is_editable(self, word: str) -> bool:
        """People write to some notes, agents forget others: who does both at once may lose what he writes."""
        return word in self.notes and self.notes[word].forgotten is False and not _is_forgettable(word)

    def forgettable(self) -> list[tuple[str, str]]:
        with self.lock:
            return [(word, note.id) for word, note in self.notes.items()
                    if note.forgotten is False and _is_forgettable(word)]  # fmt: skip

    def take_refusals(self) -> list[str]:
        said, self.refusals = self.refusals, []
        return said


def on_disk(world: World, book: Book) -> list[str]:
    """Of the files alone."""
    found: dict[str, list[str]] = {}
    faults: list[str] = []
    for path, data in world.files().items():
        if is_page(path) or not (word := WORD.search(data)):
            continue
        found.setdefault(word[1].decode(), []).append(path)
        faults += _note_faults(word[1].decode(), path, data, book)
    faults += [f"{word} is there {len(paths)} times: {', '.join(paths)}" for word, paths in found.items()
               if len(paths) > 1]  # fmt: skip
    return faults + [f"{word} is gone" for word in book.notes if word not in found]


def _note_faults(word: str, path: str, data: bytes, book: Book) -> Iterator[str]:
    note = book.notes.get(word)
    if note is None:  # its append was not answered; it is there from now on
        book.notes[word] = Note(str(parse(data.decode()).meta["id"]), hashlib.sha256(data).hexdigest())
        return
    is_deleted = parse(data.decode()).meta.get("status") == "deleted"
    if note.forgotten is None:
        note.forgotten = is_deleted
    if is_deleted != note.forgotten:
        yield f"{path}: {word} is {'' if is_deleted else 'not '}forgotten"
    elif not is_deleted and hashlib.sha256(data).hexdigest() != note.etag:
        yield f"{path}: {word} has other bytes"


async def tree(engine: KeywordEngine, world: World, *, with_people: bool) -> list[str]:
    """Once all is filed. `with_people`: what a killed write has put aside may be a person's save of that moment."""
    fresh = (await engine.perform("tree", {}))["fresh"]
    everything = [topic for top in await tree_of(engine) for topic in top.walk()]
    active = {record.path for record in records(engine) if record.state is NoteState.ACTIVE}
    led = Counter([*(note["path"] for note in fresh), *(note.path for topic in everything for note in topic.leaves)])
    faults = [f"{path} is in the tree {led[path]} times" for path in active
              if path.startswith("topics/") and led[path] != 1]  # fmt: skip
    faults += [f"{path} is in the tree and not there" for path in led if not (world.root / path).is_file()]
    atlas = (world.root / MAP_PATH).read_text() if (world.root / MAP_PATH).is_file() else ""
    places = {resolve(link.target, MAP_PATH) for link in find_links(atlas)}
    faults += [f"{MAP_PATH} leads nowhere: {to}" for to in places if not to or not (world.root / to).is_file()]
    faults += [f"{MAP_PATH} does not lead to {each.folder}" for each in everything
               if each.ours and each.page and each.page_path not in places]  # fmt: skip
    for topic in everything:
        if not topic.ours:
            continue
        if topic.stale:
            faults.append(f"{topic.folder} is stale")
            continue
        page = world.read(topic.page_path).decode()
        below = page[page.rindex(CHILDREN) :]
        linked = Counter(resolve(link.target, topic.page_path) for link in find_links(below))
        if missing := Counter(topic.linked()) - linked:
            faults.append(f"{topic.page_path} does not lead to {', '.join(missing)}\n{page}")
        faults += [
            f"{topic.page_path} leads nowhere: {to}" for to in linked if not to or not (world.root / to).is_file()
        ]
    found = [each for each in await engine.doctor() if each.severity != "info"]
    known = ["may be somebody's save"] if with_people else []
    faults += [f"doctor: {each.what}" for each in found if not any(words in each.what for words in known)]
    faults += left_behind(world)
    empty = [folder for folder in world.root.glob("topics/**/") if not any(folder.iterdir())]
    return faults + [
        f"an empty folder: {folder.relative_to(world.root)}"
        for folder in empty
        if folder.name != "_fresh" and RENAMED not in folder.name
    ]


def left_behind(world: World) -> list[str]:
    """Once the kill is some seconds ago, as the next start sees it: hidden files that nobody is told of."""
    kept = FilesystemBackend(world.root, locks=world.state / "locks").sweep_leftovers(min_age_s=0).kept
    hidden = {file.relative_to(world.root).as_posix() for file in world.root.rglob(".*")}
    told = {each.path for each in kept} | {".mcp-memory", ".memoryignore"}
    return [f"left behind: {path}" for path in hidden - told]


def all_fresh(world: World, book: Book) -> list[str]:
    """Where all runs were taken back, and nobody but agents was there. What was forgotten since stays where it is, and
    so do pages that told of it."""
    faults: list[str] = []
    for path, data in world.files().items():
        if path.startswith("topics/") and not path.startswith("topics/_fresh/"):
            word = WORD.search(data) if not is_page(path) else None
            notes = [book.notes[word[1].decode()]] if word else book.notes.values()
            faults += [] if any(note.forgotten for note in notes) else [f"{path} is still there"]
    return faults


def unfinished(journal: Path) -> int:
    return len(RunJournal(journal).unfinished_jobs())


def standing_runs(journal: Path) -> list[str]:
    """Oldest first, those with something that can be taken back."""
    runs = RunJournal(journal)
    return [run for run in runs.list_runs() if any(entry.outcome == "done" for entry in runs.read_run(run))]


def sizes(journal: Path) -> dict[str, int]:
    return {file.name: file.stat().st_size for file in journal.glob("*")}


def _is_forgettable(word: str) -> bool:
    return hashlib.sha256(word.encode()).digest()[0] % 2 == 0
