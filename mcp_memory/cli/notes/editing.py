"""Commands that change one note: edit, open, archive."""

import os
import shlex
import sys
from pathlib import Path, PurePosixPath
from tempfile import mkdtemp
from typing import Any

import click

from mcp_memory.cli.console import fit, short_id
from mcp_memory.cli.notes.note_choice import note_words, notes_found, with_note
from mcp_memory.cli.options import CommandContext, command_options
from mcp_memory.errors import InvalidInput, McpMemoryError, PreconditionFailed
from mcp_memory.text.escape_invisible import visible


@click.command()
@note_words
@click.option("--expected", metavar="ETAG", help="Write only if the note still has this etag (see append --json).")
@command_options
def edit(cli: CommandContext, note: str, expected: str | None) -> None:
    """Change a note or entry (id, path or a few words of it) in your editor ($VISUAL, $EDITOR), or to the text on
    standard input.

    The lines between --- at the top of a note stay as they are if your text leaves them out. If another program changes
    the note meanwhile, nothing is overwritten: your text is kept in a file, and the exit code is 6.

    \b
    mcp-memory edit notes/fact/port.md
    echo "The port is 8090." | mcp-memory edit 01M7Z3HPR77M1K414E2NKABTV4
    mcp-memory edit memory/2026-11-21.md#1f0c9a52b7d3e468   (one entry of a log)"""
    data = b"" if sys.stdin.isatty() else sys.stdin.buffer.read()
    is_piped = bool(data.strip())
    if not is_piped and not (sys.stdin.isatty() or os.environ.get("VISUAL") or os.environ.get("EDITOR")):
        raise InvalidInput("no text", hint="pipe it in, or set VISUAL to your editor")
    note, before = with_note(
        cli, note, lambda target: (target, cli.ask("update", target=target)), lambda: notes_found(cli, note)
    )
    file = Path(mkdtemp(prefix="mcp-memory-edit-")) / PurePosixPath(before["path"]).name
    file.write_bytes(data if is_piped else before["text"].encode("utf-8", "surrogateescape"))
    if not is_piped:
        try:
            click.edit(filename=str(file))
        except click.ClickException as error:
            what = f"{error.message} Nothing was changed; what you wrote is in {file}"
            raise InvalidInput(what, hint="set VISUAL to your editor, or pipe the text in") from error
        data = file.read_bytes()
        expected = expected or before["etag"]
    text = data.decode("utf-8", "surrogateescape")
    try:
        answer = cli.ask("update", target=note, text=text, expected=expected)
    except McpMemoryError as error:
        error.message += f"; your text is in {file}"
        if isinstance(error, PreconditionFailed):
            error.hint = f"compare it with mcp-memory show {shlex.quote(note)}"
        again = f"mcp-memory edit {shlex.quote(note)} < {shlex.quote(str(file))}"
        error.hint = f"{error.hint or 'correct it'}; then: {again}"
        raise
    file.unlink()
    file.parent.rmdir()
    cli.show(answer, [fit(answer["outcome"], answer["path"], short_id(answer["id"]))])


@click.command("open")
@click.argument("note", nargs=-1)
@command_options
def open_(cli: CommandContext, note: tuple[str, ...]) -> None:
    """Open a note's file (id, path or words) in your editor ($VISUAL, $EDITOR), or without NOTE the vault's folder.

    You edit the note itself. `edit` works on a copy instead, and writes only if nothing else changed the note
    meanwhile; use it for a note that agents are writing to. A captured session, or a note of a read-only source, is
    shown in the pager. In a pipe, and with --json, the path is printed and nothing is opened.

    \b
    mcp-memory open
    mcp-memory open notes/fact/port.md
    wc -w "$(mcp-memory open 4C4ABE)"
    """
    vault, words = cli.settings.vault_path.resolve(), " ".join(note)
    shown: dict[str, Any] = {"path": ""}
    if words:
        shown = with_note(cli, words, lambda wanted: cli.ask("show", target=wanted), lambda: notes_found(cli, words))
    file, is_ours = vault / shown["path"], not shown["path"].startswith("@")
    if cli.as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        path = str(file) if is_ours else shown["path"]
        cli.show({"path": path}, [path])
    elif not is_ours:
        click.echo_via_pager(visible(shown["text"]))
    elif note:
        click.edit(filename=str(file))
    elif click.launch(str(file)):
        cli.show({}, [str(file)])  # no desktop


@click.command()
@note_words
@command_options
def archive(cli: CommandContext, note: str) -> None:
    """Retire a note (id, path or a few words of it): only `search --archived` finds it, and links to it still work.

    \b
    mcp-memory archive notes/decision/old-plan.md
    mcp-memory restore notes/decision/old-plan.md"""
    answer = with_note(
        cli, note, lambda target: cli.ask("forget", target=target, archive=True),
        lambda: notes_found(cli, note, ("active", "superseded")),
    )  # fmt: skip
    way_back = f"  → mcp-memory undo {shlex.quote(short_id(answer['id']))}"
    cli.show(answer, [fit(answer["status"], answer["path"]), way_back])


@click.command()
@note_words
@command_options
def unarchive(cli: CommandContext, note: str) -> None:
    """Bring an archived note back: from _archive/ to where it was, links following, or with its status active again.

    \b
    mcp-memory unarchive _archive/notes/task/move-to-uv.md"""
    answer = with_note(
        cli, note, lambda target: cli.ask("unarchive", target=target), lambda: notes_found(cli, note, ("archived",))
    )
    cli.show(answer, [fit("active", answer["path"])])


@click.command("over")
@click.option("--archive", "is_meant", is_flag=True, help="Move all of these to _archive/.")
@command_options
def over(cli: CommandContext, is_meant: bool) -> None:
    """List notes whose time has passed, with reasons: long expired or superseded, or old and never used. Also list
    standing orders that nothing has asked for in months. To take one of these out of every start, edit `always_load`,
    or move the file.

    Lessons from expired tasks are proposed in `review`.

    \b
    mcp-memory over
    mcp-memory over --archive     move them to _archive/; unarchive takes each back"""
    found = cli.ask("archive_proposed")["proposed"]
    if not is_meant or not found:
        lines = [f"{short_id(one['id'])}  {', '.join(one['reasons'])}  {one['text']}" for one in found]
        cli.show({"proposed": found}, lines or ["nothing is over"])
        return
    done = cli.ask("archive_proposed", ids=[one["id"] for one in found])
    cli.show(done, [fit("archived", path) for path in done["archived"]])
