"""Commands that take notes out of answers and bring them back: forget, archive, restore, erase."""

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

import click

from mcp_memory.cli import note_options
from mcp_memory.cli.command_context import CommandContext, command_options, flag
from mcp_memory.cli.console import Facts, Remark, fit, short_id, table
from mcp_memory.cli.notes.note_choice import NOT_FORGOTTEN, WITH_SUPERSEDED, note_words, with_note
from mcp_memory.cli.notes.notes import chain_lines
from mcp_memory.errors import InvalidInput
from mcp_memory.text.pluralize import counted

MOST_AT_ONCE = 1000
"""The most notes in one question to the engine."""

_client = click.option("--client", help="Only notes that this client forgot, e.g. claude-code; cli = the command line.")
_since = note_options.since("Only notes forgotten from this time on")


@click.command()
@note_words
@click.option("--reason", help="Why, in a few words.")
@flag("--yes", help="Don't ask.")
@command_options
def forget(cli: CommandContext, note: str, reason: str | None, yes: bool) -> None:
    """Hide a note or log entry, even your own, from every answer. The file stays.

    NOTE is an id, a path, or a few words from the note, for which it shows what it found and asks.

    \b
    mcp-memory forget notes/fact/old-port.md
    mcp-memory forget old port
    mcp-memory forget --yes old port       the one note with these words
    mcp-memory restore old port"""
    answer = with_note(
        cli, note, lambda target: cli.ask("forget", target=target, reason=reason), NOT_FORGOTTEN, asks=not yes
    )
    again = chain_lines("now holds", answer.get("holds_now"))
    cli.show(answer, [fit("forgotten", answer["path"]), _way_back(answer), *again, *_behind(answer)])


@click.command()
@click.argument("note", nargs=-1)
@flag("--all", "everything", help="Move all notes that `archive` lists to _archive/.")
@command_options
def archive(cli: CommandContext, note: tuple[str, ...], everything: bool) -> None:
    """Mark a note (id, path or a few of its words) as archived: its file stays, and only `search --archived` finds it.

    Without NOTE, list outdated notes, with reasons: expired, superseded over a year ago, or old and never used. --all
    moves their files to _archive/, and links follow. `review` proposes lessons from expired tasks.

    \b
    mcp-memory archive notes/decision/old-plan.md
    mcp-memory archive                   what could go to _archive/, and why
    mcp-memory archive --all             move these there
    mcp-memory restore old plan          bring one back"""
    words = " ".join(note)
    if words:
        if everything:
            raise InvalidInput("a note can't be combined with --all", hint="pass either a note or --all")
        answer = with_note(cli, words, lambda target: cli.ask("forget", target=target, archive=True), WITH_SUPERSEDED)
        cli.show(answer, [fit(answer["status"], answer["path"]), _way_back(answer), *_behind(answer)])
        return
    found = cli.ask("waiting", only=["archive"])["waiting"]
    if everything and found:
        done = cli.ask("review", items=[one["id"] for one in found], choice="archive")
        cli.show(done, [fit("moved to", one["path"]) for one in done["done"]])
        return
    lines = [f"{short_id(one['id'].removeprefix('archive-'))}  {one['why']}  {one['text']}" for one in found]
    cli.show({"waiting": found}, lines or ["nothing is ready for _archive/"])


