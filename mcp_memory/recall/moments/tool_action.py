"""Reads a client's tool call: the files that it changes, the commands that it runs, and whether it repeats another one.
Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from posixpath import basename, expanduser, join, normpath
from typing import Any, NamedTuple

from mcp_memory.capture.readers.message import TranscriptMessage
from mcp_memory.projects.repository_facts import name_in
from mcp_memory.recall.moments import WORD_SETS
from mcp_memory.recall.moments.shell_line import simple_commands

_PATCHED = re.compile(r"^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+)$", re.MULTILINE)
_PATH = re.compile(r"(?![a-z]+://)[\w@.~+-]*[/.][\w@.~+/-]*\w")
MAX_CALL_CHARS = 1200

_LOOKS = re.compile(
    r"\S+ (?:-\w+ \S+ )?(?:\S+ )?"
    r"(?:get|list|ls|show|view|status|info|version|logs?|describe|inspect|ps|outdated|why|tree|help)\b.*"
    r"|git (?:diff|blame|branch|remote|grep|rev-parse|ls-\w+)\b.*"
    r"|\S*(?:info|nm|dump) .*|(?:top|ping|dig|host|getent|env|date|uptime|ps|df|free|journalctl|sleep|ldd)\b.*|mount"
    r"|(?:node|python\S*|Rscript|ruby|php) -(?:[ecpr] .*)?|.* --?(?:version|help)",
    re.DOTALL,
)
"""Matches a command of any program that only shows something."""
_PROGRAM = re.compile(
    r"(?:(?:npx|bunx|uvx|(?:uv|poetry) run|p?npm exec|(?:p?npm|yarn|bun) run|python[\d.]* -m)\s+)*"
    r"(?:\S*/)?((?:gh|git|systemctl) \w+|(?:python[\d.]*|node|Rscript|ruby|perl|php|bash|sh|pwsh|cscript)"
    r"(?: (?:-|//)\S+)* \S+|\S*).*",
    re.DOTALL,
)
"""Matches a command and its program, or the script that an interpreter runs."""
_WORD = re.compile(r"\w+")
_VERBOSE = re.compile(r" (?:-[vq]{1,3}|--(?:verbose|quiet|debug))(?!\S)")


class ShellCommand(NamedTuple):
    """A command. `words`: the program and its arguments, without `flags`, which have no values."""

    words: Sequence[str]
    flags: frozenset[str] = frozenset()

    def has_flag(self, flag: str) -> bool:
        """Return whether the flag is given, also if `--force` is written `-f` or combined, as in `-rf`."""
        letter = flag.lstrip("-")[0]
        return flag in self.flags or any(letter in own and re.fullmatch(r"-[A-Za-z]{1,4}", own) for own in self.flags)


class ToolAction(NamedTuple):
    """The files and commands of a call. `files`: the files that it changes or runs, relative to the project's folder
    where they are in it. `only_reads`: all its commands only show what is there. `text`: what it writes, without the
    lines that were there before."""

    files: Sequence[str]
    commands: Sequence[ShellCommand]
    only_reads: bool
    text: str


def read_action(arguments: Mapping[str, Any], folder: str, project: str | None) -> ToolAction:
    """Read the action of a tool call with these arguments; empty if it names neither file nor command. `folder`: where
    the agent works."""
    texts = {name: value for name, value in arguments.items() if isinstance(value, str)}
    command = texts.get("command") or texts.get("cmd") or ""
    patch = next((text for text in texts.values() if "*** Begin Patch" in text), "")
    files = [texts[name] for name in ("file_path", "notebook_path", "path") if texts.get(name)]
    files += _PATCHED.findall(patch)
    commands, only_reads = list[ShellCommand](), True
    place = join(folder or "/", texts.get("workdir") or texts.get("dir_path") or "")
    for inside, words in simple_commands("" if patch else command, place):
        commands += _variants(words[:100])
        reads = reads_only(words)
        only_reads &= reads or not words
        named = [word for before, word in pairwise(words) if before == ">"] if reads else words
        files += (join(inside, expanduser(word)) for word in named if _PATH.fullmatch(word))
    parts = folder.rstrip("/").split("/")
    if project and (name := name_in(project)) in parts:
        parts = parts[: len(parts) - parts[::-1].index(name)]
    root = "/".join(parts) + "/"
    places = (normpath(join(folder or "/", expanduser(file.strip()))).removeprefix(root) for file in files)
    old = texts.pop("old_string", "").split("\n")
    lines = (line for text in texts.values() for line in text.split("\n") if line not in old)
    text = "\n".join(line for line in lines if not patch or line[:1] == "+")
    return ToolAction(list(dict.fromkeys(places))[:20], commands[:20], only_reads, text)


def _variants(words: Sequence[str]) -> Iterator[ShellCommand]:
    """Yield the command; behind a runner, also the command that the runner starts, and each package that it would
    install."""
    plain = [word for word in words if not word.startswith("-") and word != ">"]
    if not plain or plain[0] != words[0]:
        return
    program = basename(plain[0])
    yield ShellCommand((program, *plain[1:]), frozenset(word.partition("=")[0] for word in words if word[:1] in "->"))
    if program in WORD_SETS["runners"] and len(words) > 1 and (not program.startswith("python") or words[1] == "-m"):
        yield from _variants(words[2:] if words[1] in {"run", "exec", "x", "dlx", "-m"} else words[1:])
        if plain[1:2] and plain[1] in {"add", "install", "i"}:
            yield from (ShellCommand((package,), frozenset({"--install"})) for package in plain[2:])


def reads_only(words: Sequence[str]) -> bool:
    program, options = basename("".join(words[:1])), words[1:]
    if program == "git":
        return next((word for word in options if word[:1] != "-"), "") not in WORD_SETS["writing_git"]
    return program in WORD_SETS["readers"] or (program == "sed" and not any(word.startswith("-i") for word in options))


def command_of(message: TranscriptMessage) -> str:
    """Return the command that a call runs; empty for another tool."""
    return (message.arguments.get("command") or message.arguments.get("cmd") or "").strip()


def call_text(message: TranscriptMessage) -> str:
    """Return the command or change, as it was called; empty if the transcript lacks it."""
    given = message.arguments
    if command := command_of(message) or given.get("input", "").strip():
        return command[:MAX_CALL_CHARS]
    if path := given.get("file_path") or given.get("path"):
        old, new = given.get("old_string", ""), given.get("new_string") or given.get("content", "")
        lines = [*(f"- {line}" for line in old.splitlines()), *(f"+ {line}" for line in new.splitlines())]
        return "\n".join([path, *lines])[:MAX_CALL_CHARS] if lines else ""
    return ""


def acts(message: TranscriptMessage) -> bool:
    """Return whether a call changes something, or runs a command that does more than show something."""
    command = command_of(message)
    return any(_acting(command)) if command else bool(call_text(message))


def is_edit(message: TranscriptMessage) -> bool:
    """Return whether a call changes a file other than by a command."""
    return message.is_call and not command_of(message) and bool(call_text(message))


def repeats(message: TranscriptMessage, failed: TranscriptMessage) -> bool:
    """Return whether a call runs the last program of a failed call again, perhaps otherwise."""
    if not call_text(failed):
        return message.tool == failed.tool
    *_, last = _commands(failed) or [""]
    words = {*_WORD.findall(last)}
    again = [one for one in _commands(message) if _PROGRAM.sub(r"\1", one) == _PROGRAM.sub(r"\1", last)]
    return message.tool == failed.tool and any(3 * len(words & {*_WORD.findall(one)}) >= len(words) for one in again)


def is_same_call(message: TranscriptMessage, failed: TranscriptMessage) -> bool:
    """Return whether a call does the same as a failed call, perhaps more verbosely, or something else after it."""
    commands = [_VERBOSE.sub("", one) for one in _commands(message)]
    before = [_VERBOSE.sub("", one) for one in _commands(failed)]
    return bool(before) and before[-1] in commands and {*commands[: commands.index(before[-1])]} <= {*before}


def programs(message: TranscriptMessage) -> set[str]:
    """Return the programs and scripts that a call runs to do more than show something."""
    return {_PROGRAM.sub(r"\1", one) for one in _acting(command_of(message))}


def _commands(message: TranscriptMessage) -> list[str]:
    """Return the commands of a call that do more than show something, or else all."""
    command = command_of(message)
    return list(_acting(command)) or [" ".join(words) for _, words in simple_commands(command) if words]


def _acting(line: str) -> Iterator[str]:
    """Yield the commands of a line that do more than show something, also on another machine."""
    for _, written in simple_commands(line):
        words = written[written[:1] == ["sudo"] :]
        command = " ".join(words)
        remote = next((word for word in words[2:] if " " in word), "") if words[:1] == ["ssh"] else ""
        if remote:
            yield from _acting(remote)
        elif words and not ((words[0] != "git" and reads_only(words)) or _LOOKS.fullmatch(command)):
            yield command
