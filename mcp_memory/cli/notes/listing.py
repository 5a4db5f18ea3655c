"""Commands that show what is stored without a question: list, recent, today, stats."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import click

from mcp_memory.cli import note_options
from mcp_memory.cli.console import Heading, Remark, columns, short_id, table, wrap
from mcp_memory.cli.notes.changes import changes
from mcp_memory.cli.notes.forgotten import forgotten_lines
from mcp_memory.cli.options import CommandContext, command_options
from mcp_memory.errors import InvalidInput
from mcp_memory.storage.folder_walk import walk
from mcp_memory.text.dates import format_when
from mcp_memory.text.pluralize import counted
from mcp_memory.text.tokens import CHARS_PER_TOKEN

_project = note_options.project("This project's notes and those without one")
_MOST, _MOST_LINES = 20, 3
_BESIDES = {
    "archived": "archived or superseded", "inbox": "to review", "summary": "pages of topics",
    "transcript": "pages of sessions", "deleted": "forgotten",
}  # fmt: skip


@click.command("list")
@note_options.kinds
@note_options.tags
@_project
@click.option("--client", help="Only what this client stored, e.g. claude-code; you; or disk, which is by hand.")
@note_options.session
@note_options.since("Only what is dated from then on")
@note_options.until("Only what is dated before")
@click.option("--path", help="Only this folder or file.")
@click.option("--archived", is_flag=True, help="Instead: what was archived or superseded, or has expired.")
@click.option("--deleted", is_flag=True, help="Instead: what was forgotten; the other options say by whom and when.")
@note_options.limit(None, 1000, f"The latest so many; default: {_MOST}, of what was forgotten all.")
@command_options
def list_(
    cli: CommandContext, deleted: bool, archived: bool, limit: int | None, path: str | None, **filters: Any
) -> None:
    """List notes and log entries, the newest first, or with --deleted what was forgotten.

    Each line ends with the end of the note's id, which show, edit, forget and other commands take.

    \b
    mcp-memory list -k decision --since "last month"
    mcp-memory list --deleted --client claude-code --since yesterday"""
    if deleted:
        if archived:
            raise InvalidInput("--deleted with --archived", hint="pass one of them")
        found = cli.ask("forgotten", path=path, **filters)["forgotten"][:limit]
        cli.show({"forgotten": found}, [*forgotten_lines(found), f"{counted(len(found), 'note')} forgotten"])
        return
    answer = cli.ask("list", path=path, archived=archived, limit=limit or _MOST, **filters)
    cli.show(answer, _lines(answer))


@click.command()
@note_options.kinds
@_project
@note_options.limit(5, 1000, "How many.")
@command_options
def recent(cli: CommandContext, **wanted: Any) -> None:
    """Show the notes and log entries that were stored or changed last, each with its first lines.

    \b
    mcp-memory recent
    mcp-memory recent -k decision -n 10"""
    answer = cli.ask("list", text=True, **wanted)
    cli.show(answer, [line for note in answer["notes"] for line in _beginning(note)] or [_none(answer)])


@click.command()
@_project
@command_options
@click.pass_context
def today(ctx: click.Context, _: CommandContext, project: str | None) -> None:
    """Show what was stored, edited, forgotten or filed today: what `changes` lists since midnight.

    \b
    mcp-memory today"""
    midnight = datetime.combine(date.today(), time()).astimezone()
    ctx.invoke(changes, since=format_when(midnight), project=project, limit=20_000)


@click.command()
@note_options.since("From then on; default: a week before the end")
@note_options.until("Up to then; default: now")
@_project
@click.option("--save", is_flag=True, help="Keep it as a page in summaries/digests/.")
@command_options
def digest(cli: CommandContext, **wanted: Any) -> None:
    """Tell what happened in a time, such as a phase of a project: sessions, what was decided, learned, promised and
    logged, and what the last session of each project left open.

    Pages of days and of weeks over a month ago are written by themselves, in summaries/days/ and summaries/weeks/.

    \b
    mcp-memory digest --since monday
    mcp-memory digest -p shop --since 2026-11-01 --until 2026-11-15 --save"""
    answer = cli.ask("digest", deadline_s=300, **wanted)
    saved = [Remark(f"saved: {answer['path']}")] if answer["path"] else []
    cli.show(answer, [Heading(answer["title"]), *(answer["text"] or "nothing happened").splitlines(), *saved])


@click.command()
@click.argument("target", metavar="[NOTE]", required=False)
@click.option("--unanswered", is_flag=True, help="List the questions of the last 30 days that memory could not answer.")
@command_options
def stats(cli: CommandContext, target: str | None, *, unanswered: bool) -> None:
    """Count what is stored: by kind, project and client, its size, and how fresh the index is. Of a NOTE (id or path):
    how often it was found, told to an agent and shown at a session's start, and for how many different questions.

    --unanswered lists what was asked and had no good answer, the most asked first. The words stay on this machine, and
    none are kept with recall.keep_words = false.

    \b
    mcp-memory stats
    mcp-memory stats 7F3K2A
    mcp-memory stats --unanswered"""
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


def _none(answer: Mapping[str, Any]) -> str:
    return "nothing is stored yet" if answer["nothing_stored"] else "no such note"


def _lines(answer: Mapping[str, Any]) -> Iterator[str]:
    chars = 10 if (columns() or 80) < 80 else 16
    rows: list[tuple[str, ...]] = []
    for note in answer["notes"]:
        at, status = (note["date"] or "no date")[:chars].replace("T", " "), note["status"]
        status = note["heat"] if status == "active" else status
        rows.append((at, note["kind"], note["title"], note["project"] or "", status, short_id(note["id"])))
    yield from table(rows, 2) or [_none(answer)]
    if answer["further"]:
        yield Remark(f"there are more: -n {min(1000, 5 * len(rows))}")
    if rows:
        yield Remark("when · kind · title · project · how much it is used, or its status · the end of its id")


def _beginning(note: Mapping[str, Any]) -> Iterator[str]:
    yield Heading(note["title"])
    lines = [line for line in note["text"].splitlines() if line.strip() and not line.startswith("#")]
    yield from wrap("\n".join(line for line in lines[:_MOST_LINES] if line.strip() != note["title"]), "  ")
    facts = (note["kind"], note["project"], note["client"], (note["date"] or "")[:16].replace("T", " "))
    yield f"  — {' · '.join(fact for fact in facts if fact)} · {short_id(note['id'])}"


def _use_lines(answer: Mapping[str, Any]) -> Iterator[str]:
    yield Heading(answer["title"])
    used = f"last used {answer['last_used']}" if answer["last_used"] else "not used since uses are counted"
    yield f"{answer['heat']}: {used}"
    counts = [f"{answer[name]} × {name}" for name in ("found", "told", "shown", "muted", "edited") if answer[name]]
    asked = f"for {counted(answer['questions'], 'different question')} in {counted(answer['sessions'], 'session')}"
    yield from wrap(f"{', '.join(counts) or 'never found nor told'}; {asked}")
    yield f"clients: {', '.join(answer['clients']) or 'none'}"
    latest = list(answer["days"].items())[-_MOST:]
    yield from table([(f"  {day}", *(f"{number} {name}" for name, number in use.items())) for day, use in latest], 0)


def _unanswered_lines(answer: Mapping[str, Any]) -> Iterator[str]:
    for one in answer["unanswered"]:
        yield from wrap(one["words"])
        asked = f"asked {counted(one['times'], 'time')}, last on {one['last']}"
        yield f"  — {' · '.join(fact for fact in (one['project'], asked) if fact)}"
    if not answer["unanswered"]:
        yield "in the last 30 days nothing was asked that memory could not answer"


def _stats_lines(answer: Mapping[str, Any], index_bytes: int) -> Iterator[str]:
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
