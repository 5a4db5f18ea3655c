"""Every disk that a power cut could leave, replayed from the system calls of one run.

The model is meaner than any real file system, within what POSIX lets it do. What a file holds is durable after an
fsync of the file; a name (made, linked, renamed, removed) after an fsync of its folder. Until then any subset may
have reached the disk, in any order, and data may have arrived by half or as zeros. A rename or exchange is one step,
never half of one; between two folders it is durable once both are synced.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path

CALLS = (
    "openat,open,creat,write,pwrite64,writev,pwritev,ftruncate,truncate,fsync,fdatasync,sync,syncfs,rename,renameat,"
    "renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat,rmdir,lseek,copy_file_range,sendfile,fallocate,mmap"
)
_LINE = re.compile(r"(?P<pid>\d+) +(?P<call>\w+)\((?P<arguments>.*)\) += (?P<result>-?\d+)")
_ARGUMENT = re.compile(r'"(?P<text>(?:\\x[0-9a-f]{2})*)"|(?P<word>[^,\s<]+)(?:<(?P<where>(?:\\x[0-9a-f]{2})*)>)?')

Tree = dict[str, bytes]


@dataclass(frozen=True)
class Data:
    """Bytes at an offset of a file; without bytes, a new length."""

    inode: int
    offset: int
    data: bytes | None = None


@dataclass(frozen=True)
class Names:
    """Folder entries that change in one step: (folder, name) → inode, or None for removed."""

    entries: tuple[tuple[int, str, int | None], ...]

    @property
    def folders(self) -> set[int]:
        return {folder for folder, _, _ in self.entries}


@dataclass(frozen=True)
class Sync:
    """fsync of one inode; None = of everything."""

    inode: int | None


@dataclass
class Recording:
    """The run's effects below the root in order. `promises`: (number of events before it, what was printed)."""

    before: int
    """So many leading events describe what was there already, durable."""
    events: list[Data | Names | Sync] = field(default_factory=list)
    promises: list[tuple[int, str]] = field(default_factory=list)
    folders: set[int] = field(default_factory=lambda: {0})


def record(root: Path, command: list[str], cwd: Path) -> Recording:
    """Runs the command, which prints a line for each promise it gives, and returns what it did below the root."""
    trace = root.parent / "trace"
    world = _World(root.resolve())
    options = ["-f", "-qq", "-y", "-xx", "-s", "10000000", "-o", str(trace), "-e", f"trace={CALLS}"]
    subprocess.run(["strace", *options, *command], cwd=cwd, check=True, stdout=subprocess.DEVNULL)
    for line in trace.read_text().splitlines():
        found = _LINE.match(line)
        if found and int(found["result"]) >= 0:
            world.take(found["call"], found["arguments"], int(found["result"]))
        assert "unfinished" not in line, "one thread only: the order of overlapping calls is not known"
    return world.recording


def disks(recording: Recording, seed: int, limit: int) -> Iterator[tuple[int, Tree]]:
    """All crash states: how many events were done, and the files on disk. `limit`: subsets of lost events a moment."""
    chance = random.Random(seed)
    for done in range(recording.before, len(recording.events) + 1):
        events = recording.events[:done]
        durable = _durable(events)
        pending = [at for at, event in enumerate(events) if at not in durable and not isinstance(event, Sync)]
        for kept, changed in _survivors(events, pending, chance, limit):
            survived = [changed.get(at, event) for at, event in enumerate(events) if at in durable or at in kept]
            yield done, _mount(survived, recording.folders)


