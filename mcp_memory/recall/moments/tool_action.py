"""Reads what a call of a client's tool is about to do: the files that it changes, the commands that it runs. Pure."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from posixpath import basename, join, normpath
from typing import Any, NamedTuple

from mcp_memory.recall.moments import WORD_SETS

MOST_CHARS = 4_000  # of a command; what a longer one does is not looked at further
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1.*?(?:^\s*\2\s*$|\Z)", re.DOTALL | re.MULTILINE)
_PATCHED = re.compile(r"^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+)$", re.MULTILINE)
_BREAKS = frozenset("();<>|&\n")
_PATH = re.compile(r"(?![a-z]+://)[\w@.~+-]*[/.][\w@.~+/-]*\w")


class ShellCommand(NamedTuple):
    """`words`: the program and what follows, without `flags`, which have no values."""

    words: Sequence[str]
    flags: frozenset[str] = frozenset()

    def has_flag(self, flag: str) -> bool:
        """Also where `--force` is written `-f`, or among others, as in `-rf`."""
        letter = flag.lstrip("-")[0]
        return flag in self.flags or any(letter in own and re.fullmatch(r"-[A-Za-z]{1,4}", own) for own in self.flags)


class ToolAction(NamedTuple):
    """`files`: those that it changes or runs, relative to the project's folder where they are in it. `only_reads`: each
    of its commands only shows what is there."""

    files: Sequence[str]
    commands: Sequence[ShellCommand]
    only_reads: bool


def read_action(arguments: Mapping[str, Any], folder: str, project: str | None) -> ToolAction:
    """What the call of a tool with these arguments does; empty for one that names neither file nor command. `folder`:
    where the agent works."""
    texts = {name: value for name, value in arguments.items() if isinstance(value, str)}
    command = texts.get("command") or texts.get("cmd") or ""
    patch = next((text for text in texts.values() if "*** Begin Patch" in text), "")
    files = [texts[name] for name in ("file_path", "notebook_path", "path") if texts.get(name)]
    files += _PATCHED.findall(patch)
    commands, only_reads = list[ShellCommand](), True
    for words in simple_commands("" if patch else command):
        commands += _variants(words[:100])
        files += _files_of(words)
        only_reads &= not words or _only_reads(words)
    parts = folder.rstrip("/").split("/")
    if project in parts:
        parts = parts[: len(parts) - parts[::-1].index(project)]
    root = "/".join(parts) + "/"
    places = (normpath(join(folder or "/", file.strip())).removeprefix(root) for file in files)
    return ToolAction(list(dict.fromkeys(places))[:20], commands[:20], only_reads)


def simple_commands(line: str) -> Iterator[Sequence[str]]:
    """The words of each command of a line, without `sudo` and the like; `>` stands before a file that is written."""
    reader = shlex.shlex(_HEREDOC.sub("", line[:MOST_CHARS]), posix=True, punctuation_chars="".join(_BREAKS))
    reader.whitespace, reader.commenters, reader.whitespace_split = " \t\r", "", True
    words: list[str] = []
    with suppress(ValueError):  # a quotation mark without its partner
        for word in reader:
            if ">" in word and _BREAKS.issuperset(word):
                words.append(">")
            elif word in {"-exec", "-execdir"} or (word and _BREAKS.issuperset(word)):
                yield words
                words = []
            elif words or not (word in WORD_SETS["prefixes"] or re.match(r"\w+=", word)):
                words.append(word)
    yield words


def _variants(words: Sequence[str]) -> Iterator[ShellCommand]:
    """The command; behind a runner, also the one that it runs, and each package that it would install."""
    plain = [word for word in words if not word.startswith("-") and word != ">"]
    if not plain or plain[0] != words[0]:
        return
    program = basename(plain[0])
    yield ShellCommand((program, *plain[1:]), frozenset(word.partition("=")[0] for word in words if word[:1] == "-"))
    if program in WORD_SETS["runners"] and len(words) > 1 and (not program.startswith("python") or words[1] == "-m"):
        yield from _variants(words[2:] if words[1] in {"run", "exec", "x", "dlx", "-m"} else words[1:])
        if plain[1:2] and plain[1] in {"add", "install", "i"}:
            yield from (ShellCommand((package,)) for package in plain[2:])


def _files_of(words: Sequence[str]) -> Iterator[str]:
    """What it writes into, and the files that it names unless it only reads them."""
    if _only_reads(words):
        words = [word for before, word in pairwise(words) if before == ">"]
    yield from (word for word in words if _PATH.fullmatch(word))


def _only_reads(words: Sequence[str]) -> bool:
    program, options = basename("".join(words[:1])), words[1:]
    if program == "git":
        return not WORD_SETS["writing_git"].issuperset(options[:1])
    return program in WORD_SETS["readers"] or (program == "sed" and not any(word.startswith("-i") for word in options))
