"""Puts a few lines between two marks into a text of yours, and takes them out again."""

import re
from dataclasses import dataclass

from mcp_memory.errors import Refused

BEGIN = "<!-- mcp-memory begins: `mcp-memory uninstall` takes this out -->"
END = "<!-- mcp-memory ends -->"


@dataclass(frozen=True, slots=True)
class InstructionBlock:
    """A config entry: a few lines for the agent. `head`: what a file of ours begins with; `begin` and `end`: the marks.
    All methods raise Refused for a lone mark."""

    lines: str
    head: str = ""
    begin: str = BEGIN
    end: str = END
    what = "the instructions for the agent"

    def insert(self, text: str) -> str:
        """Puts the lines where the marks are, else at the end."""
        newline = "\r\n" if "\r\n" in text else "\n"
        block = newline.join([self.begin, *self.lines.strip().splitlines(), self.end]) + newline
        found = self.find(text)
        if found:
            old = found[0] if found[0].endswith("\n") else found[0] + newline
            return text if old == block else text[: found.start()] + block + text[found.end() :]
        return (text + newline if text.strip("\ufeff") else text + self.head) + block

    def remove(self, text: str, before: str | None) -> str:  # noqa: ARG002 -- the marks are enough
        """Leaves what was changed around the marks since `insert`."""
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
        """The block with its marks and the end of its last line."""
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
