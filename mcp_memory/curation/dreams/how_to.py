"""Proposes how-tos: what several fixes, lessons or sessions did in the same way, in their own words. Pure."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import date
from urllib.parse import quote

from mcp_memory.comparison.likeness import Likeness
from mcp_memory.curation.dreams.recurrence import POSSIBLE, Groups, Proposal, Said
from mcp_memory.models import NoteRecord
from mcp_memory.text.language.sentences import sentences
from mcp_memory.text.language.word_tables import has_cue, read_cues
from mcp_memory.text.pluralize import counted

HOW_TO = "Keep as a how-to"
"""The section of DREAMS.md for these proposals."""
FIXES = frozenset({"fix", "lesson"})
LEAST_NOTES = 3
"""The fewest notes that share a way."""
_OTHERS = re.compile(r"^>.*$", re.MULTILINE)
"""Matches the quotations of a lesson, such as what happened before."""
_FENCE = re.compile(r"^(?:`{3,})[^\n]*\n(.*?)\n```", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"`[^\s`]+ [^`\n]+`")


def find_how_tos(notes: Sequence[tuple[NoteRecord, str]], likeness: Likeness) -> Iterator[Proposal]:
    """Yield a how-to for the ways that the same notes of a project share: a command, or several sentences. One of the
    notes is a fix or lesson. `notes` come with their texts, the oldest first."""
    commands, told = defaultdict[str, list[Said]](list), list[Said]()
    for note, body in notes:
        day = note.date.date() if note.date else date.min
        for way in _ways_in(body):
            alike = commands[f"{note.project}: {way}"] if way.startswith("`") else told
            alike.append(Said(day, note.path, way, note.kind, POSSIBLE))
    shared = defaultdict[frozenset[str], list[Said]](list)
    for group in (*commands.values(), *Groups(told, likeness).groups):
        latest = max(group)
        same = [one for one in group if likeness.compare(one.text, latest.text).says_the_same]
        sources = frozenset(one.source for one in same)
        if len(sources) >= LEAST_NOTES and FIXES & {one.kind for one in same}:
            shared[sources].append(latest)
    for sources in shared:
        among = [note for note, _ in notes if note.path in sources]
        ways = [way for other, some in shared.items() if sources <= other for way in some]
        is_how_to = len(ways) > 1 or ways[0].text.startswith("`")
        if not is_how_to or len({note.project for note in among}) > 1 or any(other < sources for other in shared):
            continue
        steps = [f"{way.text} ([{way.day}](/{quote(way.source)}))" for way in ways]
        why = f"in {counted(len(among), 'note')} from {among[0].day} to {among[-1].day}"
        title = next(note.title for note in reversed(among) if note.kind in FIXES)
        more = {"notes": [note.id for note in among], "steps": steps, "project": among[0].project}
        yield Proposal(f"how-to {among[0].id}", f"How to: {title}", why, HOW_TO, [note.path for note in among], more)


def _ways_in(body: str) -> Iterator[str]:
    """Yield the commands of a note as code, unless they only check something, and its sentences without a command."""
    told, error = _OTHERS.sub("", body), read_cues("mcp_memory.statements", "lessons.toml")["line_name"]
    lines = [line for fence in _FENCE.findall(told) for line in fence.splitlines()]
    codes = [f"`{line}`" for line in lines if " " in line and line[0] not in " +-"]
    for one in sentences(told):
        found = [code for code in _CODE.findall(one.text) if not error.search(code)]
        codes += found
        if not found and one.text[-1] != ":":
            yield one.text
    yield from (code for code in codes if not has_cue("mcp_memory.summaries", "cues.toml", "checks", code))
