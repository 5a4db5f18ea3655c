"""Hints name what the reader can use: commands in a shell, tools in a tool's answer."""

from __future__ import annotations

import re
import shlex

import click
import pytest

from mcp_memory.cli.command_tree import MEANT, SHORTCUTS, commands
from mcp_memory.client.connection import Address
from tests.daemon.place import Place, Running
from tests.daemon.wire import Wire

TOOL = re.compile(r"memory_(search|recall|append|forget)|include_archived")


def test_a_shell_is_told_of_commands_and_they_work(served: Place):
    text = "\n".join(f"line {n} of a long text, memory_recall and all" for n in range(400))
    (served.vault / "the long one.md").write_text(text + "\n")
    served.run("doctor", "--reindex").ok()
    said = served.run("recall", "--path", "the long one.md", "--budget", "300").ok().out
    ours = [line for line in said.splitlines() if not line.startswith(">")]
    assert not TOOL.search("\n".join(ours))
    assert ">line 3 of a long text, memory_recall and all" in said, "a note is quoted as it is"
    (call,) = [line.partition(": ")[2] for line in ours if line.startswith("Left out for lack of budget: ")]
    assert call.startswith("mcp-memory recall --path 'the long one.md' --lines ")
    assert "line 399" in served.run(*shlex.split(call)[1:], "--budget", "20000").ok().out


@pytest.mark.parametrize(
    "words",
    [
        ["recall", "--id", "01ARZ3NDEKTSV4RRFFQ69G5FAV"],
        ["show", "01ARZ3NDEKTSV4RRFFQ69G5FAV"],
        ["forget", "01ARZ3NDEKTSV4RRFFQ69G5FAV"],
        ["forget", " "],
        ["erase", "none.md", "--yes"],
        ["recall", "--path", "none.md"],
        ["recall", "--json", "--id", "01ARZ3NDEKTSV4RRFFQ69G5FAV"],
        ["append", "x", "--path", "memory/x.md"],
    ],
    ids=" ".join,
)
def test_no_error_at_the_command_line_names_a_tool(served: Place, words: list[str]):
    ran = served.run(*words)
    assert ran.code != 0
    assert not TOOL.search(ran.out + ran.err), ran


def test_what_was_forgotten_comes_back_as_the_hint_says(served: Place):
    note = served.run("append", "A newt lives in the well.", "-k", "fact", "--json").ok().json
    served.run("forget", note["id"]).ok()
    ran = served.run("show", note["id"])
    assert "mcp-memory restore brings it back" in ran.err
    with Wire(Running(served, Address.read(served.state.daemon))) as wire:
        told = wire.text("memory_recall", {"ids": [note["id"]]})
    assert "memory_forget with restore=true brings it back" in told
    assert "mcp-memory" not in told


def test_a_tool_is_told_of_tools(served: Place):
    with Wire(Running(served, Address.read(served.state.daemon))) as wire:
        for tool, arguments in (("memory_recall", {"ids": ["nowhere"]}), ("memory_forget", {"id": "nowhere"})):
            told = wire.text(tool, arguments)
            assert "memory_search finds ids" in told
            assert "mcp-memory" not in told


@pytest.mark.parametrize(
    ("word", "command"),
    [
        ("get", "show"),
        ("find", "search"),
        ("remember", "append"),
        ("rm", "forget"),
        ("delete", "forget"),
        ("ls", "list"),
        ("backup", "export"),
        ("serch", "search"),
        ("recent", "list"),
        ("unarchive", "restore"),
        ("over", "archive"),
        ("lint", "links --check"),
        ("refs", "links --code"),
        ("log", "changes"),
        ("history", "changes"),
        ("hooks", "clients hooks"),
        ("plugin", "clients plugin"),
        ("trash", "list --deleted"),
        ("version", "--version"),
        ("daemon", "status"),
        ("reset", "help commands"),
        ("recover", "doctor --repair"),
        ("reindex", "doctor --reindex"),
        ("service", "help daemon"),
        ("tree", "topics"),
        ("compact", "topics compact"),
        ("digest", "sessions digest"),
    ],
)
def test_another_word_for_a_command_leads_to_it(served: Place, word: str, command: str):
    pages = {"hooks", "daemon"}  # which have a page of their own
    ran = served.run(word, "x")
    assert ran.code == 2 and f"did you mean {command}?" in ran.err
    if word in MEANT and word not in pages:
        assert served.run("help", word).ok().out.startswith(f"mcp-memory {command} ")


@pytest.mark.parametrize(("word", "command"), sorted(SHORTCUTS.items()))
def test_a_shortcut_does_what_its_command_does(served: Place, word: str, command: str):
    rest = ["Use uv here."] if word == "add" else []
    short, whole = served.run(word, *rest), served.run(*command.split(), *rest)
    assert short.code == whole.code == 0, short.err
    assert short.out == whole.out or word == "add"  # the second is a duplicate of the first
    assert served.run("help", word).out
    assert served.run(word, "--help").out


def test_every_command_that_is_suggested_exists():
    for words in {*MEANT.values(), *SHORTCUTS.values()} - {"--version"}:
        names = [name for name in words.split() if not name.startswith("-")]
        command, parent = commands.get_command(click.Context(commands), names[0]), commands
        for name in names[1:] if names[0] != "help" else ():
            assert isinstance(command, click.Group)
            command = command.get_command(click.Context(parent), name)
        assert command is not None, words
        known = {option for parameter in command.params for option in parameter.opts}
        assert {option for option in words.split() if option.startswith("-")} <= known, words


def test_who_looks_for_the_logs_is_told_where_they_are(served: Place):
    ran = served.run("logs")
    assert ran.code == 2
    assert f"the daemon's log is in {served.state.log.parent};" in ran.err
    assert "did you mean forget?" not in served.run("xyzzy").err
