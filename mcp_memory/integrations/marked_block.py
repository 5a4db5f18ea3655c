"""A few lines of ours between two marks in a text that is a person's."""

from __future__ import annotations

import re

from mcp_memory.errors import Refused

BEGIN = "<!-- mcp-memory begins: `mcp-memory uninstall` takes this out -->"
END = "<!-- mcp-memory ends -->"

_BLOCK = re.compile(rf"{re.escape(BEGIN)}.*?{re.escape(END)}(?:\r?\n)?", re.DOTALL)


def set_block(text: str, lines: str) -> str:
    """`text` with `lines` between the marks: where the marks are, else at the end. Raises Refused for a lone mark."""
    newline = "\r\n" if "\r\n" in text else "\n"
    block = newline.join([BEGIN, *lines.strip().splitlines(), END]) + newline
    found = _found(text)
    if found:
        old = found[0] if found[0].endswith("\n") else found[0] + newline
        return text if old == block else text[: found.start()] + block + text[found.end() :]
    return text + (newline if text.strip("\ufeff") else "") + block


def remove(text: str) -> str:
    """`text` as it was before `put`, and what was changed since around the marks."""
    found = _found(text)
    if not found:
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    start, rest = found.start(), text[found.end() :]
    before = text[:start]
    if before.endswith(newline if not rest else newline * 2):
        before = before[: -len(newline)]
    return before + rest


def is_in(text: str) -> bool:
    """Whether the marks are there. Raises Refused for a lone one."""
    return _found(text) is not None


def _found(text: str) -> re.Match[str] | None:
    marks = [text.count(BEGIN), text.count(END)]
    found = _BLOCK.search(text)
    if marks == [0, 0]:
        return None
    if marks == [1, 0]:
        raise Refused(
            f"the line {END} is gone, which ends mcp-memory's lines",
            hint=f"put it back behind the last of them, or take them all out, from {BEGIN} on; then try again",
        )
    if marks != [1, 1] or not found:
        raise Refused("the marks of mcp-memory's lines do not stand there once and in order")
    return found
