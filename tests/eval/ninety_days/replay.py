"""Lives through a person's ninety days with a real engine, and says what memory made of them.

`python -m tests.eval.ninety_days.replay [PERSON ...] [--keep FOLDER]` prints a table; with `--keep` the vaults stay for
you to read. Each day is as with the daemon: sessions start and are told what memory has for them, the client's
transcripts are captured when they end, all background jobs run at night. On Fridays the person accepts what waits for
review and was meant to last, and ticks all that DREAMS.md proposes, whatever it is.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import anyio

from mcp_memory.capture.config import CaptureConfig
from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.text.markdown.frontmatter import split_head
from tests.eval.ninety_days.history import DAYS, PEOPLE, Person, Session, person, transcript
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import World

SOON_MS = 30_000
FRIDAY = 4
REMINDERS = ("Due", "Was due", "Overdue")
"""How a line begins that reminds of a promise."""


@dataclass
class Seen:
    """What a session's start, a prompt or a failing tool was told, by day."""

    starts: dict[int, str] = field(default_factory=dict[int, str])
    prompts: dict[tuple[int, str], str] = field(default_factory=dict[tuple[int, str], str])
    failures: dict[tuple[int, str], str] = field(default_factory=dict[tuple[int, str], str])
    proposed: list[tuple[str, bool]] = field(default_factory=list[tuple[str, bool]])
    """What waited for review, and whether it was meant for the moment only."""


@dataclass
class Life:
    """A person's vault, and the engine that has it open."""

    who: Person
    folder: Path
    world: World
    engine: KeywordEngine
    seen: Seen = field(default_factory=Seen)

    async def live(self) -> None:
        by_day: dict[int, list[Session]] = {}
        for session in self.who.sessions():
            by_day.setdefault(session.day, []).append(session)
        for day in range(DAYS):
            await self._morning(day)
            for session in by_day.get(day, []):
                self.world.now = session.begins + timedelta(minutes=40)
                file = transcript(session, self.folder)
                await self.engine.perform("capture", {"files": [str(file)]})
            await self._night(day)

    async def _morning(self, day: int) -> None:
        """A session starts in the first project, and is prompted as the day's probes have it."""
        first = self.who.told["projects"][0]
        self.world.now = self.who.at(day, 8, 45)
        self.seen.starts[day] = await self._told(f"start-{day}", None, first)
        for each in self.who.told["promise"]:
            if each["due"] == day and "hour" in each:
                self.world.now = self.who.at(day, each["hour"], 5)
                self.seen.starts[day] += await self._told(f"start-{day}", "what is next on the list for today?", first)
        for each in self.who.told["lesson"]:
            if each["again"] == day:
                call = {"command": each["wrong"]}
                asked = {"session": f"failure-{day}", "arguments": call, "output": each["error"], "within_ms": SOON_MS}
                advised = await self.engine.perform("advise", {**asked, "project": each["project"]})
                self.seen.failures[day, each["error"]] = str(advised)
        for each in self.who.told["change"]:
            if day in (each["new"]["day"] + 2, DAYS - 1):
                self.seen.prompts[day, each["asks"]] = await self._told(f"ask-{day}", each["asks"], each["project"])

    async def _told(self, session: str, prompt: str | None, project: str) -> str:
        asked: dict[str, Any] = {"session": session, "project": project, "within_ms": SOON_MS}
        if prompt is not None:
            asked["prompt"] = prompt
        text = (await self.engine.perform("brief", asked))["text"]
        # The line on new notes names them once, so it reveals nothing before its time.
        return "\n".join(line for line in text.splitlines() if not line.startswith("Memory stored"))

    async def _night(self, day: int) -> None:
        self.world.now = self.who.at(day, 23, 30)
        for job in (await self.engine.perform("jobs", {"action": "list"}))["jobs"]:
            await self.engine.perform("jobs", {"action": "run", "name": job["name"]})
        await self.engine.perform("reconcile", {})
        if day % 7 == FRIDAY:
            await self._review()

    async def _review(self) -> None:
        """Accepts what waits and was meant to last, and ticks all proposals for MEMORY.md."""
        dreams = self.world.root / "DREAMS.md"
        if dreams.exists():
            dreams.write_text(dreams.read_text(encoding="utf-8").replace("- [ ]", "- [x]"), encoding="utf-8")
        if not (self.world.root / "INDEX.md").exists():
            await self.engine.perform("organize", {})
        for waiting in await self.engine.waiting("candidate", "stored", "proposal"):
            told = self.who.told
            junk = any(holds(waiting["text"], each["words"]) for each in told["passing"]) or any(
                each["asks"].rstrip(".") in waiting["text"] for each in (*told["work"], *told["lesson"])
            )
            self.seen.proposed.append((waiting["text"], junk))
            verb = "drop" if junk else "accept"
            await self.engine.review(verb, waiting["id"])


# -- what is counted -------------------------------------------------------------------------------------------------


@dataclass
class Count:
    """So many of so many; `wrong` names those that aren't."""

    right: int = 0
    of: int = 0
    wrong: list[str] = field(default_factory=list[str])

    def add(self, is_right: bool, name: str) -> None:
        self.right, self.of = self.right + is_right, self.of + 1
        if not is_right:
            self.wrong.append(name)

    def __str__(self) -> str:
        return f"{self.right:>3} of {self.of:<3} {self.right / self.of if self.of else 0:.2f}"


