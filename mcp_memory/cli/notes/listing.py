"""Commands that show what is stored without a question: list, due, stats."""

import shlex
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import click

from mcp_memory.cli import note_options
from mcp_memory.cli.command_context import CommandContext, command_options, flag
from mcp_memory.cli.console import Facts, Heading, Remark, columns, short_id, table, wrap
from mcp_memory.cli.notes.forgetting import forgotten_lines
from mcp_memory.cli.notes.note_choice import with_note
from mcp_memory.errors import InvalidInput
from mcp_memory.storage.folder_walk import walk
from mcp_memory.text.dates import format_when
from mcp_memory.text.pluralize import counted
from mcp_memory.text.tokens import CHARS_PER_TOKEN

_project = note_options.project("This project's notes and those without one")
_MOST, _MOST_LINES = 20, 3
_HEADINGS = {
    "Overdue": ("overdue", "was due yesterday"), "Today": ("due now", "due today"),
    "This week": ("due tomorrow", "this week"), "Later": ("later",), "Done": ("done",),
}  # fmt: skip
_MOST_DONE = 5
_BESIDES = {
    "archived": "archived or superseded", "inbox": "to review", "summary": "pages of topics",
    "transcript": "pages of sessions", "deleted": "forgotten",
}  # fmt: skip


@click.command("list")
@note_options.kinds
@note_options.tags
@_project
@click.option(
    "--client", help="Only notes from this client, e.g. claude-code; you = the command line, disk = your editor."
)
@note_options.session
@note_options.since("Only notes dated from this time on")
@note_options.until("Only notes dated before this time")
@flag("--today", help="Only notes dated today.")
@click.option("--path", help="Only this folder or file.")
@flag("--text", help="Show the first lines of each note.")
@flag("--archived", help="List archived, superseded and expired notes instead.")
@flag("--deleted", help="List forgotten notes instead; other options filter by client and time.")
@note_options.limit(None, 1000, f"List at most this many notes; default: {_MOST}, or all with --deleted.")
@command_options
def list_(cli: CommandContext, deleted: bool, archived: bool, today: bool, text: bool, **filters: Any) -> None:
    """List notes and log entries, newest first, or forgotten notes with --deleted.

    Each line ends with the last characters of the note's id, which show, edit, forget and other commands accept.

    \b
    mcp-memory list -k decision --since "last month"
    mcp-memory list --text -n 5
    mcp-memory list --today
    mcp-memory list --deleted --client claude-code --since yesterday"""
    if today:
        if filters["since"]:
            raise InvalidInput("--today can't be combined with --since", hint="pass only one option")
        filters["since"] = format_when(datetime.combine(date.today(), time()).astimezone())
    if deleted:
        if archived or text:
            raise InvalidInput(
                f"--deleted can't be combined with {'--archived' if archived else '--text'}",
                hint="pass only one option",
            )
        limit = filters.pop("limit")
        found = cli.ask("forgotten", **filters)["forgotten"][:limit]
        cli.show({"forgotten": found}, [*forgotten_lines(found), f"{counted(len(found), 'note')} forgotten"])
        return
    filters["limit"] = filters["limit"] or _MOST
    answer = cli.ask("list", archived=archived, text=text or None, **filters)
    if text and answer["notes"]:
        cli.show(answer, [line for note in answer["notes"] for line in _beginning(note)])
    else:
        cli.show(answer, _lines(answer))


@click.command()
@click.option(
    "--done", metavar="NOTE", multiple=True, help="Mark this commitment (id, path or words) as done; may be repeated."
)
@click.argument("words", metavar="", nargs=-1)
@flag("--all", "everything", help="Include all later and completed commitments.")
@click.option("--client", help="Only commitments from this client's sessions, e.g. claude-code; or you.")
@note_options.project("This project's commitments and those without one")
@command_options
def due(cli: CommandContext, done: tuple[str, ...], words: tuple[str, ...], everything: bool, **filters: Any) -> None:
    """List commitments and reminders: overdue, due today, due this week, and recently done.

    Agents are reminded of each commitment the day before, on its day, at its hour, and until it is done. To postpone a
    commitment, change `due` in its file.

    \b
    mcp-memory append -k commitment "Send Petra the list" --due friday
    mcp-memory due
    mcp-memory due --done KABTV4
    mcp-memory due --done petra list"""
    if words and not done:
        raise InvalidInput("words need --done", hint="mcp-memory due --done WORDS")
    if done:
        *before, last = done
        kept = [_keep(cli, target) for target in (*before, " ".join((last, *words)))]
        lines = [f"done: {one['path']}  → mcp-memory restore {shlex.quote(short_id(one['id']))}" for one in kept]
        cli.show({"done": kept}, lines)
        return
    found = cli.ask("due", **filters)["commitments"]
    found += cli.ask("due", done=True, **filters)["commitments"][: None if everything else _MOST_DONE]
    lines = list[str]()
    for heading, stages in _HEADINGS.items():
        here = [one for one in found if one["stage"] in stages]
        if heading == "Later" and here and not everything:
            lines.append(f"{counted(len(here), 'commitment')} later: mcp-memory due --all")
        elif here:
            rows = [(f"  {one['when']}", one["title"], one["project"] or "", short_id(one["id"])) for one in here]
            lines += [Heading(heading), *table(rows, 1)]
    hint = 'nothing is due; mcp-memory append -k commitment "…" --due friday stores a commitment'
    cli.show({"commitments": found}, lines or [hint])


