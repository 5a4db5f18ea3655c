"""Everybody else who writes into the vault: editors of two habits, and git."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from tests.soak.book import Book

GIT = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
NOBODY = ["-c", "user.name=soak", "-c", "user.email=soak@localhost", "-c", "commit.gpgsign=false", "-c", "gc.auto=0"]


def write_notes(vault: Path, notes: int, vocabulary: Sequence[str], chance: random.Random) -> list[Path]:
    """A person's notes: a heading and two paragraphs of some 40 words each, 200 files a folder."""
    files: list[Path] = []
    for number in range(notes):
        file = vault / "people" / f"folder {number // 200}" / f"note {number}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(note(f"Note {number}", vocabulary, chance))
        files.append(file)
    return files


def note(title: str, vocabulary: Sequence[str], chance: random.Random) -> str:
    paragraphs = (" ".join(chance.choices(vocabulary, k=40)) for _ in range(2))
    return f"# {title}\n\n" + "\n\n".join(paragraphs) + "\n"


class Editor:
    """Saves notes that are its own, by rename or in place, and now and then adds an entry to the newest daily log."""

    def __init__(
        self,
        vault: Path,
        files: Sequence[Path],
        book: Book,
        *,
        by_rename: bool,
        pause_s: float,
        vocabulary: Sequence[str],
        chance: random.Random,
    ) -> None:
        self._vault = vault
        self._files = files
        self._book = book
        self._by_rename = by_rename
        self._pause_s = pause_s
        self._vocabulary = vocabulary
        self._chance = chance
        self.saves = 0

    async def run(self) -> None:
        while True:
            await asyncio.sleep(self._chance.uniform(0.5, 1.5) * self._pause_s)
            try:
                self._save(self._chance.choice(self._files))
                if self.saves % 10 == 0:
                    self._add_a_line()
            except OSError:
                continue  # a full disk refuses editors too; what was saved before stays noted

    def _save(self, file: Path) -> None:
        path = file.relative_to(self._vault).as_posix()
        data = note(f"{file.stem} saved {self.saves}", self._vocabulary, self._chance).encode()
        self._book.saves.pop(path, None)  # what the disk refuses half-way is no save
        if self._by_rename:
            draft = file.with_name(f".{file.name}.swp")
            draft.write_bytes(data)
            draft.replace(file)
        else:
            file.write_bytes(data)
        self._book.saves[path] = data
        self.saves += 1

    def _add_a_line(self) -> None:
        """As `echo >> file` does: one write at the end, through a descriptor of its own. A heading, since a plain line
        would belong to the entry before it, which would have another hash then."""
        logs = sorted(self._vault.glob("**/memory/????-??-??*.md"), key=lambda file: file.stat().st_mtime)
        if not logs:
            return
        habit = "renaming" if self._by_rename else "in place"
        line = f"## {time.strftime('%H:%M')} by hand, {habit}, {self.saves} {time.time_ns()}"
        data = f"\n{line}\n".encode()
        descriptor = os.open(logs[-1], os.O_WRONLY | os.O_APPEND)
        try:
            if os.write(descriptor, data) == len(data):
                self._book.lines.append(line)
        finally:
            os.close(descriptor)


class Checkouts:
    """A repository inside the vault that flips between two branches, of which half the files differ."""

    def __init__(self, vault: Path, files: int, vocabulary: Sequence[str], chance: random.Random) -> None:
        self._folder = vault / "repository"
        self._files = files
        self._vocabulary = vocabulary
        self._chance = chance
        self.flips = 0

    def make(self) -> None:
        self._folder.mkdir(parents=True)
        self._git("init", "-q", "-b", "one")
        for branch in ("one", "two"):
            if branch == "two":
                self._git("checkout", "-q", "-b", "two")
            for number in range(self._files):
                # A third is the same on both, a third differs, a third is on one of them only.
                name = f"{branch} {number}.md" if number % 3 == 0 else f"page {number}.md"
                if number % 3 != 1 or branch == "one":
                    file = self._folder / f"part {number % 7}" / name
                    file.parent.mkdir(exist_ok=True)
                    file.write_text(note(f"Page {number} of {branch}", self._vocabulary, self._chance))
            if branch == "two":
                for file in self._folder.rglob("one *.md"):
                    file.unlink()
            self._git("add", "-A")
            self._git("commit", "-q", "-m", branch)

    async def run(self, pause_s: float) -> None:
        while True:
            await asyncio.sleep(self._chance.uniform(0.5, 1.5) * pause_s)
            await asyncio.to_thread(self.flip)

    def flip(self) -> None:
        """By force: a full disk may have left the last one half done."""
        done = self._git("checkout", "-q", "-f", ("two", "one")[self.flips % 2], check=False)
        if done == 0:
            self.flips += 1

    def _git(self, *arguments: str, check: bool = True) -> int:
        command = ["git", *NOBODY, *arguments]
        return subprocess.run(
            command, cwd=self._folder, env={**os.environ, **GIT}, check=check, stderr=subprocess.DEVNULL
        ).returncode
