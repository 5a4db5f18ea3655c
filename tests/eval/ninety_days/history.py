"""Ninety days of a person's sessions with an agent, made from what she or he says in them: `python -m
tests.eval.ninety_days.history PERSON FOLDER` writes the transcripts as Claude Code does.

PERSON.toml holds what is said and on which day, and so what a memory should make of it. Wording and days are those of
the file; only the ordinary work around them, and the hours, are drawn by chance from a fixed seed.
"""

from __future__ import annotations

import json
import random
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

DAYS = 90
PEOPLE = ("ada", "jonas")


@dataclass(frozen=True)
class Work:
    """An ordinary task, and what a summary of its session must hold."""

    project: str
    asks: str
    edits: str
    runs: Sequence[str]
    decided: str
    open: str

    @property
    def facts(self) -> tuple[str, ...]:
        """Words of the request, the file, the command's outcome, the decision and what is open."""
        return (self.asks.rstrip("."), self.edits, self.runs[0], self.decided.rstrip("."), self.open.rstrip("."))


@dataclass(frozen=True)
class Session:
    """A session of one day. `begins` is in the person's zone; `said` are the person's words besides its `work`."""

    id: str
    day: int
    begins: datetime
    project: str
    work: Work
    said: tuple[str, ...]
    lesson: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Person:
    """What a person says in 90 days, by day, and when it is due."""

    name: str
    told: Mapping[str, Any] = field(repr=False)

    @property
    def start(self) -> date:
        return self.told["start"]

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.told["zone"])

    def at(self, day: int, hour: int = 9, minute: int = 0) -> datetime:
        """The time of this day in the person's zone."""
        return datetime.combine(self.start + timedelta(days=day), time(hour, minute), self.zone)

    def sessions(self) -> list[Session]:
        """One for each project of each working day on which something is said in it, or by chance."""
        chance = random.Random(self.name)
        said: dict[tuple[int, str], list[str]] = {}
        for day, project, words in self._statements(chance):
            said.setdefault((day, project), []).append(words)
        lessons = {(each["day"], each["project"]): each for each in self.told["lesson"]}
        works = [Work(**each) for each in self.told["work"]]
        found: list[Session] = []
        for day in range(DAYS):
            for project in self.told["projects"]:
                words, lesson = said.get((day, project), []), lessons.get((day, project))
                if not words and not lesson and (self.at(day).weekday() > 4 or chance.random() > 0.3):
                    continue
                work = chance.choice([work for work in works if work.project == project])
                begins = self.at(day, 9 + 4 * self.told["projects"].index(project), chance.randrange(50))
                found.append(Session(f"{self.name}-{day:02}-{project}", day, begins, project, work, (*words,), lesson))
        return found

    def _statements(self, chance: random.Random) -> Iterator[tuple[int, str, str]]:
        first = self.told["projects"][0]
        for kind in ("recurring", "same", "apart"):
            for each in self.told[kind]:
                for day, words in zip(each["days"], each["says"], strict=False):
                    yield day, each["project"], words
        for each in self.told["change"]:
            for value in (each["old"], each["new"]):
                yield value["day"], each["project"], value["says"]
        for each in self.told["promise"]:
            yield each["made"], first, each["says"]
            if done := each.get("done"):
                yield done["day"], first, done["says"]
        for each in self.told["passing"]:
            yield chance.randrange(DAYS), chance.choice(self.told["projects"]), each["says"]


def person(name: str) -> Person:
    return Person(name, tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8")))


def transcript(session: Session, folder: Path) -> Path:
    """Writes the session as Claude Code does, below its folder of projects, and returns the file. The project is a
    repository in `folder`."""
    cwd = folder / "repositories" / session.project
    (cwd / ".git").mkdir(parents=True, exist_ok=True)
    file = folder / "claude" / "projects" / str(cwd).replace("/", "-") / f"{session.id}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = _Lines(session, str(cwd))
    work = session.work
    lines.user(work.asks)
    lines.assistant("I'll look at it.")
    lines.tool(
        "Edit", {"file_path": str(cwd / work.edits), "old_string": "a", "new_string": "b"}, "The file was updated."
    )
    if lesson := session.lesson:
        lines.user(lesson["asks"])
        lines.tool("Bash", {"command": lesson["wrong"]}, lesson["error"], failed=True)
        lines.assistant(f"That failed: {lesson['why']}. I'll try it another way.")
        lines.tool("Bash", {"command": lesson["right"]}, "ok")
        lines.assistant("Now it works.")
        lines.user("great, that works")
    for words in session.said:
        lines.user(words)
        lines.assistant("OK.")
    lines.tool("Bash", {"command": work.runs[0]}, work.runs[1])
    lines.user(work.decided)
    lines.assistant(f"Done. {work.open}")
    file.write_text("".join(lines.written), encoding="utf-8")
    return file


class _Lines:
    """The lines of a transcript, a minute apart."""

    def __init__(self, session: Session, cwd: str) -> None:
        self._session, self._cwd, self._at = session, cwd, session.begins
        self.written: list[str] = []

    def user(self, text: str) -> None:
        self._write("user", text)

    def assistant(self, text: str) -> None:
        self._write("assistant", [{"type": "text", "text": text}])

    def tool(self, name: str, given: Mapping[str, str], output: str, *, failed: bool = False) -> None:
        call = f"toolu_{len(self.written):04}"
        self._write("assistant", [{"type": "tool_use", "id": call, "name": name, "input": given}])
        result = {"type": "tool_result", "tool_use_id": call, "content": output, "is_error": failed}
        self._write("user", [result])

    def _write(self, kind: str, content: Any) -> None:
        self._at += timedelta(minutes=1)
        line = {
            "parentUuid": None, "isSidechain": False, "userType": "external", "cwd": self._cwd,
            "sessionId": self._session.id, "version": "2.1.329", "gitBranch": "main", "type": kind,
            "message": {"role": kind, "content": content}, "uuid": f"{self._session.id}-{len(self.written)}",
            "timestamp": self._at.astimezone(ZoneInfo("UTC")).strftime("%Y-%m-%dT%H:%M:%S.000Z"),
        }  # fmt: skip
        self.written.append(json.dumps(line, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    for each in (sessions := person(sys.argv[1]).sessions()):
        transcript(each, Path(sys.argv[2]))
    print(f"{len(sessions)} sessions in {sys.argv[2]}")
