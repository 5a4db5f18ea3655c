"""The guide names only what exists, and the command line shows it."""

from __future__ import annotations

import ast
import os
import re
from functools import cache

import click
import pytest
from click.testing import CliRunner

from mcp_memory.cli.command_tree import SHORTCUTS, commands
from mcp_memory.settings.settings import Settings, as_tree
from tests.daemon.place import RUN_S
from tests.support.warm_process import CHECKOUT, ENVIRON, run_warm

PACKAGE = CHECKOUT / "mcp_memory"
GUIDE = {file.stem: file.read_text(encoding="utf-8") for file in (PACKAGE / "guide").glob("*.md")}
MAINTAINERS = ("architecture", "contributing")
"""The pages whose paths are the checkout's; in the others they are a vault's."""
ROOMS = {each.name for each in PACKAGE.iterdir() if (each / "__init__.py").exists()}
TREES = {**dict.fromkeys(ROOMS, PACKAGE), "tests": CHECKOUT, "configs": CHECKOUT}


RUN_BY_CLIENTS = {"hook", "stdio", "headers"}
"""The programs' own commands, which the help for people doesn't list."""


@cache
def help_of(command: str) -> str:
    shown = run_warm([command, "--help"], b"", {**os.environ, **ENVIRON}, CHECKOUT, RUN_S)
    assert shown.returncode == 0, shown.stderr
    return shown.stdout.decode()


def quoted(text: str) -> list[str]:
    return re.findall(r"`([^`\n]+)`", text)


def test_every_room_is_in_the_picture_and_no_other():
    picture = GUIDE["architecture"].partition("```\n")[2].partition("```")[0]
    assert set(re.findall(r"(\w+)/", picture)) == ROOMS
    assert set(re.findall(r"(\w+\.py)", picture)) == {"models.py", "constants.py", "tool_names.py", "errors.py"}


@pytest.mark.parametrize("page", MAINTAINERS)
def test_every_path_exists(page: str):
    named = [path for path in quoted(GUIDE[page]) if path.partition("/")[0] in TREES and "/" in path]
    files = [path.partition("::")[0] for path in named if "ROOM" not in path]
    assert [path for path in files if not (TREES[path.partition("/")[0]] / path).exists()] == []
    if page == "architecture":
        assert len(files) > 30


def test_every_named_test_exists():
    found = [path for page in GUIDE.values() for path in quoted(page) if "::" in path]
    assert found
    for path in found:
        file, _, name = path.partition("::")
        assert re.search(rf"def {name}\(", (CHECKOUT / file).read_text(encoding="utf-8")), path


def test_every_setting_exists():
    tree = as_tree(Settings())
    for word in (word for page in GUIDE.values() for word in quoted(page)):
        if section := re.fullmatch(r"\[(\w+)(?:\.NAME)?\]", word):
            assert section[1] in tree, word
        elif (setting := re.fullmatch(r"(\w+)\.(?!db|lock|log|json|toml)(\w+)", word)) and setting[1] in tree:
            assert setting[2] in tree[setting[1]], word


def test_every_file_of_the_state_folder_is_in_its_list_and_no_other():
    section = GUIDE["architecture"].partition("## The state folder")[2].partition("\n## ")[0]
    listed = set(re.findall(r"^- `([\w.-]+)`:", section, re.MULTILINE))
    assert listed <= set(texts()), "names of files that no module knows"
    assert set(state_files()) <= listed


@cache
def trees() -> list[ast.Module]:
    return [ast.parse(file.read_text(encoding="utf-8")) for file in PACKAGE.rglob("*.py")]


