"""A vault in which everything happens at once: people and programs change files, agents use the engine."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from anyio.from_thread import start_blocking_portal
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from mcp_memory.errors import AlreadyExists, InvalidInput, NotFound, PathRefused, Refused
from mcp_memory.models import NoteState, Receipt
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import World, embedded, index_of, made, paths

WORDS = ["violet", "crimson", "teapot", "kettle", "bicycle", "rain", "osaka", "train", "名前", "café"]
QUERIES = ["violet teapot", "kettle", "where is the bicycle in the rain", "名前", "train osaka 2026-11-20"]
PLACES = [
    "a.md", "b.md", "x/c.md", "x/d.md", "x/y/e.md", "z/f.md", "notes/fact/g.md", "_archive/h.md", "_inbox/i.md",
    "_always-load/j.md", "MEMORY.md", "memory/2026-11-20.md", "memory/2026-11-21.md", "Ünïcode/k.md", "odd name#1.md",
]  # fmt: skip
FOLDERS = ["x", "x/y", "z", "notes/fact", "w"]
HEADS = [
    "", "---\ntitle: A title\ntags: [tea]\n---\n", "---\nid: fixed\nstatus: archived\n---\n", "---\nid: [\n---\n",
    "---\nkind: fix\nproject: p\n---\n", "\ufeff---\r\nstatus: deleted\r\n---\r\n",
]  # fmt: skip

places = st.sampled_from(PLACES)
numbers = st.integers(0, 9999)
phrases = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
blocks = st.one_of(
    phrases,
    phrases.map(lambda words: f"# {words}"),
    phrases.map(lambda words: f"## 10:30 {words}"),
    phrases.map(lambda words: f"- {words}\n- {words} too"),
    phrases.map(lambda words: f"```\n{words}\n```"),
    phrases.map(lambda words: f"{words} " * 200),
    st.sampled_from(["```\nopen", "---", "- because: [[a]] [x](b.md)", "[[x/c]] [[A title]]"]),
)
bodies = st.lists(blocks, max_size=5).map("\n\n".join)
contents = st.builds(lambda head, body: (head + body).encode(), st.sampled_from(HEADS), bodies) | st.sampled_from(
    [b"", b"\xff\xfeu\0", b"caf\xe9 violet", b"no newline", b"\r\n\r\nviolet\r\n"]
)


class VaultMachine(RuleBasedStateMachine):
    """After whatever happened and one sweep, the index is what it would be if it were made now."""

    provider = "toy"
    models = Path("unused")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.world: World = replace(made(self.folder, self.provider), models=self.models).with_home("")
        self.receipts: list[Receipt] = []
        self.blocking = start_blocking_portal()
        self.portal = self.blocking.__enter__()
        self.opened: Any = None
        self.open()

    def open(self) -> None:
        self.opened = self.portal.wrap_async_context_manager(self.world.engine())
        self.engine: KeywordEngine = self.opened.__enter__()

    def close(self) -> None:
        self.opened.__exit__(None, None, None)

    def call(self, work: Callable[[], Awaitable[Any]]) -> Any:
        return self.portal.call(work)

    def teardown(self) -> None:
        try:
            self.compare()
        finally:
            self.close()
            self.blocking.__exit__(None, None, None)
            shutil.rmtree(self.folder)

    # -- people and their programs ---------------------------------------------------------------------------------

    @initialize(first=st.dictionaries(places, contents, max_size=6))
    def there_are_files(self, first: dict[str, bytes]) -> None:
        for path, content in first.items():
            self.world.write(path, content)

    @rule(path=places, content=contents)
    def save(self, path: str, content: bytes) -> None:
        self.world.write(path, content)

    @rule(path=places, content=contents)
    def save_by_rename(self, path: str, content: bytes) -> None:
        self.world.write(f"{path}.tmp", content).replace(self.world.root / path)

    @rule(number=numbers)
    def save_as_many_bytes_and_put_the_time_back(self, number: int) -> None:
        if file := self.some_file(number):
            stat = file.stat()
            file.write_bytes(bytes(reversed(file.read_bytes())))
            os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))

    @rule(number=numbers, more=phrases)
    def add_a_line(self, number: int, more: str) -> None:
        if file := self.some_file(number):
            with file.open("a") as out:
                out.write(f"\n{more}\n")

    @rule(number=numbers)
    def touch(self, number: int) -> None:
        if file := self.some_file(number):
            file.touch()

    @rule(number=numbers)
    def delete(self, number: int) -> None:
        if file := self.some_file(number):
            file.unlink()

    @rule(number=numbers, path=places)
    def rename(self, number: int, path: str) -> None:
        if file := self.some_file(number):
            target = self.world.root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            file.replace(target)

    @rule(number=numbers)
    def swap(self, number: int) -> None:
        one, other = self.some_file(number), self.some_file(number // 100)
        if one and other and one != other:
            one.rename(self.world.root / ".aside")
            other.rename(one)
            (self.world.root / ".aside").rename(other)

    @rule(number=numbers)
    def change_the_case(self, number: int) -> None:
        if file := self.some_file(number):
            file.rename(file.with_name(file.name.swapcase()))

    @rule(old=st.sampled_from(FOLDERS), new=st.sampled_from(FOLDERS))
    def move_a_folder(self, old: str, new: str) -> None:
        here, there = self.world.root / old, self.world.root / new
        if here.is_dir() and not there.exists() and not new.startswith(old):
            there.parent.mkdir(parents=True, exist_ok=True)
            here.rename(there)

    @rule(number=numbers)
    def put_a_link_in_its_place(self, number: int) -> None:
        if file := self.some_file(number):
            file.rename(self.folder / "outside.md")
            file.symlink_to(self.folder / "outside.md")

    @rule(lines=st.sampled_from(["", "x/\n", "*.md\n!a.md\n", "z/f.md\n"]))
    def ignore(self, lines: str) -> None:
        self.world.write(".memoryignore", lines)

    # -- agents ------------------------------------------------------------------------------------------------------

    @rule(content=phrases, kind=st.sampled_from(["note", "fact", "log", "task"]), project=st.sampled_from([None, "p"]))
    def append(self, content: str, kind: str, project: str | None) -> None:
        receipt = self.attempt(lambda: self.engine.append(content, kind=kind, project=project))
        if receipt:
            self.receipts.append(receipt)
            found = self.call(lambda: self.engine.search(content, limit=1000, mode="keyword", path=receipt.path))
            # Somebody may have retired or archived today's log as a whole.
            if self.world.vault().read(receipt.path).record.state is NoteState.ACTIVE:
                assert receipt.path in [hit.path for hit in found.hits]

    @precondition(lambda self: self.receipts)
    @rule(number=numbers, content=phrases)
    def supersede(self, number: int, content: str) -> None:
        old = self.some_receipt(number)
        receipt = self.attempt(lambda: self.engine.append(content, kind="fact", supersedes=old.id))
        if receipt:
            self.receipts.append(receipt)

    @precondition(lambda self: self.receipts)
    @rule(number=numbers)
    def forget(self, number: int) -> None:
        target = self.some_receipt(number).id
        self.attempt(lambda: self.engine.forget(target))

    @precondition(lambda self: self.receipts)
    @rule(number=numbers)
    def restore(self, number: int) -> None:
        target = self.some_receipt(number).id
        self.attempt(lambda: self.engine.forget(target, restore=True))

    @rule(path=places)
    def adopt(self, path: str) -> None:
        self.attempt(lambda: self.engine.adopt(path))

    # -- time --------------------------------------------------------------------------------------------------------

    @rule(hours=st.sampled_from([0.01, 1, 24]))
    def wait(self, hours: float) -> None:
        self.world.later(hours=hours)

    @rule()
    def sweep(self) -> None:
        self.call(self.engine.sweep)

    @rule(lose_the_index=st.booleans())
    def start_again(self, lose_the_index: bool) -> None:
        self.close()
        if lose_the_index:
            shutil.rmtree(self.world.state / "index")
        self.open()

    @rule()
    def compare(self) -> None:
        self.call(self.engine.sweep)
        self.call(lambda: embedded(self.engine))
        # What the state folder holds beside the index, entries that were added or forgotten, no rebuilding brings back.
        fresh = replace(self.world, state=self.folder / "fresh")
        shutil.copytree(self.world.state, fresh.state, ignore=shutil.ignore_patterns("index"))
        with self.portal.wrap_async_context_manager(fresh.engine()) as rebuilt:
            one, other = self.known(self.engine), self.known(rebuilt)
            assert one.keys() == other.keys()
            for path, known in one.items():
                assert known == other[path], path
            assert self.answers(self.engine) == self.answers(rebuilt)
            one, other = self.call(self.engine.problems), self.call(rebuilt.problems)
            assert one.keys() == other.keys(), (one, other)
        shutil.rmtree(fresh.state)

    # -- what always holds -------------------------------------------------------------------------------------------

    @invariant()
    def every_chunk_of_an_unchanged_file_is_a_slice_of_it(self) -> None:
        vault = self.world.vault()
        with index_of(self.engine) as index:
            for record in index.scan(index.active):
                file = self.world.root / record.path
                if file.is_symlink() or not file.is_file():
                    continue
                now = vault.read(record.path)
                for passage in index.passages(record.path) if now.record.etag == record.etag else ():
                    assert passage.chunk.text == now.text[passage.chunk.start : passage.chunk.end]

    # -- below -------------------------------------------------------------------------------------------------------

    def attempt(self, work: Callable[[], Awaitable[Any]]) -> Any:
        """What an agent asks for may be refused; then no byte has changed. Else only the notes named have."""
        before = self.world.files()
        try:
            answer = self.call(work)
        except (InvalidInput, Refused, NotFound, AlreadyExists, PathRefused):
            assert self.world.files() == before
            return None
        after = self.world.files()
        lost = [path for path in before if path not in after]
        assert not lost
        changed = {path for path in after if before.get(path) != after[path]}
        assert len(changed) <= 2
        return answer

    def some_file(self, number: int) -> Path | None:
        files = sorted(path for path in self.world.files() if path.lower().endswith(".md"))
        file = self.world.root / files[number % len(files)] if files else None
        return file if file and not file.is_symlink() else None

    def some_receipt(self, number: int) -> Receipt:
        return self.receipts[number % len(self.receipts)]

    def known(self, engine: KeywordEngine) -> dict[str, Any]:
        with index_of(engine) as index:
            return {
                record.path: (
                    replace(record, signature=""),
                    [passage.chunk for passage in index.passages(record.path)],
                    index.links_from(record.path),
                    index.links_to(record.path, 9),
                )
                for record in index.scan(index.active)
            }

    def answers(self, engine: KeywordEngine) -> list[Any]:
        found: list[Any] = []
        for query in QUERIES:
            for archived in (False, True):
                result = self.call(lambda q=query, a=archived: engine.search(q, limit=100, include_archived=a))
                found.append([(hit.id, hit.path, hit.start_line, round(hit.score, 3)) for hit in result.hits])
        gone = set(paths(engine, NoteState.DELETED))
        assert not [hit for hits in found for hit in hits if hit[1] in gone]
        return found
