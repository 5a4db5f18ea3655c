"""The entries that `install` adds to a client's configuration file, and `uninstall` removes."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from mcp_memory.errors import Refused
from mcp_memory.integrations import commands, jsonc, toml
from mcp_memory.text.parsed_values import list_at, table_at, value_at

_ALLOWED = ("permissions", "allow")


class ConfigEntry(Protocol):
    """An entry, as pure functions on a file's text. All raise Refused for a text that they can't read."""

    @property
    def what(self) -> str:
        """The entry's name in messages."""
        ...

    def insert(self, text: str) -> str:
        """Return the text with the entry, unchanged if it is complete. Raises Refused if its place is taken."""
        ...

    def remove(self, text: str, before: str | None) -> str:
        """Return the text without the entry; `before` is the text from before `insert`, if known."""
        ...

    def is_in(self, text: str) -> bool:
        """Return whether the entry is there, perhaps with other values."""
        ...


class HookEvent(NamedTuple):
    """An event of `mcp-memory hook`, by its `name`. `matcher`: a regular expression for the tools (or other kinds of
    the event) for which the client runs the command; empty for all."""

    name: str
    matcher: str = ""


@dataclass(frozen=True)
class HookEntries:
    """Commands that a client runs on its events, in the form that Claude Code and Codex share:
    `{"hooks": {EVENT: [{"matcher": …, "hooks": [{"type": "command", "command": …}]}]}}`."""

    commands: Mapping[str, str]
    """The client's name of an event → our command."""
    matchers: Mapping[str, str]
    """The client's name of an event → its matcher. Events without a matcher are absent."""
    client: str
    vault: str | None
    timeout_s: int
    what = "the hooks"

    def insert(self, text: str) -> str:
        for event, command in self.commands.items():
            found = self._ours(text, event)
            if not found:
                handler = {"type": "command", "command": command, "timeout": self.timeout_s}
                matcher = {"matcher": self.matchers[event]} if event in self.matchers else {}
                text = jsonc.append(text, ("hooks", event), {**matcher, "hooks": [handler]})
                continue
            group, number = found[0]
            if _groups(text, event)[group]["hooks"][number].get("command") != command:
                text = jsonc.set_value(text, ("hooks", event, group, "hooks", number, "command"), command)
            matcher, entry = self.matchers.get(event), _groups(text, event)[group]
            if matcher and entry.get("matcher") != matcher and len(entry["hooks"]) == 1:  # otherwise the entry is yours
                text = jsonc.set_value(text, ("hooks", event, group, "matcher"), matcher)
        return text

    def remove(self, text: str, before: str | None) -> str:
        for event in table_at(jsonc.value_of(text), "hooks"):
            for group, number in reversed(self._ours(text, event)):
                alone = len(_groups(text, event)[group]["hooks"]) == 1
                path = ("hooks", event, group) if alone else ("hooks", event, group, "hooks", number)
                text = jsonc.remove(text, path, before)
        return text

    def is_in(self, text: str) -> bool:
        return bool(self.places(text))

    def missing(self, text: str) -> list[str]:
        """Return the events without a command of ours."""
        return [event for event in self.commands if not self._ours(text, event)]

    def places(self, text: str) -> list[tuple[str, int, int]]:
        """Return the event, the group's number, and the number within the group for each of our handlers."""
        return [
            (event, *place) for event in table_at(jsonc.value_of(text), "hooks") for place in self._ours(text, event)
        ]

    def _ours(self, text: str, event: str) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        for group, entry in enumerate(_groups(text, event)):
            for number, handler in enumerate(list_at(entry, "hooks")):
                command = commands.read(value_at(handler, "command"))
                is_hook = command is not None and command.verb.startswith("hook ")
                if command and is_hook and (command.client, command.vault) == (self.client, self.vault):
                    found.append((group, number))
        return found


@dataclass(frozen=True)
class HookTrust:
    """The record in Codex's configuration that you trust our hooks. `hashes`, by key, are added if you trust the hooks
    through `install` instead."""

    keys: tuple[str, ...]
    hashes: Mapping[str, str] = field(default_factory=dict[str, str])
    what = "the trust in the hooks"

    def insert(self, text: str) -> str:
        for key, value in self.hashes.items():
            text = toml.set_table(text, ("hooks", "state", key), {"trusted_hash": value})
        return text

    def remove(self, text: str, before: str | None) -> str:  # noqa: ARG002 -- a table is whole
        for key in self.keys:
            text = toml.remove(text, ("hooks", "state", key))
        return text

    def is_in(self, text: str) -> bool:
        state = table_at(toml.value_of(text), "hooks", "state")
        return any(key in state for key in self.keys)


@dataclass(frozen=True)
class PermissionRule:
    """Claude Code's permission to call our tools. Without it, Claude Code asks before each call, and refuses if it
    can't ask. `server` is its name in Claude Code's configuration; `others` are former or duplicate names."""

    server: str
    others: Sequence[str] = ()
    what = "the permission to call the memory tools"

    def insert(self, text: str) -> str:
        for other in self.others:
            text = self._without(text, other, text)
        of_server = f"mcp__{self.server}"
        chosen = [str(rule) for kind in ("ask", "deny") for rule in _rules(text, kind)]
        if any(rule == of_server or rule.startswith(f"{of_server}__") for rule in chosen):
            return text  # you have made a rule of your own
        if {of_server, f"{of_server}__*", rule_for(self.server)} & {*map(str, _rules(text, "allow"))}:
            return text
        return jsonc.append(text, _ALLOWED, rule_for(self.server))

    def remove(self, text: str, before: str | None) -> str:
        for name in (self.server, *self.others):
            text = self._without(text, name, before)
        return text

    def is_in(self, text: str) -> bool:
        return any(rule_for(name) in _rules(text, "allow") for name in (self.server, *self.others))

    def _without(self, text: str, name: str, before: str | None) -> str:
        rules = _rules(text, "allow")
        if rule_for(name) not in rules:
            return text
        return jsonc.remove(text, (*_ALLOWED, rules.index(rule_for(name))), before)


def rule_for(server: str) -> str:
    """Return the rule that allows our tools. People write `mcp__NAME` or `mcp__NAME__*`, so this form identifies our
    own rule."""
    return f"mcp__{server}__memory_*"


def _rules(text: str, kind: str) -> list[object]:
    return list_at(jsonc.value_of(text), "permissions", kind)


def _groups(text: str, event: str) -> Sequence[Any]:
    return list_at(jsonc.value_of(text), "hooks", event)


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


@dataclass(frozen=True)
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