def texts() -> list[str]:
    nodes = (node for tree in trees() for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return [node.value for node in nodes if isinstance(node.value, str)]


def state_files() -> list[str]:
    """Each `….state / "name"` of the package's source."""
    found = list[str]()
    for node in (node for tree in trees() for node in ast.walk(tree)):
        match node:
            case ast.BinOp(
                left=ast.Attribute(attr="state") | ast.Name(id="state"),
                op=ast.Div(),
                right=ast.Constant(value=str(name)),
            ):
                found.append(name)
    assert len(found) > 5
    return found


@pytest.mark.parametrize("page", ["README", *sorted(GUIDE)])
def test_every_command_line_exists(page: str):
    """Each `mcp-memory …` that a page shows: its command, its sub-command and its options are real."""
    text = GUIDE.get(page) or (CHECKOUT / "README.md").read_text(encoding="utf-8")
    lines = re.findall(r"(?:^|[`\"(/])mcp-memory ([^\n`\"|)#]+)", text, re.MULTILINE)
    assert lines or page in {"contributing", "library", "retrieval"}
    for line in lines:
        words = [word for word in re.sub(r"--vault \S+", "", line).split() if not word.isupper()]
        words[:1] = SHORTCUTS.get(words[0], words[0]).split() if words else []
        command: click.Command = commands
        context = click.Context(commands)
        while words and isinstance(command, click.Group) and words[0] in command.list_commands(context):
            found = command.get_command(context, words.pop(0))
            assert found
            command = found
        if words and words[0] in RUN_BY_CLIENTS:
            shown = help_of(words[0])
            assert all(word in shown for word in words if word.startswith("-")), line
        elif command is not commands:
            options = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
            assert {word for word in words if word.startswith("-")} <= options, line
        else:
            assert not words or line.split()[0] == "help" or words[0] in {"--help", "<mcp-memory@localhost>"}, line


def test_help_lists_the_pages_and_shows_each():
    listed = CliRunner().invoke(commands, ["help"]).output
    for name, text in GUIDE.items():
        assert f"mcp-memory help {name}" in listed
        assert CliRunner().invoke(commands, ["help", name]).output == text


@pytest.mark.parametrize("command", [["search"], ["config", "show"]], ids=" ".join)
def test_help_of_a_command_is_its_own(command: list[str]):
    shown = CliRunner().invoke(commands, ["help", *command], prog_name="mcp-memory").output
    assert shown == CliRunner().invoke(commands, [*command, "--help"], prog_name="mcp-memory").output


@pytest.mark.parametrize(
    ("words", "hint"), [(["arkitecture"], "architecture"), (["serch"], "search"), (["search", "xylophone"], "--help")]
)
def test_what_is_neither_page_nor_command(words: list[str], hint: str):
    ran = CliRunner().invoke(commands, ["help", *words])
    assert ran.exit_code == 2
    assert hint in ran.output


@pytest.mark.parametrize(
    ("word", "place"),
    [
        ("sync", "help vault"),
        ("uds", "help daemon"),
        ("entry point", "help slots"),
        ("SOCKET", "help daemon"),
        ("allow_remote", "config default"),
        ("subtopics", "help topics"),
        ("not filed yet", "help topics"),
        ("topic pages", "help topics"),
        ("descendant_count", "help topics"),
        ("overview questions", "help topics"),
        ("_sessions.json", "help topics"),
        ("fresh tail", "help topics"),
        ("dreaming", "help vault"),
        ("heat", "help vault"),
        ("cold", "help vault"),
        ("supersession", "help vault"),
        ("lessons", "help sessions"),
        ("summaries", "help sessions"),
        ("commitments", "help sessions"),
        ("commitments", "due"),
        ("claims", "help wiki"),
        ("certainty", "help wiki"),
        ("because", "help links"),
        ("part of", "help links"),
        ("transcript lines", "help tools"),
        ("conflict copies", "help vault"),
        ("incubator", "help vault"),
        ("several agents", "help clients"),
        ("phases", "help tools"),
        ("ask_below", "help hooks"),
        ("providers", "help install"),
        ("SOUL.md", "help hooks"),
        ("harness", "help tools"),
        ("MemOS", "help library"),
        ("storage slot", "help slots"),
        ("index slot", "help slots"),
    ],
)
def test_another_word_finds_the_pages_and_settings_that_mention_it(word: str, place: str):
    ran = CliRunner().invoke(commands, ["help", *word.split()])
    assert ran.exit_code == 0
    assert any(line.startswith(f"mcp-memory {place} ") for line in ran.output.splitlines()), ran.output
