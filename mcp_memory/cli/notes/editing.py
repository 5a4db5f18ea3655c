"""Commands for one note: show, edit."""

import os
import shlex
import sys
from contextlib import suppress
from pathlib import Path, PurePosixPath
from tempfile import mkdtemp
from typing import Any

import click

from mcp_memory.cli.command_context import CommandContext, command_options, flag
from mcp_memory.cli.console import Facts, Heading, confirm, facts, fit, print_status, short_id
from mcp_memory.cli.notes.note_choice import NOT_FORGOTTEN, note_words, with_note
from mcp_memory.errors import AlreadyExists, InvalidInput, McpMemoryError, NotFound, PreconditionFailed


@click.command()
@note_words
@flag("--history", help="Show all notes that replaced one another, newest first.")
@command_options
def show(cli: CommandContext, note: str, history: bool) -> None:
    """Print a note as it is on disk, and its topic. NOTE is an id, a path, a topic's folder or title, or a few words
    from the note. If several notes match, you choose.

    \b
    mcp-memory show payments                       a topic's page
    mcp-memory show notes/decision/we-use-uv.md
    mcp-memory show KABTV4                         the id that append printed
    mcp-memory show uv pip                         the note with these words
    mcp-memory show notes/fact/port.md --history   what it replaced, and what replaced it"""
    operation = "history" if history else "show"
    answer = with_note(cli, note, lambda target: cli.ask(operation, target=target), NOT_FORGOTTEN)
    if history:
        cli.show(answer, [line for link in answer["chain"] for line in _link_lines(link)])
        return
    days = [when.partition("T")[0] for when in (answer["created"], answer["updated"]) if when]
    lines = facts(
        {
            "path": answer["path"],
            "id": answer["id"],
            "kind": "page of a topic" if answer["shelf"] == "summary" else answer["kind"],
            "dates": " to ".join(dict.fromkeys(days)),
            "state": "active again, whatever its file says: what replaced it has ended, was forgotten or is gone"
            if answer["has_returned"]
            else "",
            "topic": " › ".join(topic["title"] for topic in answer["in"]),
        }
    )
    children = [f"  {child['path']}  {child['title']}" for child in answer["children"]]
    more = ["", Heading("read on with mcp-memory show:"), *children] if children else []
    cli.show(answer, [Heading(answer["title"]), *lines, "", answer["text"].rstrip("\n"), *more])


def _link_lines(link: Facts) -> list[Any]:
    day, until = (when and when[:16].replace("T", " ") for when in (link["date"], link["until"]))
    span = f"{day or 'unknown date'}{f' until {until}' if until else ''}"
    who = " in ".join(filter(None, (link["source"] or "unknown client", link["session"])))
    text = "(forgotten: mcp-memory restore brings it back)" if link["text"] is None else link["text"]
    lines = [f"  {line}".rstrip() for line in text.splitlines()]
    return [Heading(f"{span}  {link['status']}  {who}"), f"  {link['id']}  {link['path']}", *lines, ""]


@click.command()
@note_words
@flag("--new", "create", help="NOTE is the path of a new file, which may be in a folder of your own.")
@click.option("--expected", metavar="ETAG", help="Write only if the note still has this etag (see append --json).")
@flag("--yes", help="Don't ask.")
@command_options
def edit(cli: CommandContext, note: str, create: bool, expected: str | None, yes: bool) -> None:
    """Change a note or entry (id, path or a few of its words) in your editor ($VISUAL, $EDITOR), or replace its text
    from standard input.

    Unlike append, it also writes into your own folders; before it creates a file, or replaces one of your own from
    standard input, it asks. If your text omits the lines between --- at the top of the note, they stay as they are. If
    another program changes the note meanwhile, nothing is overwritten, your text is kept in a file, and the exit code
    is 6.

    \b
    mcp-memory edit notes/fact/port.md
    echo "The port is 8090." | mcp-memory edit 01M7Z3HPR77M1K414E2NKABTV4
    mcp-memory edit memory/2026-11-21.md#1f0c9a52b7d3e468   (one entry of a log)
    mcp-memory edit --new Projects/kiln.md --yes < plan.md"""
    data = b"" if sys.stdin.isatty() else sys.stdin.buffer.read()
    is_piped = bool(data.strip())
    if not is_piped and not (sys.stdin.isatty() or os.environ.get("VISUAL") or os.environ.get("EDITOR")):
        raise InvalidInput("no text", hint="pipe it in, or set VISUAL to your editor")
    before: Facts = {"path": note, "text": "", "etag": None}
    if create:
        with suppress(NotFound):
            if cli.ask("update", target=note)["path"] == note:  # a note that was there may be elsewhere now
                raise AlreadyExists(f"{note} exists", hint="without --new, edit changes it")
    else:
        note, before = with_note(cli, note, lambda target: (target, cli.ask("update", target=target)))
    if not yes and (create or (is_piped and before["owner"] == "personal")):
        print_status(f"{before['path']} {'will be a new file' if create else 'is your own file'}")
        confirm("Write it?", abort=True)
    file = Path(mkdtemp(prefix="mcp-memory-edit-")) / PurePosixPath(before["path"]).name
    file.write_bytes(data if is_piped else before["text"].encode("utf-8", "surrogateescape"))
    if not is_piped:
        data = _edited(file)
        expected = expected or before["etag"]
    text = data.decode("utf-8", "surrogateescape")
    try:
        answer = cli.ask("update", target=note, text=text, expected=expected, create=create or None)
    except McpMemoryError as error:
        _say_where_the_text_is(error, note, file)
        raise
    file.unlink()
    file.parent.rmdir()
    cli.show(answer, [fit(answer["outcome"], answer["path"], short_id(answer["id"]))])


def _edited(file: Path) -> bytes:
    """Return the file's bytes after you have edited it. Raises InvalidInput without an editor."""
    try:
        click.edit(filename=str(file))
    except click.ClickException as error:
        what = f"{error.message} Nothing was changed; what you wrote is in {file}"
        raise InvalidInput(what, hint="set VISUAL to your editor, or pipe the text in") from error
    return file.read_bytes()


def _say_where_the_text_is(error: McpMemoryError, note: str, file: Path) -> None:
    error.message += f"; your text is in {file}"
    if isinstance(error, PreconditionFailed):
        error.hint = f"compare it with mcp-memory show {shlex.quote(note)}"
    again = f"mcp-memory edit {shlex.quote(note)} < {shlex.quote(str(file))}"
    error.hint = f"{error.hint or 'correct it'}; then: {again}"
