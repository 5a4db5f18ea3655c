"""People beside a compaction: they write into notes, rename them, move them, and rename topics."""

from __future__ import annotations

import os
import random
import threading
from contextlib import suppress
from pathlib import Path

from tests.promises.tree_judge import RENAMED, WORD, Book

PAUSE_S = 0.01


class People:
    """A thread. What they do is one call of the kernel each, so that it happens or not."""

    def __init__(self, vault: Path, book: Book, chance: random.Random) -> None:
        self._vault = vault
        self._book = book
        self._chance = chance
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work)
        self._number = chance.randrange(1_000_000)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._stop.wait(PAUSE_S):
            act = self._chance.choice([self._edit, self._edit, self._rename, self._move, self._move_out, self._retitle])
            with suppress(FileNotFoundError):  # it has just moved
                act()

    def _edit(self) -> None:
        """Into the very file, wherever it is by now."""
        with self._some_note().open("r+b", buffering=0) as file:
            data = file.read()
            word = WORD.search(data)
            with self._book.lock:
                if word and self._book.is_editable(word[1].decode()):
                    line = f"And a word more, {self._next()}.\n".encode()
                    os.write(file.fileno(), line)
                    self._book.edited(word[1].decode(), data + line)

    def _rename(self) -> None:
        note = self._some_note()
        self._to(note, note.with_name(f"{self._next()}-{note.name[-20:].lstrip('-')}"))

    def _move(self) -> None:
        note, topic = self._some_note(), self._some_topic()
        self._to(note, topic / f"{self._next()}-moved.md")

    def _move_out(self) -> None:
        (self._vault / "mine").mkdir(exist_ok=True)
        self._to(self._some_note(), self._vault / "mine" / f"{self._next()}.md")

    def _retitle(self) -> None:
        topic = self._some_topic()
        self._to(topic, topic.with_name(f"{self._chance.randrange(100, 999)}{RENAMED}{self._next()}"))

    def _to(self, old: Path, new: Path) -> None:
        old.rename(new)
        self._book.moved = True

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _some_note(self) -> Path:
        return self._one_of([*self._vault.glob("topics/_fresh/*.md"), *self._vault.glob("topics/[0-9]*/**/[!_]*.md")])

    def _some_topic(self) -> Path:
        return self._one_of([each for each in self._vault.glob("topics/**/[0-9]*-*/") if each.name[0].isdigit()])

    def _one_of(self, some: list[Path]) -> Path:
        if not some:
            raise FileNotFoundError
        return self._chance.choice(some)