@click.command()
@click.argument("note", nargs=-1)
@_client
@note_options.session
@_since
@click.option("--path", metavar="FOLDER", help="Only notes in this folder of the vault, e.g. an import's.")
@flag("--dry-run", help="List what would be restored. Works only without NOTE.")
@flag("--yes", help="Don't ask.")
@command_options
def restore(cli: CommandContext, note: tuple[str, ...], dry_run: bool, yes: bool, **filters: Any) -> None:
    """Bring back a forgotten note or log entry, byte for byte, or everything that a client forgot, or all forgotten
    notes in a folder. A note that is marked as archived loses the mark. A note in _archive/ returns to its old place,
    and links to it are updated.

    NOTE is an id, a path, or words from its title. If several notes match, you choose.

    \b
    mcp-memory restore old port
    mcp-memory restore --client claude-code --since 2026-11-21T14:30 --dry-run
    mcp-memory restore --path imported/obsidian-notes"""
    several, words = any(filters.values()), " ".join(note)
    if bool(note) == several or (dry_run and not several):
        raise InvalidInput(
            "name one note, or which ones by --client, --session, --since or --path", hint="see list --deleted"
        )
    if words:
        answer = with_note(
            cli,
            words,
            lambda target: cli.ask("restore", target=target),
            ("archived",),
            lambda: cli.ask("forgotten")["forgotten"],
        )
        later = chain_lines("but it was replaced by", answer.get("holds_now"))
        restored = "restored" if answer["status"] == "active" else f"restored, {answer['status']} as before"
        cli.show(answer, [fit(restored, answer["path"]), *later, *_behind(answer)])
        return
    _restore_several(cli, cli.ask("forgotten", **filters)["forgotten"], dry_run=dry_run, yes=yes)


def _restore_several(cli: CommandContext, notes: Sequence[Facts], *, dry_run: bool, yes: bool) -> None:
    planned = [*forgotten_lines(notes), f"{counted(len(notes), 'note')} would come back"]
    if not cli.agree("restore them?", planned, yes=yes or not notes, dry_run=dry_run):
        cli.show({"dry_run": True, "restored": notes, "refused": []}, [])
        return
    refused: dict[str, str] = {}
    ids = [note["id"] for note in notes]
    for start in range(0, len(ids), MOST_AT_ONCE):
        refused |= cli.ask("restore_all", targets=ids[start : start + MOST_AT_ONCE])["refused"]
    restored = [note for note in notes if note["id"] not in refused]
    failed = [{**note, "why": refused[note["id"]]} for note in notes if note["id"] in refused]
    lines = [f"not restored: {note['id']}: {note['why']}" for note in failed]
    payload = {"dry_run": False, "restored": restored, "refused": failed}
    cli.show(payload, [f"{counted(len(restored), 'note')} restored", *lines] if notes else [])
    if failed:
        click.get_current_context().exit(1)


@click.command()
@note_words
@flag("--yes", help="Don't ask. NOTE must be an id or a path.")
@command_options
def erase(cli: CommandContext, note: str, yes: bool) -> None:
    """Delete a note or log entry (id, path or a few of its words) and everything that mcp-memory kept of it. This can't
    be undone.

    \b
    mcp-memory erase notes/fact/old-port.md
    mcp-memory erase old port"""
    if not yes:
        cli.refuse_questions()
        note, planned = with_note(cli, note, lambda target: (target, cli.ask("erase", target=target)), NOT_FORGOTTEN)
        lines = ["this is deleted for good:", *(f"  {line}" for line in planned["erased"])]
        cli.agree("erase it?", lines, yes=yes)
    answer = cli.ask("erase", target=note, sure=True)
    erased = [f"erased: {line}" for line in answer["erased"]]
    cli.show(answer, [*erased, "not erased:", *(f"  {line}" for line in answer["beyond"])])


def _way_back(answer: Facts) -> str:
    return f"  → mcp-memory restore {shlex.quote(short_id(answer['id']))}"


def forgotten_lines(notes: Sequence[Facts]) -> list[str]:
    rows: list[tuple[str, ...]] = []
    for note in notes:
        client, at = note["client"] or "unknown client", (note["at"] or "unknown time")[:16].replace("T", " ")
        session, reason = note["session"], note["reason"]
        by = f"{client} in {session}" if session else client
        rows.append((at, f"{note['title']}: {reason}" if reason else note["title"], by, short_id(note["id"])))
    return table(rows, 1)


def _behind(answer: Facts) -> Iterator[Remark]:
    if behind := answer.get("behind"):
        yield Remark(f"the index follows with the next sweep: {behind}")
