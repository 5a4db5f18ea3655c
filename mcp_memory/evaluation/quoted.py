"""Quoted lines: which lines of which notes an answer of `memory_recall` shows, read back from its text. Pure."""

from __future__ import annotations

import re

from mcp_memory.evaluation.metrics import Line

_NOTE = re.compile(r"### (.+?\.md)(?: · .*)?")
_PLACE = re.compile(r"\[(\d+)(?:-(\d+))?(?: · .*?)?\] ")
_CUT = " …"


def quoted_lines(answer: str) -> set[Line]:
    """Those that are shown whole. A line of a note that looks like one of ours misleads nobody: each excerpt says how
    many lines it has."""
    found: set[Line] = set()
    path, lines = "", iter(answer.split("\n"))
    for line in lines:
        if note := _NOTE.fullmatch(line):
            path = note[1]
        elif path and (place := _PLACE.match(line)):
            first, last = int(place[1]), int(place[2] or place[1])
            text = [line[place.end() :], *(next(lines, _CUT) for _ in range(last - first))]
            found |= {(path, number) for number, shown in enumerate(text, first) if not shown.endswith(_CUT)}
    return found
