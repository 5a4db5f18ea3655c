"""Compares two versions of a text by lines, within a bounded time. Pure."""

from difflib import SequenceMatcher
from itertools import takewhile

MOST_LINES = 2_000
"""The most lines that are compared each with each; of a longer change, one side is given after the other."""
AROUND = 2
"""The unchanged lines around a change."""


def changed_lines(before: str, after: str) -> list[str]:
    """Return the lines that only one version has, with `-` or `+` before them, the lines around with a blank, and `…`
    for those that are skipped."""
    old, new = before.splitlines(), after.splitlines()
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
    start = max(0, same - AROUND)
    rest = zip(reversed(old[same:]), reversed(new[same:]), strict=False)
    same_end = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], rest))
    cut = max(0, same_end - AROUND)
    old, new, skipped = old[start : len(old) - cut], new[start : len(new) - cut], start > 0
    if len(old) + len(new) > MOST_LINES:
        return [*(f"-{line}" for line in old), *(f"+{line}" for line in new)]
    lines = list[str]()
    for group in SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(AROUND):
        lines += ["…"] if lines or skipped else []
        for tag, first, last, begin, end in group:
            if tag == "equal":
                lines += [f" {line}" for line in old[first:last]]
            else:
                lines += [f"-{line}" for line in old[first:last]] + [f"+{line}" for line in new[begin:end]]
    return lines