def _keep(cli: CommandContext, words: str) -> Facts:
    """Mark a commitment as done. Words may mean one without a date, too."""

    def commitments() -> list[Facts]:
        dated = cli.ask("due", project="*")["commitments"]
        listed = cli.ask("list", kinds=["commitment"], project="*", limit=1000)["notes"]
        return list({note["id"]: note for note in (*dated, *listed)}.values())

    return with_note(cli, words, lambda target: cli.ask("forget", target=target, done=True), (), commitments)


@click.command()
@click.argument("target", metavar="[NOTE]", required=False)
@flag("--unanswered", help="List questions from the last 30 days that memory couldn't answer.")
@command_options
def stats(cli: CommandContext, target: str | None, *, unanswered: bool) -> None:
    """Count the notes by kind, project and client, and show their size and how fresh the index is. With NOTE (id or
    path): how often it was found, given to an agent and shown at a session's start, and for how many different
    questions.

    --unanswered lists questions without a good answer, most frequent first. Their words stay on this machine, and none
    are kept with recall.keep_words = false.

    \b
    mcp-memory stats
    mcp-memory stats 7F3K2A
    mcp-memory stats --unanswered"""
    if target and unanswered:
        raise InvalidInput(
            "a note can't be combined with --unanswered", hint="omit the note: questions don't belong to notes"
        )
    answer, index_bytes = cli.ask("stats", target=target, unanswered=unanswered), 0
    if unanswered:
        cli.show(answer, _unanswered_lines(answer))
        return
    if target:
        cli.show(answer, _use_lines(answer))
        return
    for folder, _, files in walk(cli.settings.state.index):
        for name in files:
            with suppress(OSError):  # the daemon has replaced it
                index_bytes += Path(folder, name).lstat().st_size
    cli.show(answer, _stats_lines(answer, index_bytes))


def _lines(answer: Facts) -> Iterator[str]:
    chars = 10 if (columns() or 80) < 80 else 16
    rows: list[tuple[str, ...]] = []
    for note in answer["notes"]:
        at, status = (note["date"] or "no date")[:chars].replace("T", " "), note["status"]
        status = note["heat"] if status == "active" else status
        rows.append((at, note["kind"], note["title"], note["project"] or "", status, short_id(note["id"])))
    none = "nothing is stored yet" if answer["nothing_stored"] else "no note fits"
    yield from table(rows, 2) or [none]
    if answer["further"]:
        yield Remark(f"there are more: -n {min(1000, 5 * len(rows))}")
    if rows:
        yield Remark("when · kind · title · project · how much it is used, or its status · the end of its id")


def _beginning(note: Facts) -> Iterator[str]:
    yield Heading(note["title"])
    lines = [line for line in note["text"].splitlines() if line.strip() and not line.startswith("#")]
    yield from wrap("\n".join(line for line in lines[:_MOST_LINES] if line.strip() != note["title"]), "  ")
    facts = (note["kind"], note["project"], note["client"], (note["date"] or "")[:16].replace("T", " "))
    yield f"  — {' · '.join(fact for fact in facts if fact)} · {short_id(note['id'])}"


def _use_lines(answer: Facts) -> Iterator[str]:
    yield Heading(answer["title"])
    used = f"last used {answer['last_used']}" if answer["last_used"] else "not used since counting began"
    yield f"{answer['heat']}: {used}"
    counts = [f"{answer[name]} × {name}" for name in ("found", "told", "shown", "muted", "edited") if answer[name]]
    asked = f"for {counted(answer['questions'], 'different question')} in {counted(answer['sessions'], 'session')}"
    yield from wrap(f"{', '.join(counts) or 'never found or shown'}; {asked}")
    yield f"clients: {', '.join(answer['clients']) or 'none'}"
    latest = list(answer["days"].items())[-_MOST:]
    yield from table([(f"  {day}", *(f"{number} {name}" for name, number in use.items())) for day, use in latest], 0)


def _unanswered_lines(answer: Facts) -> Iterator[str]:
    for one in answer["unanswered"]:
        yield from wrap(one["words"])
        asked = f"asked {counted(one['times'], 'time')}, last on {one['last']}"
        yield f"  — {' · '.join(fact for fact in (one['project'], asked) if fact)}"
    if not answer["unanswered"]:
        yield "no unanswered questions in the last 30 days"


def _stats_lines(answer: Facts, index_bytes: int) -> Iterator[str]:
    from rich.filesize import decimal

    yield counted(answer["notes"], "note")
    for name in ("kind", "project", "client", "heat"):
        counts = sorted(answer[f"by_{name}"].items(), key=lambda one: -one[1])
        yield Heading(f"by {name}")
        yield from table([(f"  {value or '(none)'}", f"{number:,}") for value, number in counts[:_MOST]], 0)
        yield from [f"  and {len(counts) - _MOST} more"] if len(counts) > _MOST else []
    besides = [f"{number:,} {_BESIDES[state]}" for state, number in answer["besides"].items() if number]
    yield f"besides: {', '.join(besides) or 'none'}"
    tokens, index = answer["bytes"] // CHARS_PER_TOKEN, answer["index"]
    yield f"on disk: {decimal(answer['bytes'])}, about {counted(tokens, 'token')}; the index {decimal(index_bytes)}"
    swept = "not yet" if index["last_sweep_s"] is None else f"{index['last_sweep_s']:.0f} s ago"
    model = (index["model"] or f"no model ({index['model_state']})").partition("@")[0]
    indexed = f"{counted(index['chunks'], 'passage')}, {index['pending']:,} without vectors"
    yield from wrap(f"index: {indexed}; compared with the files {swept}; {model}")
