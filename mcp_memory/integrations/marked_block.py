"""Inserts a few lines between two marks into your text, and removes them again."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from mcp_memory.errors import Refused

BEGIN = "<!-- mcp-memory begins: `mcp-memory uninstall` takes this out -->"
END = "<!-- mcp-memory ends -->"

TAUGHT_BEGIN = "<!-- mcp-memory teach begins: `mcp-memory teach --undo` takes notes out -->"
TAUGHT_END = "<!-- mcp-memory teach ends -->"
TAUGHT_HEADS = {
    "SKILL.md": """---
name: project-lessons
description: Lessons, decisions and workflows of this project. Read before you run or change something here.
---

"""
}
"""File name → the beginning of a file that `teach` makes."""

_TAUGHT_NOTE = re.compile(r"^<!-- note (\S+) -->\r?\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class InstructionBlock:
    """A config entry: a few lines for the agent, between the marks `begin` and `end`. `head`: the beginning of a file
    that we make. All methods raise Refused for a lone mark."""

    lines: str
    head: str = ""
    begin: str = BEGIN
    end: str = END
    what = "the instructions for the agent"

    def insert(self, text: str) -> str:
        """Insert the lines between the marks, or at the end if the text has no marks."""
        newline = "\r\n" if "\r\n" in text else "\n"
        block = newline.join([self.begin, *self.lines.strip().splitlines(), self.end]) + newline
        found = self.find(text)
        if found:
            old = found[0] if found[0].endswith("\n") else found[0] + newline
            return text if old == block else text[: found.start()] + block + text[found.end() :]
        return (text + newline if text.strip("\ufeff") else text + self.head) + block

    def remove(self, text: str, before: str | None) -> str:  # noqa: ARG002 -- the marks are enough
        """Remove the lines, but keep your changes around the marks."""
        found = self.find(text)
        if not found:
            return text
        newline = "\r\n" if "\r\n" in text else "\n"
        kept, rest = text[: found.start()], text[found.end() :]
        if self.head and kept + rest == self.head:
            return ""
        return kept.removesuffix(newline) + rest if kept.endswith(newline * 2 if rest else newline) else kept + rest

    def is_in(self, text: str) -> bool:
        return self.find(text) is not None

    def find(self, text: str) -> re.Match[str] | None:
        """Find the block with its marks and the end of its last line."""
        marks = [text.count(self.begin), text.count(self.end)]
        found = re.search(rf"{re.escape(self.begin)}.*?{re.escape(self.end)}(?:\r?\n)?", text, re.DOTALL)
        if marks == [0, 0]:
            return None
        if marks == [1, 0]:
            raise Refused(
                f"the line {self.end}, which ends mcp-memory's lines, is missing",
                hint=f"put it back after the last of them, or delete them all, from {self.begin} on; then try again",
            )
        if marks != [1, 1] or not found:
            raise Refused("the marks around mcp-memory's lines are not there once each and in order")
        return found


def taught_block(name: str, items: Sequence[str] = ()) -> InstructionBlock:
    """Return the block of `teach` in a file of that name, with these items."""
    return InstructionBlock("\n".join(items), TAUGHT_HEADS.get(name, ""), TAUGHT_BEGIN, TAUGHT_END)


def taught_items(text: str) -> dict[str, str]:
    """Return the items that `teach` put into a text, by the ids of their notes. Raises Refused for a lone mark."""
    found = taught_block("").find(text)
    if not found:
        return {}
    _, *pieces = _TAUGHT_NOTE.split(found[0].partition(TAUGHT_END)[0])
    notes, items = pieces[::2], pieces[1::2]
    return {note: f"<!-- note {note} -->\n{item.rstrip()}" for note, item in zip(notes, items, strict=True)}


def with_taught_items(name: str, text: str, items: Sequence[str]) -> str:
    """Return the text of a file of that name, with these items in place of the earlier ones. Raises Refused for a lone
    mark."""
    block = taught_block(name, items)
    return block.insert(text) if items else block.remove(text, None)
