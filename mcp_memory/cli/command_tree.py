"""Finds a command by its name, runs it, and turns errors into messages and exit codes."""

import os
import re
import sys
from io import TextIOWrapper
from pathlib import Path

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


_GROUPS = {
    "Everyday": {
        "setup": ("setup.setup:setup", "Connect your agents and import what they know, step by step"),
        "start": ("daemon.running:start", "Start the daemon in the background, or at each login"),
        "append": ("notes.notes:append", "Store a note (also: add)"),
        "search": ("notes.notes:search", "Find notes by their words and meaning"),
        "recall": ("notes.notes:recall", "Read what an agent would get for a question"),
        "show": ("notes.editing:show", "Print one note, and the topic it is filed under"),
        "list": ("notes.listing:list_", "List notes, newest first, or forgotten notes"),
        "edit": ("notes.editing:edit", "Change a note in your editor, or from standard input"),
        "forget": ("notes.forgetting:forget", "Hide a note from every answer; its file stays"),
        "restore": ("notes.forgetting:restore", "Bring back forgotten notes"),
        "changes": ("notes.changes:changes", "List changes to notes: what, when, and by whom"),
        "undo": ("notes.changes:undo", "Undo a change, a run, or everything a session or client did"),
        "review": ("sessions.review:review", "Decide on what waits: proposals from sessions, contradictions"),
        "status": ("daemon.running:status", "Show whether the daemon is running, and the state of its index"),
        "doctor": ("daemon.doctor:doctor", "List problems, each with a remedy"),
        "help": ("help:help_", "Show a page of the guide or the help of a command"),
    },
    "Notes": {
        "due": ("notes.listing:due", "List commitments: overdue, today, this week, done"),
        "stats": ("notes.listing:stats", "Count notes, or list unanswered questions"),
        "why": ("sessions.why:why", "Show which notes agents were given unasked, and why"),
        "mute": ("sessions.why:mute", "Stop giving a note to agents unasked"),
        "archive": ("notes.forgetting:archive", "Mark a note as archived, or list outdated notes"),
        "teach": ("notes.teaching:teach", "Put a note into AGENTS.md, CLAUDE.md, TOOLS.md or a skill"),
        "links": ("notes.links:links", "List or check links, or the code that notes name"),
        "erase": ("notes.forgetting:erase", "Delete a note and all traces of it for good"),
    },
    "Sessions": {
        "sessions": ("sessions.transcripts:sessions", "Capture, extract and sum up agents' sessions"),
        "dream": ("sessions.dreaming:dream", "Propose recurring facts for MEMORY.md, in DREAMS.md"),
        "chat": ("sessions.chat:chat", "Talk with a language model that has your memory"),
    },
    "Topics": {
        "topics": ("topics.topics:topics", "Show, rename, move, merge, split and compact topics"),
        "wiki": ("topics.subjects:wiki", "Show claims about a subject, with evidence and open decisions"),
        "projects": ("topics.subjects:projects", "List projects and their repositories; merge or split them"),
    },
    "Files and backup": {
        "import": ("transfer.importing:import_", "Import another program's notes, or an export"),
        "export": ("transfer.exporting:export", "Write all notes to one file"),
        "share": ("transfer.exporting:share", "Copy a topic to a folder, for other people"),
        "adopt": ("daemon.admin:adopt", "Let agents change notes that they did not write"),
    },
    "Clients": {
        "install": ("clients.installing:install", "Connect Claude Code, Codex, Gemini CLI and others"),
        "uninstall": ("daemon.uninstall:uninstall", "Disconnect a client, or remove everything but the vault"),
        "clients": ("clients.clients:clients", "List connected clients; show hook results, tokens, the plugin"),
    },
    "Daemon": {
        "stop": ("daemon.running:stop", "Stop the daemon"),
        "restart": ("daemon.running:restart", "Restart the daemon with the current configuration"),
        "serve": ("daemon.running:serve", "Serve the vault in the foreground"),
        "jobs": ("daemon.admin:jobs", "List, run and pause background jobs"),
        "config": ("daemon.admin:config", "Show the configuration, and where it is"),
    },
}
"""The commands by heading, each with its module and a purpose of at most 64 characters, which fits a line of help."""


def list_commands() -> str:
    """Return all commands under their headings, a line each."""
    width = max(map(len, COMMANDS))
    blocks: list[str] = []
    for heading, group in _GROUPS.items():
        lines = [f"  {name:<{width}}  {about}" for name, (_, about) in group.items()]
        blocks.append("\n".join([f"{heading}:", *lines]))
    return "\n\n".join([*blocks, "Examples and options: mcp-memory COMMAND --help"])


COMMANDS = {name: place for group in _GROUPS.values() for name, (place, _) in group.items()}

SHORTCUTS = {
    "add": "append", "today": "list --today", "inbox": "review", "conflicts": "review --conflicts",
    "token": "clients token", "commands": "help commands",
}  # fmt: skip
"""Words that people guess, and the command that each runs. Words that could mean a change to notes are only answered
with a suggestion."""

_OTHER_WORDS = {
    "append": "store save remember write note", "search": "find query grep", "recall": "ask",
    "show": "get read cat view", "list": "ls all notes recent last latest",
    "list --text": "head tail", "list --deleted": "trash bin forgotten deleted",
    "edit": "update change modify set open", "undo": "revert rollback", "forget": "rm remove delete del hide",
    "restore": "unforget undelete unarchive", "archive": "retire over", "erase": "purge wipe",
    "changes": "diff activity log history blame", "stats": "count size usage info",
    "stats --unanswered": "gaps unanswered questions",
    "status": "ps running ping daemon", "doctor": "check health diagnose fix", "doctor --repair": "repair recover",
    "doctor --reindex": "reindex rebuild index", "review": "candidates accept",
    "review --conflicts": "contradictions", "links --check": "lint",
    "links --code": "refs references code grounding stale",
    "due": "reminders remind todo tasks promises commitments agenda", "topics": "tree topic",
    "topics rename": "rename", "topics move": "move", "topics merge": "merge", "topics split": "split",
    "topics compact": "compact tidy", "topics organize": "organize", "sessions capture": "capture transcripts",
    "sessions extract": "extract", "sessions digest": "digest digests",
    "stop": "kill quit", "export": "backup dump", "import": "load ingest",
    "install": "connect", "setup": "init", "uninstall": "disconnect", "serve": "run server", "restart": "reload",
    "config": "settings configure options", "help": "man docs guide manual", "help daemon": "service systemd",
    "help commands": "reset", "clients token": "tokens auth", "clients hooks": "hooks hook-log",
    "clients plugin": "plugin plugins", "--version": "version",
}  # fmt: skip
MEANT = {word: name for name, words in _OTHER_WORDS.items() for word in words.split()}
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
