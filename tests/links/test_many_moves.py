"""After hundreds of random renames, moves and edits by another program no link is repaired wrongly, and most are right.

`MCP_MEMORY_EXHAUSTIVE=1` with `-s` prints the figures of guide/links.md: 1,000 notes, 200 of which move.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from mcp_memory.text.markdown.frontmatter import split_head
from mcp_memory.text.markdown.note_links import note_links
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import World, index_of, more

pytestmark = pytest.mark.anyio

FOLDERS = ["", "a/", "a/deep/", "b/", "c d/", "é/"]
WORDS = [f"word{number}" for number in range(500)]


class Vault:
    """Notes whose first word tells which they are, with links to others in every form."""

    def __init__(self, world: World, notes: int, seed: int) -> None:
        self.world, self.random, self.made = world, Random(seed), 0
        self.paths = {number: f"{self.random.choice(FOLDERS)}note {number}.md" for number in range(notes)}
        self.meant: dict[tuple[int, int], int] = {}
        for number in self.paths:
            self.write(number)

    def write(self, number: int) -> None:
        targets = self.random.sample(sorted(self.paths), 3)
        self.meant |= {(number, at): target for at, target in enumerate(targets)}
        links = [self.link(self.paths[number], self.paths[target]) for target in targets]
        head = f"---\nid: 01KBZ{number:021d}\n---\n" if number % 2 else ""
        words = " ".join(self.random.choices(WORDS, k=self.random.randrange(5, 60)))
        self.world.write(
            self.paths[number], f"{head}marker{number} {words}\n\n{links[0]} {links[1]}\n\n- because: {links[2]}\n"
        )

    def link(self, source: str, target: str) -> str:
        up = "../" * source.count("/")
        return self.random.choice([
            f"[[{target.rpartition('/')[2][:-3]}]]", f"[[{target[:-3]}|label]]",
            f"[x](<{up}{target}>)", f"[x](</{target}#h>)",
        ])  # fmt: skip

    def move(self) -> None:
        """One thing that another program does to files."""
        number = self.random.choice(sorted(self.paths))
        path = self.paths[number]
        folder, _, name = path.rpartition("/")
        self.made += 1
        match self.random.choice(["rename", "move", "both", "edited", "swap", "taken"]):
            case "rename":
                self.put(number, f"{folder}/new {self.made}.md".lstrip("/"))
            case "move":
                self.put(number, f"{self.random.choice(FOLDERS)}sub {self.made % 5}/{name}")
            case "both":
                self.put(number, f"{self.random.choice(FOLDERS)}new {self.made}.md")
            case "edited":
                self.put(number, f"{self.random.choice(FOLDERS)}new {self.made}.md")
                file = self.world.root / self.paths[number]
                file.write_text(file.read_text() + f"\nAn edit {self.made}\n")
            case "swap":
                other = self.random.choice(sorted(self.paths.keys() - {number}))
                there = self.paths[other]
                self.put(other, "on its way.md")
                self.put(number, there)
                self.put(other, path)
            case _:
                self.put(number, f"{self.random.choice(FOLDERS)}new {self.made}.md")
                self.world.write(path, f"Another note {self.made}\n")

    def put(self, number: int, path: str) -> None:
        target = self.world.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        (self.world.root / self.paths[number]).rename(target)
        self.paths[number] = path

    def judge(self, engine: KeywordEngine) -> dict[tuple[int, int], str]:
        """Whether each link leads to the note that was meant, to another, or nowhere."""
        found = dict[tuple[int, int], str]()
        numbers = {path: number for number, path in self.paths.items()}
        with index_of(engine) as index:
            for number, path in self.paths.items():
                text = self.world.read(path).decode()
                links = note_links(text, split_head(text).body_start, path)
                assert len(links) == 3
                for at, link in enumerate(links):
                    targets = [numbers.get(target) for target in index.named(link.key)]
                    words = {0: "broken", 1: "right" if targets == [self.meant[number, at]] else "wrong"}
                    found[number, at] = words.get(len(targets), "ambiguous")
        return found


@pytest.mark.parametrize("seed", range(more(2) // 10 or 2))
async def test_no_link_is_repaired_wrongly(world: World, seed: int) -> None:
    notes, moves = (1000, 200) if more(1) > 1 else (120, 40)
    vault = Vault(world, notes, seed)
    async with world.engine() as engine:
        while vault.made < moves:
            for _ in range(min(moves - vault.made, vault.random.randrange(1, 12))):
                vault.move()
            world.later(minutes=1)
            await engine.sweep()
        before = vault.judge(engine)
        answer = await engine.perform("lint", {"fix": True, "personal": True})
        after = vault.judge(engine)
    verdicts = Counter((before[link], after[link]) for link in before)
    left = Counter(one["why"].partition(": ")[0] for one in answer["found"] if not one["repair"])
    how = Counter(one["repair"]["how"] for one in answer["found"] if one["repair"])
    print(f"\n{notes} notes, {moves} moves: {dict(verdicts)}; by {dict(how)}; left {dict(left)}")
    assert not any(now == "wrong" and was != "wrong" for was, now in verdicts), "wrongly repaired"
    assert verdicts["right", "right"] == sum(was == "right" for was in before.values())
    hurt = sum(count for (was, _), count in verdicts.items() if was != "right")
    mended = sum(count for (was, now), count in verdicts.items() if was != "right" and now == "right")
    assert mended >= 0.9 * hurt
