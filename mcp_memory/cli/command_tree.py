"""Finds a command by its name, runs it, and turns errors into messages and exit codes."""

from __future__ import annotations

import os
import re
import sys
from io import TextIOWrapper

import click

from mcp_memory import __version__
from mcp_memory.cli.console import emit, fail, tools_to_commands
from mcp_memory.cli.options import CommandContext, located
from mcp_memory.errors import Busy, InvalidInput, McpMemoryError, NotFound, NotRunning, PreconditionFailed

_EXIT: tuple[tuple[type[McpMemoryError], int], ...] = (
    (InvalidInput, 2),
    (Busy, 3),
    (NotRunning, 3),
    (NotFound, 4),
    (PreconditionFailed, 6),
)


class Commands(click.Group):
    """Lists commands in the order a newcomer needs them, and imports a command's module when it runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 -- click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 -- likewise
        if cmd_name not in COMMANDS:
            import difflib  # 5 ms of every command's start

            synonym = _SYNONYMS.get(cmd_name)
            near = [synonym] if synonym else difflib.get_close_matches(cmd_name, COMMANDS, n=1)
            hint = f"did you mean {near[0]}?" if near else "mcp-memory --help lists all commands"
            raise click.UsageError(f"No such command {cmd_name!r}: {hint}")
        module, _, name = COMMANDS[cmd_name].partition(":")
        import importlib

        command: click.Command = getattr(importlib.import_module(f"mcp_memory.cli.{module}"), name)
        return command


COMMANDS = {
    "start": "daemon.running:start",
    "status": "daemon.running:status",
    "stop": "daemon.running:stop",
    "restart": "daemon.running:restart",
    "serve": "daemon.running:serve",
    "install": "clients.installing:install",
    "uninstall": "daemon.uninstall:uninstall",
    "doctor": "daemon.doctor:doctor",
    "search": "notes.notes:search",
    "recall": "notes.notes:recall",
    "append": "notes.notes:append",
    "edit": "notes.editing:edit",
    "archive": "notes.editing:archive",
    "forget": "notes.forgotten:forget",
    "restore": "notes.forgotten:restore",
    "list": "notes.forgotten:list_",
    "erase": "notes.forgotten:erase",
    "changes": "notes.changes:changes",
    "undo": "notes.changes:undo",
    "show": "topics.topics:show",
    "review": "sessions.review:review",
    "conflicts": "notes.conflicts:conflicts",
    "extract": "sessions.extraction:extract",
    "audit": "sessions.extraction:audit",
    "capture": "sessions.capturing:capture",
    "tree": "topics.topics:tree",
    "compact": "topics.topics:compact",
    "share": "transfer.sharing:share",
    "import": "transfer.importing:import_",
    "export": "transfer.exporting:export",
    "log": "notes.notes:log",
    "recover": "daemon.doctor:recover",
    "adopt": "daemon.admin:adopt",
    "reindex": "daemon.admin:reindex",
    "why": "sessions.why:why",
    "mute": "sessions.why:mute",
    "hooks": "clients.hooks:hooks",
    "config": "daemon.admin:config",
    "service": "daemon.service:service",
    "plugin": "clients.plugin:plugin",
    "token": "daemon.admin:token",
    "headers": "clients.hooks:headers",
    "stdio": "clients.hooks:stdio",
    "hook": "clients.hooks:hook",
    "eval": "evaluation.evaluate:evaluate",
    "calibrate": "evaluation.calibrate:calibrate",
    "help": "help:help_",
}

_SYNONYMS = {
    "get": "show", "read": "show", "cat": "show", "view": "show", "open": "show", "find": "search", "query": "search",
    "grep": "search", "ask": "recall", "add": "append", "store": "append", "save": "append", "remember": "append",
    "write": "append", "ls": "tree", "remove": "forget", "rm": "forget",
    "unforget": "restore", "update": "edit", "change": "edit", "retire": "archive", "run": "serve", "history": "log",
    "setup": "install",
}  # fmt: skip
"""Other words for a command; the command that is spelled most like one of them may do the opposite."""


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
    mcp-memory doctor                      what is wrong, and what to do
    """
    ctx.ensure_object(CommandContext)


def run() -> int:
    """Run the command, and print an error as one line on standard error, or as JSON with --json."""
    for stream in (sys.stdout, sys.stderr):
        # A file's name may hold bytes that aren't UTF-8, and a pipe may want ASCII.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        # Not `main`, which exits with 1 if the reader is gone.
        with commands.make_context("mcp-memory", sys.argv[1:]) as context:
            commands.invoke(context)
        sys.stdout.flush()
    except (click.exceptions.Abort, KeyboardInterrupt):
        return 130
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as error:
        context = error.ctx if isinstance(error, click.UsageError) else None
        click.UsageError(_without_texts(error.format_message()), context).show()
        return error.exit_code
    except BrokenPipeError:
        # The reader, such as `head`, has seen enough, so nothing takes what is left in the buffer.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except McpMemoryError as error:
        return _report(error)
    return 0


def _without_texts(message: str) -> str:
    """A usage error without arguments that may be the text of a note; only names of options and commands stay."""
    for passed in sorted(sys.argv[1:], key=len, reverse=True):
        if not _NAME.fullmatch(passed):
            for shown in (repr(passed), passed):
                message = message.replace(shown, "…")
    return _EXTRA.sub(r"\1 (a text of several words needs quotes)", message)


_NAME = re.compile(r"(?:-{1,2}|(?!-))[a-z]+(?:-[a-z]+)?")
_EXTRA = re.compile(r"(unexpected extra arguments?) \(.*\)", re.DOTALL)


def _report(error: McpMemoryError) -> int:
    hint = error.hint and tools_to_commands(error.hint)
    if "--json" in sys.argv:
        emit({"error": error.message, "code": error.code, "hint": hint})
    else:
        fail(error.message, hint)
    return next((code for kind, code in _EXIT if isinstance(error, kind)), 1)
