"""Read a line for a shell: its commands, each with the folder that it runs in. Pure, except that it uses the location
of your home."""

import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from posixpath import basename, expanduser, join
from typing import NamedTuple

from mcp_memory.recall.moments import WORD_SETS

MOST_CHARS = 4_000  # the most characters that are read
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1.*?(?:^\s*\2\s*$|\Z)", re.DOTALL | re.MULTILINE)
_BREAKS = frozenset("();<>|&\n")
_FOLDER_OPTION = re.compile(r"-C(.*)|--(?:directory|prefix|cwd|dir|chdir)(?:=(.+))?")
_VALUED = frozenset({"-u", "-g", "-n", "-I", "-P", "-L", "-s", "-k"})
"""Options of `sudo`, `env`, `nice`, `xargs` and `timeout` that take the next word."""


class SimpleCommand(NamedTuple):
    """A command. `words`: without `sudo`, `-C DIR` and the like; `>` precedes a file that is written. `folder`: as far
    as the line shows it; the values of variables are unknown."""

    folder: str
    words: Sequence[str]


def simple_commands(line: str, folder: str = "") -> Iterator[SimpleCommand]:
    """Yield the commands of a line. `folder`: the folder that the line starts in."""
    reader = shlex.shlex(_HEREDOC.sub("", line[:MOST_CHARS]), posix=True, punctuation_chars="".join(_BREAKS))
    reader.whitespace, reader.commenters, reader.whitespace_split = " \t\r", "", True
    words, places = list[str](), (folder,)
    around = list[tuple[str, ...]]()  # for each open subshell, the folders of the enclosing shell
    with suppress(ValueError):  # a quotation mark without its partner
        for word in reader:
            if ">" in word and _BREAKS.issuperset(word):
                words.append(">")
            elif word in {"-exec", "-execdir"} or (word and _BREAKS.issuperset(word)):
                command = _bare(words, places[-1])
                yield from _inner(command)
                words, places = [], _after(command, places)
                for mark in word if _BREAKS.issuperset(word) else "":
                    if mark == "(":
                        around.append(places)
                    elif mark == ")" and around:
                        places = around.pop()
            else:
                words.append(word)
    yield from _inner(_bare(words, places[-1]))


def _inner(command: SimpleCommand) -> Iterator[SimpleCommand]:
    """Yield the commands of the line that `bash -c` runs, or the command itself."""
    folder, words = command
    if basename("".join(words[:1])) in WORD_SETS["shells"]:
        for option, line in pairwise(words):
            if re.fullmatch(r"-\w*c", option):
                yield from simple_commands(line, folder)
                return
    yield command


def _after(command: SimpleCommand, places: tuple[str, ...]) -> tuple[str, ...]:
    """Return the folders in which the shell has been, the present one last."""
    program, *rest = command.words or ("",)
    target = next((word for word in rest if word == "-" or not word.startswith("-")), "~")
    if program == "popd" or (program == "cd" and target == "-"):
        return places[:-1] or places
    return (*places, _into(target, command.folder)) if program in {"cd", "pushd"} else places


def _bare(words: Sequence[str], folder: str) -> SimpleCommand:
    rest, program = list(words), ""
    while rest and (rest[0] in WORD_SETS["prefixes"] or re.match(r"\w+=", rest[0])):
        program = rest.pop(0)
        while program in WORD_SETS["prefixes"] and rest and re.match(r"-|\d+[smhd]?$", rest[0]):
            folder = _take_option(rest, folder) or folder
    at, program = 1, basename("".join(rest[:1]))
    while program in WORD_SETS["take_folder"] and at < len(rest):
        if place := _take_folder(rest, at, folder):
            folder = place
        elif program == "git" and rest[at] == "-c":
            del rest[at : at + 2]
        elif program == "git" and not rest[at].startswith("-"):
            break  # in `git commit -C`, the option means something else
        else:
            at += 1
    return SimpleCommand(folder, rest)


def _take_option(words: list[str], folder: str) -> str | None:
    if place := _take_folder(words, 0, folder):
        return place
    if words.pop(0) in _VALUED and words:
        del words[0]
    return None


def _take_folder(words: list[str], at: int, folder: str) -> str | None:
    """Take an option that names a folder out of the words; returns the folder."""
    if not (found := _FOLDER_OPTION.fullmatch(words[at])):
        return None
    given = found[1] or found[2]
    del words[at]
    return _into(given or (words.pop(at) if at < len(words) else ""), folder)


def _into(target: str, folder: str) -> str:
    return folder if re.search(r"[$`]", target) else join(folder, expanduser(target))
