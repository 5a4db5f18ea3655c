"""Turns the lines of a daily log into list items, whether they begin with a time, with another bullet, or plainly."""

import re
from collections.abc import Sequence
from itertools import pairwise

from mcp_memory.text.markdown.blocks import scan

_CLOCK = r"(?:\d{1,2}:\d\d(?::\d\d)?(?:[ \t]?[AaPp]\.?[Mm]\b\.?)?|\d{1,2}h\d\d|\d{1,2}(?:[.:]\d\d)?[ \t]?Uhr)"
_STAMP = re.compile(
    rf"^([ \t]*)(?:[-*+•][ \t]+|#{{3,6}}[ \t]+)?(?:\*\*|__|[~\[(`])*(?:ca\.[ \t])?{_CLOCK}"
    rf"(?:[ \t]?[-–—][ \t]?{_CLOCK})?(?:\*\*|__|[\])`:,])*[ \t]*(?:[-–—|:→][ \t]+|[ \t](?=\S))"
)
"""Matches the time before a line, in most ways to write one."""
_BULLET = re.compile(r"^([ \t]*)[•·▪◦‣–—→][ \t]+(?=\S)")
FEWEST_FULL = 60
"""The width in characters from which lines may be the wrapped lines of a paragraph."""


def itemized(text: str) -> str:
    """Return a text whose lines are list items if they begin with a time or a bullet, or if a paragraph isn't wrapped.
    The number of lines doesn't change."""
    found = "\n".join(_BULLET.sub(r"\1- ", _STAMP.sub(r"\1- ", line)) for line in text.split("\n"))
    for block in reversed(list(scan(found))):
        lines = found[block.start : block.end]
        if block.kind == "paragraph" and not _is_wrapped(lines.split("\n")):
            found = f"{found[: block.start]}- {lines.replace(chr(10), chr(10) + '- ')}{found[block.end :]}"
    return found


def _is_wrapped(lines: Sequence[str]) -> bool:
    """Return whether the first word of each line would have made the line before it too long."""
    width = max(map(len, lines))
    is_full = (len(line) + len(after.split(" ")[0]) >= width for line, after in pairwise(lines))
    return len(lines) == 1 or (width >= FEWEST_FULL and all(is_full))