def judge(life: Life) -> Mapping[str, Count]:
    """What memory made of the days, by name."""
    who, seen, notes = life.who, life.seen, dict(notes_of(life.world))
    counts = {name: Count() for name in MEASURES}
    for each in who.told["promise"]:
        name, words = f"{each['says']!r}", each["words"]
        due, done = each["due"], each.get("done", {}).get("day", DAYS)
        told = {day for day, text in seen.starts.items() if any(holds(line, words) for line in reminders(text))}
        counts["promises told on their day or the day before"].add(bool(told & {due - 1, due}), name)
        early = {day for day in told if day < due - 1}
        counts["promises silent before"].add(not early, f"{name} on {sorted(early)}")
        if done < DAYS:
            late = {day for day in told if day > done}
            counts["promises silent once done"].add(not late, f"{name} on {sorted(late)}")
    for each in who.told["lesson"]:
        told = seen.failures[each["again"], each["error"]]
        counts["lessons told with the failure"].add(each["right"] in told, each["error"])
        counts["lessons with the command that worked"].add(
            any(each["right"] in text for text in notes.values()), each["right"]
        )
    for each in who.told["change"]:
        told = seen.prompts[DAYS - 1, each["asks"]]
        new, old = each["new"]["words"] in told, each["old"]["words"] in told.replace(each["new"]["says"], "")
        counts["new value told at the end"].add(new, each["subject"])
        counts["old value not told alone"].add(new or not old, each["subject"])
    for text, is_junk in seen.proposed:
        counts["proposals for review that are no junk"].add(not is_junk, text)
    memory = life.world.root / "MEMORY.md"
    lines = [line for line in memory.read_text().splitlines() if re.match(r"\s*[-*] ", line)] if memory.exists() else []
    for each in who.told["recurring"]:
        counts["recurring preferences promoted"].add(any(holds(line, each["words"]) for line in lines), each["key"])
    for line in lines:
        junk = [each["says"] for each in who.told["passing"] if holds(line, each["words"])]
        counts["promoted lines that are no junk"].add(not junk, line)
    summed = {path: body for path, body in notes.items() if path.startswith("summaries/")}
    made = ("summaries/", "memory/", "entities/", "topics/", "MEMORY.md", "INDEX.md", "DREAMS.md")
    texts = [body.casefold() for path, body in notes.items() if not path.startswith(made)]
    for each in who.told["same"]:
        same = [text for text in texts if any(says.casefold().rstrip(".") in text for says in each["says"])]
        counts["the same fact stored once"].add(len(same) == 1, f"{each['says'][0]} {len(same)} times")
    for each in who.told["apart"]:
        both = all(any(words.casefold() in text for text in texts) for words in each["words"])
        counts["different facts kept apart"].add(both, each["says"][0])
    for session in who.sessions():
        body = next((body for body in summed.values() if session.id in body), "")
        facts = [fact for fact in session.work.facts if fact.casefold() in body.casefold()]
        counts["sessions with a summary"].add(bool(body), session.id)
        for fact in session.work.facts if body else ():
            counts["facts in summaries"].add(fact in facts, f"{session.id}: {fact}")
    return counts


MEASURES = (
    "promises told on their day or the day before",
    "promises silent before",
    "promises silent once done",
    "lessons with the command that worked",
    "lessons told with the failure",
    "new value told at the end",
    "old value not told alone",
    "proposals for review that are no junk",
    "recurring preferences promoted",
    "promoted lines that are no junk",
    "the same fact stored once",
    "different facts kept apart",
    "sessions with a summary",
    "facts in summaries",
)


def holds(text: str, words: list[str]) -> bool:
    return all(re.search(rf"(?<!\w){re.escape(word)}", text, re.IGNORECASE) for word in words)


def reminders(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(REMINDERS)]


def notes_of(world: World) -> Iterator[tuple[str, str]]:
    """Each note's path and whole text, without those that we forgot."""
    for path, data in world.files().items():
        text = data.decode(errors="replace")
        if path.endswith(".md") and not re.search(r"^status: deleted", text[: split_head(text).body_start], re.M):
            yield path, text


async def replay(name: str, folder: Path, models: Path) -> Life:
    """Lives the days in a vault in this folder."""
    who = person(name)
    world = World(folder / "vault", folder / "state", models, now=who.at(0, 8))
    clients = {"claude-code": str(folder / "claude" / "projects")}
    async with world.engine(embedder=EmbedderConfig(), capture=CaptureConfig(folders=clients)) as engine:
        life = Life(who, folder, world, engine)
        await life.live()
    return life


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("people", nargs="*", default=PEOPLE, metavar="PERSON")
    arguments.add_argument("--keep", type=Path, help="a folder for vaults and transcripts")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        for name in given.people:
            folder = (given.keep or Path(scratch)) / name
            began = datetime.now()
            life = anyio.run(replay, name, folder, Path(scratch) / "models")
            took, sessions = (datetime.now() - began).seconds, len(life.who.sessions())
            print(f"\n{name}: {DAYS} days, {sessions} sessions, {took} s")
            for measure, count in judge(life).items():
                print(f"  {measure:<48}{count}")
                for wrong in count.wrong[:8]:
                    print(f"      {wrong[:110]}")


if __name__ == "__main__":
    main()
