"""Lets a language model, if you chose one, say what statements are about, and which of them are no longer true."""

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from importlib.resources import files
from typing import Any

from mcp_memory.core.line_reader import LineReader
from mcp_memory.curation.claims.claim import Evidence
from mcp_memory.curation.claims.subjects import Key, Name, key_of
from mcp_memory.jobs.job import JobTurn
from mcp_memory.models import Clock
from mcp_memory.recall.note_list import date_of
from mcp_memory.runtime.threads import in_thread
from mcp_memory.summarizers.numbered_lines import Finding, LineTask, SourceLine
from mcp_memory.text.markdown.inline_text import is_harmless
from mcp_memory.text.parsed_values import list_at, text_at

MOST_NAME_CHARS, MOST_ABOUT = 60, 4
FOLDERS = {
    "person": "people", "organisation": "organizations", "place": "places", "service": "services",
    "machine": "machines", "project": "projects", "thing": "things",
}  # fmt: skip
"""The kinds that a model may answer → their plural, which names the folder of the pages."""
LEAST_APART = timedelta(hours=1)
"""The least time from one reading to the next, so that not every note costs a call."""


@cache
def subjects_task() -> LineTask:
    instructions = files("mcp_memory.curation.claims").joinpath("instructions.md").read_text("utf-8")
    return LineTask("subjects", instructions, ("replaces",), _check)


def line_of(one: Evidence) -> SourceLine:
    """Return a statement as the model sees it, with its day, project and title."""
    note = one.note
    title = "" if one.said.startswith(note.title) else note.title
    return SourceLine(note.id, one.said, ", ".join(filter(None, [one.day, note.project, title])))


@dataclass(frozen=True)
class ReadSubjects:
    """The findings of a model. `subjects`: each name with the statements about it, by their `id()`. `left`: the
    statements that it hasn't read. `newer` has the statements that replace others, by the older one's `id()`."""

    subjects: Sequence[tuple[Name, Set[int]]]
    left: Sequence[Evidence]
    newer: Mapping[int, Evidence]


def read_subjects(stated: Sequence[Evidence], findings: Mapping[str, Finding]) -> ReadSubjects:
    """Return what was found about statements, given latest first."""
    lines = {line_of(one).key: one for one in stated}
    read = [(one, findings[key]) for key, one in lines.items() if key in findings]
    named = [(one, *subject) for one, finding in read for subject in finding.get("about", ())]
    known = {key_of(name) for _, name, _, _ in named}
    fuller = {key_of(name): key_of(whole) for _, name, _, whole in named if len(whole) > len(name)}
    spellings, kinds, about = defaultdict[Key, list[str]](list), dict[Key, str](), defaultdict[Key, set[int]](set)
    for one, name, kind, _ in named:
        key = key_of(name)
        while fuller.get(key) in known:
            key = fuller[key]
        spellings[key].append(name)
        kinds.setdefault(key, kind)
        about[key].add(id(one))
    subjects = [(Name.of(FOLDERS[kinds[key]], spellings[key]), about[key]) for key in sorted(about)]
    newer = dict[int, Evidence]()
    for one, finding in read:  # what replaced a replacement is known already
        for older in [lines[key] for key in finding.get("replaces", ()) if key in lines]:
            if date_of(older.note) <= date_of(one.note):
                newer.setdefault(id(older), newer.get(id(one), one))
    return ReadSubjects(subjects, [one for key, one in lines.items() if key not in findings], newer)


@dataclass
class SubjectReading:
    """Reads statements in the background."""

    reader: LineReader
    clock: Clock
    _read_at: datetime = field(default=datetime.min.replace(tzinfo=UTC), init=False)

    async def read(self, stated: Sequence[Evidence], turn: JobTurn) -> None:
        """Ask about the statements that are new, given latest first. Raises StorageFailed."""
        fresh = (await in_thread(self._found, stated, what="reading what a model found")).left
        now = self.clock()
        if fresh and now - self._read_at >= LEAST_APART:
            self._read_at = now
            lines = [line_of(one) for one in reversed(fresh)]
            await self.reader.read(subjects_task(), lines, turn, earlier=partial(self._earlier, stated))

    def _found(self, stated: Sequence[Evidence]) -> ReadSubjects:
        return read_subjects(stated, self.reader.findings(subjects_task()))

    def _earlier(self, stated: Sequence[Evidence], batch: Sequence[SourceLine]) -> Sequence[SourceLine]:
        """Return the statements that were read before and are about something that a batch names, oldest first."""
        text = "\n".join(line.text for line in batch)
        near = [about for name, about in self._found(stated).subjects if name.pattern.search(text)]
        return [line_of(one) for one in reversed(stated) if any(id(one) in about for about in near)]


def _check(item: Mapping[str, Any], line: SourceLine) -> Finding:
    """Return the subjects that are named in the line."""
    shown, about = f"{line.facts}\n{line.text}".lower(), list[tuple[str, str, str]]()
    for one in list_at(item, "about")[:MOST_ABOUT]:
        name, kind, whole = (" ".join(text_at(one, field).split()) for field in ("name", "kind", "as"))
        if kind in FOLDERS and name.lower() in shown and _is_name(name):
            about.append((name, kind, whole if _is_name(whole) else ""))
    return {"about": about} if about else {}


def _is_name(text: str) -> bool:
    return 1 < len(text) <= MOST_NAME_CHARS and is_harmless(text)
