"""Finds a command by its name, runs it, and turns errors into messages and exit codes."""

import os
import re
import sys
import tomllib
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import click

from mcp_memory import __version__
from mcp_memory.cli.command_context import CommandContext, located
from mcp_memory.cli.console import emit, fail, tools_to_commands
from mcp_memory.errors import Busy, InvalidInput, McpMemoryError, NotFound, NotRunning, PreconditionFailed
from mcp_memory.runtime.private_files import failed

_EXIT: tuple[tuple[type[McpMemoryError], int], ...] = (
    (InvalidInput, 2),
    (Busy, 3),
    (NotRunning, 3),
    (NotFound, 4),
    (PreconditionFailed, 6),
)


class Commands(click.Group):
    """Lists commands under headings, and imports a command's module when it runs. cloup and rich-click have headings,
    too, but need each command's object first."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 -- click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        place = COMMANDS.get(cmd_name)
        if place is None:
            raise click.UsageError(f"No such command {cmd_name!r}: {_suggestion(ctx, cmd_name)}")
        module, _, name = place.partition(":")
        import importlib

        command: click.Command = getattr(importlib.import_module(f"mcp_memory.cli.{module}"), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        words = SHORTCUTS[args[0]].split() if args[0] in SHORTCUTS else args[:1]
        return super().resolve_command(ctx, [*words, *args[1:]])

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 -- likewise
        """Describe the everyday commands and name the others, without importing a command, as click would."""
        everyday, *others = _GROUPS.items()
        with formatter.section(everyday[0]):
            formatter.write_dl([(name, about) for name, (_, about) in everyday[1].items()])
        with formatter.section("More, explained by: mcp-memory help commands"):
            formatter.write_dl([(heading, ", ".join(group)) for heading, group in others])


_TABLE: dict[str, Any] = tomllib.loads(Path(__file__).with_name("commands.toml").read_text("utf-8"))
_GROUPS: dict[str, dict[str, list[str]]] = _TABLE["groups"]


def list_commands() -> str:
    """Return all commands under their headings, a line each."""
    width = max(map(len, COMMANDS))
    blocks: list[str] = []
    for heading, group in _GROUPS.items():
        lines = [f"  {name:<{width}}  {about}" for name, (_, about) in group.items()]
        blocks.append("\n".join([f"{heading}:", *lines]))
    return "\n\n".join([*blocks, "Examples and options: mcp-memory COMMAND --help"])


COMMANDS = {name: place for group in _GROUPS.values() for name, (place, _) in group.items()}

SHORTCUTS: dict[str, str] = _TABLE["shortcuts"]
"""Words that people guess, and the command that each runs. Words that could mean a change to notes are only answered
with a suggestion."""

MEANT = {word: name for name, words in _TABLE["other_words"].items() for word in words.split()}
"""Maps other words to the commands that they mean. A command that is only spelled like such a word may do the
opposite."""


def _suggestion(ctx: click.Context, word: str) -> str:
    if word in {"logs", "logfile"}:
        folder = ctx.ensure_object(CommandContext).settings.state.log.parent
        return f"the daemon's log is in {folder}; mcp-memory changes lists what became of the notes"
    import difflib  # it would take 5 ms of every command's start

    if near := [MEANT[word]] if word in MEANT else difflib.get_close_matches(word, COMMANDS, n=1):
        return f"did you mean {near[0]}?{' (erase deletes a note for good)' if near[0] == 'forget' else ''}"
    return "mcp-memory help commands lists all commands"


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="mcp-memory")
@located
@click.pass_context
def commands(ctx: click.Context) -> None:
    """Memory for coding agents: Markdown files, served by one local daemon.

    \b
    mcp-memory start                       serve ~/memory in the background
    mcp-memory append "we use uv, not pip" store a note
    mcp-memory search "uv or pip"          find it
    mcp-memory doctor                      list problems and remedies"""
    ctx.ensure_object(CommandContext)


def run() -> int:
    """Run the command, and print an error as one line on standard error, or as JSON with --json."""
    for stream in (sys.stdout, sys.stderr):
        # A file's name may hold bytes that aren't UTF-8, and a pipe may want ASCII.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if not sys.stdin:  # standard input was closed
        sys.stdin = Path(os.devnull).open()  # noqa: SIM115 -- until the end
    try:
        # Not `main`, which exits with 1 if the reader is gone.
        with commands.make_context("mcp-memory", sys.argv[1:]) as context:
            commands.invoke(context)
        sys.stdout.flush()
    except (click.exceptions.Abort, KeyboardInterrupt):
        return 130
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        context, message = getattr(error, "ctx", None), _without_texts(error.format_message())
        if "--json" in sys.argv:
            return _report(InvalidInput(message))
        click.UsageError(message, context).show()
        return error.exit_code
    except BrokenPipeError:
        # The reader, such as `head`, has seen enough, so nothing takes what is left in the buffer.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except McpMemoryError as error:
        return _report(error)
    except OSError as error:
        if not error.filename:
            raise
        return _report(failed(error, str(error.filename)))
    return 0


def _without_texts(message: str) -> str:
    """Return a usage error without arguments that may be the text of a note. Names of options and commands stay, and
    values that are too short for a statement."""
    for passed in sorted(sys.argv[1:], key=len, reverse=True):
        if len(passed) > SHORT and not _NAME.fullmatch(passed):
            for shown in (repr(passed), passed):
                message = re.sub(rf"(?<!\w){re.escape(shown)}(?!\w)", "…", message)
    return _EXTRA.sub(r"\1 (a text of several words needs quotes)", message)


SHORT = 16
_NAME = re.compile(r"(?:-{1,2}|(?!-))[a-z]+(?:-[a-z]+)?")
_EXTRA = re.compile(r"(unexpected extra arguments?) \(.*\)", re.DOTALL)


def _report(error: McpMemoryError) -> int:
    hint = error.hint and tools_to_commands(error.hint)
    if "--json" in sys.argv:
        emit({"error": error.message, "code": error.code, "hint": hint})
    else:
        fail(error.message, hint)
    return next((code for kind, code in _EXIT if isinstance(error, kind)), 1)