def _survivors(
    events: list, pending: list[int], chance: random.Random, limit: int
) -> Iterator[tuple[set[int], dict[int, Data]]]:
    """Which pending events reached the disk: every subset if there are no more than `limit`, else the corner cases and
    `limit` random ones; and what became of each pending write."""
    if 2 ** len(pending) <= limit:
        subsets = [set(kept) for size in range(len(pending) + 1) for kept in combinations(pending, size)]
    else:
        subsets = [set(), set(pending), *({one} for one in pending), *(set(pending) - {one} for one in pending)]
        subsets += [{one for one in pending if chance.random() < 0.5} for _ in range(limit)]
    yield from ((kept, {}) for kept in subsets)
    for one in pending:
        event = events[one]
        if isinstance(event, Data) and event.data:
            half = replace(event, data=event.data[: len(event.data) // 2])
            zeros = replace(event, data=bytes(len(event.data)))
            yield from ((set(pending), {one: half}), (set(pending), {one: zeros}))


def _durable(events: list) -> set[int]:
    durable: set[int] = set()
    waiting: dict[int, set[int | None]] = {}
    for at, event in enumerate(events):
        if isinstance(event, Data):
            waiting[at] = {event.inode}
        elif isinstance(event, Names):
            waiting[at] = set(event.folders)
        else:
            for other, needs in list(waiting.items()):
                needs.difference_update(set(needs) if event.inode is None else {event.inode})
                if not needs:
                    durable.add(other)
                    del waiting[other]
    return durable


def _mount(events: list, folders: set[int]) -> Tree:
    """The files of the tree that these events make."""
    data: dict[int, bytearray] = {}
    entries: dict[int, dict[str, int]] = {}
    for event in events:
        if isinstance(event, Data):
            content = data.setdefault(event.inode, bytearray())
            content.extend(bytes(max(0, event.offset - len(content))))
            if event.data is None:
                del content[event.offset :]
            else:
                content[event.offset : event.offset + len(event.data)] = event.data
        else:
            for folder, name, inode in event.entries:
                if inode is None:
                    entries.setdefault(folder, {}).pop(name, None)
                else:
                    entries.setdefault(folder, {})[name] = inode

    def walk(folder: int, prefix: str) -> Iterator[tuple[str, bytes]]:
        for name, inode in entries.get(folder, {}).items():
            if inode in folders:
                yield from walk(inode, f"{prefix}{name}/")
            else:
                yield prefix + name, bytes(data.get(inode, b""))

    return dict(walk(0, ""))


class _World:
    """What the running program sees; inode 0 is the root."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._names: dict[str, int] = {self._root: 0}
        self._sizes: dict[int, int] = {}
        self._positions: dict[str, int] = {}
        self._next = 1
        self.recording = Recording(0)
        for path in sorted(root.rglob("*")):
            inode = self._make(str(path), is_folder=path.is_dir())
            if path.is_file():
                self._write(inode, 0, path.read_bytes())
        self.recording.events.append(Sync(None))
        self.recording.before = len(self.recording.events)

    def take(self, call: str, text: str, result: int) -> None:
        words = [_Word.parse(found) for found in _ARGUMENT.finditer(text)]
        if call == "write" and words[0].text == "1":
            for line in words[1].text.splitlines():
                self.recording.promises.append((len(self.recording.events), line))
        handler = getattr(self, f"_on_{call}", None)
        if handler is not None:
            handler(words, result)
            return
        touched = [where for word in words if (where := word.where) and self._inside(where)]
        assert not touched, f"{call} is not modelled"

    def _on_openat(self, words: list[_Word], result: int) -> None:
        path = self._path(words[0], words[1])
        flags = words[2].text
        self._positions[str(result)] = 0
        if not self._inside(path):
            return
        if path not in self._names:
            if "O_CREAT" in flags:
                self._make(path, is_folder=False)
        elif "O_TRUNC" in flags:
            self.recording.events.append(Data(self._names[path], 0))
            self._sizes[self._names[path]] = 0
        assert "O_APPEND" not in flags, "O_APPEND is not modelled"

    def _on_write(self, words: list[_Word], result: int) -> None:
        inode = self._names.get(words[0].where or "")
        if inode is not None:
            at = self._positions[words[0].text]
            self._write(inode, at, words[1].raw[:result])
            self._positions[words[0].text] = at + result

    def _on_fsync(self, words: list[_Word], result: int) -> None:
        inode = self._names.get(words[0].where or "")
        if inode is not None:
            self.recording.events.append(Sync(inode))

    _on_fdatasync = _on_fsync

    def _on_lseek(self, words: list[_Word], result: int) -> None:
        self._positions[words[0].text] = result

    def _on_mmap(self, words: list[_Word], result: int) -> None:
        pass

    def _on_mkdirat(self, words: list[_Word], result: int) -> None:
        self._made_folder(self._path(words[0], words[1]))

    def _on_mkdir(self, words: list[_Word], result: int) -> None:
        self._made_folder(words[0].text)

    def _made_folder(self, path: str) -> None:
        if self._inside(path):
            self._make(path, is_folder=True)

    def _on_unlinkat(self, words: list[_Word], result: int) -> None:
        path = self._path(words[0], words[1])
        if self._inside(path):
            del self._names[path]
            self._change((path, None))

    def _on_unlink(self, words: list[_Word], result: int) -> None:
        if self._inside(words[0].text):
            del self._names[words[0].text]
            self._change((words[0].text, None))

    def _on_link(self, words: list[_Word], result: int) -> None:
        if self._inside(words[1].text):
            self._names[words[1].text] = self._names[words[0].text]
            self._change((words[1].text, self._names[words[1].text]))

    def _on_linkat(self, words: list[_Word], result: int) -> None:
        source, target = self._path(words[0], words[1]), self._path(words[2], words[3])
        if self._inside(target):
            self._names[target] = self._names[source]
            self._change((target, self._names[target]))

    def _on_renameat2(self, words: list[_Word], result: int) -> None:
        flags = words[4].text if len(words) > 4 else "0"
        self._renamed(self._path(words[0], words[1]), self._path(words[2], words[3]), exchange="EXCHANGE" in flags)

    _on_renameat = _on_renameat2

    def _on_rename(self, words: list[_Word], result: int) -> None:
        self._renamed(words[0].text, words[1].text, exchange=False)

    def _renamed(self, source: str, target: str, *, exchange: bool) -> None:
        if not self._inside(target):
            return
        moved, there = self._names[source], self._names.get(target)
        assert moved not in self.recording.folders, "renaming folders is not modelled"
        self._names[target] = moved
        if exchange:
            assert there is not None
            self._names[source] = there
        else:
            del self._names[source]
        self._change((source, self._names.get(source)), (target, moved))

    def _make(self, path: str, *, is_folder: bool) -> int:
        inode = self._names[path] = self._next
        self._next += 1
        if is_folder:
            self.recording.folders.add(inode)
        self._change((path, inode))
        return inode

    def _change(self, *changes: tuple[str, int | None]) -> None:
        entries = tuple((self._names[str(Path(path).parent)], Path(path).name, inode) for path, inode in changes)
        self.recording.events.append(Names(entries))

    def _write(self, inode: int, offset: int, data: bytes) -> None:
        self.recording.events.append(Data(inode, offset, data))

    def _inside(self, path: str) -> bool:
        return path.startswith(self._root + "/")

    def _path(self, folder: _Word, name: _Word) -> str:
        return os.path.normpath(Path(folder.where or "") / name.text)


@dataclass(frozen=True)
class _Word:
    """One argument: its text, and for a descriptor the path that it is open on at this moment."""

    raw: bytes
    where: str | None = None

    @property
    def text(self) -> str:
        return os.fsdecode(self.raw)

    @classmethod
    def parse(cls, found: re.Match[str]) -> _Word:
        if found["text"] is not None:
            return cls(_unescape(found["text"]))
        where = os.fsdecode(_unescape(found["where"])) if found["where"] else None
        return cls(found["word"].encode(), where)


def _unescape(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", ""))
