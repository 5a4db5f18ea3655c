"""Compaction killed at any moment: the real program, again and again, while agents and people go on.

Usage: python -m tests.promises.kills compact --rounds 200 [--seed 1]; prints a line a fault, and a summary.

A round: notes come in, something compacts or takes runs back (an engine, the program, or the daemon), agents
append and forget, people edit, rename and move, SIGKILL at random, next start. Then the judge looks, all runs are taken
back one by one, the judge looks again, and the vault is filed anew. A vault lives for several rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from mcp_memory.constants import is_setting
from mcp_memory.errors import NotFound
from mcp_memory.topics.page import MAP, PAGE
from tests.daemon.place import Place, Process
from tests.promises import tree_judge
from tests.promises.filer import SUBJECTS, TOPICS
from tests.promises.people import People
from tests.promises.tree_judge import Book
from tests.soak.daemon import Daemon, on_a_port_of_its_own
from tests.support.constants import with_constants
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import NOON, REPOSITORY, World

ROUNDS_A_VAULT = 5
NOTES_A_ROUND = 12
WAYS = ("engine", "engine", "program", "daemon")
PERSONS_OWN = "is a note of yours"
"""A person renamed a topic before its page was there."""
SETTLED = 8
"""So many runs file all that there is to file."""


@dataclass
class Figures:
    rounds: Counter[str] = field(default_factory=Counter[str])
    """By way."""
    counts: Counter[str] = field(default_factory=Counter[str])
    faults: list[str] = field(default_factory=list[str])
    told: int = 0

    def summary(self) -> str:
        said = ", ".join(f"{count} {what}" for what, count in sorted(self.counts.items()))
        ways = ", ".join(f"{count} by {way}" for way, count in sorted(self.rounds.items()))
        return f"{self.rounds.total()} rounds ({ways}): {len(self.faults)} faults; {said}"

    def tell(self) -> None:
        """What is new, and how it stands."""
        for fault in self.faults[self.told :]:
            print(fault)
        self.told = len(self.faults)
        print(self.summary(), flush=True)


class Rounds:
    """Of one vault."""

    def __init__(self, place: Place, chance: random.Random, figures: Figures, name: str, *, with_people: bool) -> None:
        self._with_people = with_people
        self._place = place
        self._chance = chance
        self._figures = figures
        self._name = name
        self._book = Book()
        self._took_s = 0.3
        """How long an undisturbed run takes."""
        self._minutes = 0

    async def go(self, ways: Sequence[str]) -> None:
        with Filers(self._place) as lives:
            for number, way in enumerate(ways):
                faults = await self._round(lives, number, way)
                self._figures.rounds[way] += 1
                self._figures.faults += [f"{self._name} round {number} by {way}: {fault}" for fault in faults]

    async def _round(self, lives: subprocess.Popen[str], number: int, way: str) -> list[str]:
        # Every third round nobody else is there, and then all of it can be taken back to the place.
        is_calm = number % 3 == 0
        self._minutes += self._chance.choice([-90, 0, 1, 5])  # a clock may jump, or stand
        order: dict[str, Any] = {
            "way": way, "name": f"{self._name}r{number}", "minutes": self._minutes, "compacts": True, "undo": [],
            "agents": 0 if is_calm else 2, "known": [] if is_calm else self._book.forgettable(),
            "notes": self._notes(number),
        }  # fmt: skip
        if number % 4 == 3:
            order["undo"] = self._runs()
        people = People(self._place.vault, self._book, random.Random(f"{self._name} {number}"))
        goes_on = self._with_people and not is_calm and self._chance.random() < 0.8
        faults = await self._life(lives, order, people if goes_on else None)
        if not goes_on:
            faults += self._book.take_refusals()
        self._book.take_refusals()
        return [*faults, *await self._looked_at(is_calm=is_calm and not self._book.moved)]

    async def _life(self, lives: subprocess.Popen[str], order: dict[str, Any], people: People | None) -> list[str]:
        """Ends with the kill, or a moment earlier."""
        if order["way"] == "program":
            self._lived(lives, {**order, "way": "engine", "compacts": False, "agents": 0, "undo": []}, None, None)
            undone = order["undo"][-1:]
            command = ["undo", *undone, "--yes"] if undone else ["topics", "compact"]
            with Path(os.devnull).open("r+b") as nothing:
                process = self._place.start_process(command, [nothing.fileno()] * 3)
            self._wait_for_work(process)
            if people:
                people.start()
            time.sleep(self._chance.uniform(0, 0.4))  # the moment is what is random here; nothing waits for it
            self._kill(process.pid)
            process.wait(20)
            if people:
                people.stop()
            return []
        daemon = None
        if order["way"] == "daemon":
            daemon = Daemon(self._place)
            await daemon.start()
        try:
            return self._lived(lives, order, people, daemon)
        finally:
            if daemon:
                daemon.kill()

    def _lived(
        self, lives: subprocess.Popen[str], order: Mapping[str, Any], people: People | None, daemon: Daemon | None
    ) -> list[str]:
        """One child of the filers, killed if it is to compact."""
        assert lives.stdin and lives.stdout
        lives.stdin.write(json.dumps(order) + "\n")
        lives.stdin.flush()
        pid, began = 0, time.monotonic()
        killer: threading.Thread | None = None
        for line in lives.stdout:
            word, _, rest = line.strip().partition(" ")
            if word == "PID":
                pid = int(rest)
            elif word == "READY" and order["compacts"]:
                began = time.monotonic()
                if people:
                    people.start()
                victim = daemon.kill if daemon else partial(self._kill, pid)
                killer = threading.Thread(target=self._killing, args=(victim, self._chance.uniform(0, self._took_s)))
                killer.start()
            elif word == "DONE" and order["compacts"]:
                self._figures.counts["ended before the kill"] += 1
                self._took_s = 0.7 * self._took_s + 0.3 * (time.monotonic() - began)
            elif word == "DEAD":
                if killer:
                    killer.join()
                if people:
                    people.stop()
                return ["the program failed"] if rest == "1" else []
            elif word.startswith("{"):
                self._book.told(json.loads(line))
        raise AssertionError("the filers ended")

    def _killing(self, victim: Callable[[], None], after_s: float) -> None:
        """In a thread. Most wait until the first job has begun: what is done before changes nothing."""
        latest = time.monotonic() + self._took_s
        before = self._journal()
        while after_s < 0.8 * self._took_s and time.monotonic() < latest and self._journal() == before:
            time.sleep(0.001)  # the program is another process: its journal is all that tells
        time.sleep(0.7 * after_s)  # the moment is what is random here; nothing waits for it
        victim()

    def _wait_for_work(self, process: Process) -> None:
        before = self._journal()
        while process.poll() is None and self._journal() == before:
            time.sleep(0.002)  # as above

    def _journal(self) -> dict[str, int]:
        return tree_judge.sizes(self._place.state.root / "compaction")

    def _kill(self, pid: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    async def _looked_at(self, *, is_calm: bool) -> list[str]:
        """After the next start."""
        world = World(
            self._place.vault,
            self._place.state.root,
            self._place.models,
            "toy",
            NOON + timedelta(minutes=self._minutes),
        )  # fmt: skip
        journal = self._place.state.root / "compaction"
        self._figures.counts["killed in a job"] += tree_judge.unfinished(journal)
        faults = tree_judge.on_disk(world, self._book) + tree_judge.left_behind(world)
        async with world.engine(topics=TOPICS) as engine:
            with anyio.fail_after(30):
                while tree_judge.unfinished(journal):
                    await anyio.sleep(0.01)
            faults += tree_judge.on_disk(world, self._book)
            faults += await self._settled(engine, world)
            faults += await self._taken_back(engine, world, is_calm=is_calm)
            faults += await self._settled(engine, world)
        self._figures.counts["notes looked at"] += len(self._book.notes)
        return faults

    async def _settled(self, engine: KeywordEngine, world: World) -> list[str]:
        await engine.perform("reindex", {})
        for _ in range(SETTLED):
            if not (await engine.compact()).done:
                break
        again = await engine.compact()
        undone = [line for line in again.left if PERSONS_OWN not in line]
        faults = [f"a run more does something: {line}" for line in [*again.done, *undone]]
        faults += tree_judge.on_disk(world, self._book)
        return faults + await tree_judge.tree(engine, world, with_people=self._with_people)

    async def _taken_back(self, engine: KeywordEngine, world: World, *, is_calm: bool) -> list[str]:
        runs = await engine.runs()
        left: list[str] = []
        for run in reversed(runs):
            with suppress(NotFound):  # it was killed before it had done anything
                left += (await engine.undo_run(run)).left
        self._figures.counts["runs taken back"] += len(runs)
        faults = tree_judge.on_disk(world, self._book)
        if is_calm:
            # A forgotten note stays where it is (whether it was one, `all_fresh` looks), and so does the page that told
            # of it; then the steps before find other pages than they left.
            told = [line for line in left if "forgotten" not in line and "is not what it was" not in line]
            if len(told) < len(left):
                told = [line for line in told if PAGE not in line and MAP not in line]
            faults += [f"not taken back: {line}" for line in told]
            faults += tree_judge.all_fresh(world, self._book)
        return faults

    def _notes(self, number: int) -> list[tuple[str, str]]:
        some = self._chance.sample(SUBJECTS, 4)
        return [(some[n % 4], f"w{self._name}r{number}n{n}x") for n in range(NOTES_A_ROUND)]

    def _runs(self) -> list[str]:
        """The latest, as far as they have not been taken back: those of the last settling."""
        return tree_judge.standing_runs(self._place.state.root / "compaction")[-3:][::-1]


class Filers:
    """The process that forks the agents."""

    def __init__(self, place: Place) -> None:
        self._place = place

    def __enter__(self) -> subprocess.Popen[str]:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.promises.filer", str(self._place.root)], env=self._place.environ,
            cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        return self._process

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(30)


def furnished(root: Path, plugin: Path) -> Place:
    """A place whose program knows the toy embedder, and files at once."""
    chosen = [each.name for each in fields(TOPICS) if is_setting(each)]
    constants = [each.name for each in fields(TOPICS) if not is_setting(each)]
    more = {
        "MCP_MEMORY_EMBEDDER_PROVIDER": "toy",
        **{f"MCP_MEMORY_TOPICS_{name.upper()}": str(getattr(TOPICS, name)) for name in chosen},
        **with_constants(plugin, **{f"topics_{name}": getattr(TOPICS, name) for name in constants}),
    }
    return on_a_port_of_its_own(Place(root, root / "models", more).make())


async def rounds(
    count: int,
    seed: int,
    folder: Path,
    figures: Figures,
    ways: Sequence[str] = WAYS,
    after: Callable[[], None] = lambda: None,
) -> None:
    """`folder` is for vaults; each lives for some rounds, and then `after` is called."""
    plugin = toy_plugin(folder)
    chance = random.Random(seed)
    for vault in range(-(-count // ROUNDS_A_VAULT)):
        left = min(ROUNDS_A_VAULT, count - vault * ROUNDS_A_VAULT)
        root = folder / f"v{vault}"
        root.mkdir()
        chosen = [ways[(vault + n) % len(ways)] for n in range(left)]
        people = vault % 2 == 0
        await Rounds(furnished(root, plugin), chance, figures, f"v{vault}", with_people=people).go(chosen)
        shutil.rmtree(root)
        after()


def toy_plugin(folder: Path) -> Path:
    """The toy embedder, installed as any other package's would be: by an entry point."""
    info = folder / "plugin" / "toy_embedder-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-embedder\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[mcp_memory.embedder]\ntoy = tests.support.toy:open_toy\n")
    importlib.invalidate_caches()
    sys.path.append(str(info.parent))
    return info.parent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["compact"])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    figures = Figures()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        asyncio.run(rounds(asked.rounds, asked.seed, Path(folder), figures, after=figures.tell))
    return bool(figures.faults)


if __name__ == "__main__":
    sys.exit(main())
