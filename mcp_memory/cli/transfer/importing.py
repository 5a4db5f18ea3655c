"""The import command: brings in notes of other programs, and exports of a vault."""

import posixpath
import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from secrets import token_hex
from typing import get_args

import click

from mcp_memory.cli.command_context import CommandContext, command_options, flag, open_session
from mcp_memory.cli.console import Facts, Remark, print_status, progress_bar
from mcp_memory.cli.transfer.import_batches import ImportBatches, ImportRow
from mcp_memory.projects.projects import Projects
from mcp_memory.text.instruction_files import are_orders
from mcp_memory.text.pluralize import counted, first_of
from mcp_memory.transfer import target_paths
from mcp_memory.transfer.detect import detect_source, read
from mcp_memory.transfer.formats import jsonl
from mcp_memory.transfer.item import ImportSource, SkippedItem, SourceKind
from mcp_memory.vault.journals.change_journal import IMPORT
from mcp_memory.vault.note_file import ALWAYS_LOAD

SHOWN_ROWS, SHOWN_NAMES = 40, 5
"""The most rows and names of a long list that are printed; --json prints all."""

_UNDO = "mcp-memory undo "


@click.command("import")
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--from", "kind", type=click.Choice(get_args(SourceKind)), help="The source's format; default: detected.")
@click.option("-p", "--project", help="The project for notes that don't name one; default: none.")
@flag("--dry-run", help="List what would be stored where, without importing it.")
@command_options
def import_(cli: CommandContext, source: Path, kind: SourceKind | None, project: str | None, dry_run: bool) -> None:
    """Import the notes of another program, or an export of a vault.

    Notes go to imported/ and keep their folders, so that links between them still work. Text, dates, tags and titles
    are kept, and the frontmatter names each note's origin. The source is only read. Run the same command again to
    import new and changed notes. If you edited a note here, it stays, and the source's version is stored beside it.
    Forgotten notes stay forgotten. An interrupted import continues where it stopped. Each import prints the `mcp-memory
    undo` command that reverses it.

    \b
    claude-code    ~/.claude, a project's memory folder in it, a repository, or a CLAUDE.md
    codex, gemini  ~/.codex or its memories, ~/.gemini or a GEMINI.md
    openclaw       a workspace: MEMORY.md, memory/, and its other notes
    obsidian       a vault, any folder of Markdown, or one Markdown file
    jsonl          our own exports: byte for byte under the old paths, nothing is overwritten

    \b
    mcp-memory import ~/.claude --dry-run
    mcp-memory import ~/Documents/Notes
    mcp-memory import ~/projects/shop/docs --project shop
    mcp-memory --vault ~/restored import memory.jsonl"""
    vault_path = cli.settings.vault_path
    found = detect_source(source, kind, vault=vault_path, project=project)
    report = (_restore_export if found.kind == "jsonl" else import_notes)(cli, found, dry_run)
    cli.show(report, _lines(report))


def import_notes(cli: CommandContext, source: ImportSource, dry_run: bool) -> Facts:
    """Import another program's notes. Returns `counts`, and each of the `notes` with its outcome."""
    settings = cli.settings
    projects = Projects(settings.vault_path, writes=False) if dry_run else cli.projects
    reading = read(
        source, vault=settings.vault_path, most_bytes=settings.vault.max_note_bytes, project_of=projects.label_of
    )
    places = target_paths.place_items(reading.items)
    reading = replace(reading, items=target_paths.add_aliases(reading.items, places))
    rows, run = _run(cli, len(reading.items), lambda batches: batches.import_items(reading, places), dry_run)
    return _report(source, rows, reading.left_out, dry_run, run)


def _restore_export(cli: CommandContext, source: ImportSource, dry_run: bool) -> Facts:
    skipped: list[SkippedItem] = []
    files = jsonl.files(source.root, skipped)
    rows, run = _run(cli, None, lambda batches: batches.import_files(files), dry_run)
    return {**_report(source, rows, skipped, dry_run, run), "remarks": _remarks(rows, dry_run)}


def _remarks(rows: Sequence[ImportRow], dry_run: bool) -> list[str]:
    """Return remarks that you should know about a restored export."""
    new = [row.path for row in rows if row.deed == "new"]
    found = [f"every session reads {path}" for path in new if f"/{path}".endswith("/MEMORY.md") or ALWAYS_LOAD in path]
    found += [f"agents follow {path}" for path in new if are_orders(path) and not path.endswith("MEMORY.md")]
    if new and not dry_run:
        found.append("these notes are yours; to let agents change those in the managed folder: mcp-memory adopt")
    return found


def _run(
    cli: CommandContext, total: int | None, rows: Callable[[ImportBatches], Iterator[ImportRow]], dry_run: bool
) -> tuple[list[ImportRow], str]:
    """Send all notes. Returns the outcome for each note, and the import's name."""
    settings, name = cli.settings, token_hex(4)
    exists = settings.vault_path.is_dir() or not dry_run
    bar = nullcontext() if cli.as_json else progress_bar("importing", total)
    with open_session(settings) if exists else nullcontext() as session, bar as update:
        if session:
            session.ask("reconcile", {})  # earlier imports may have been moved since
        found: list[ImportRow] = []
        try:
            for row in rows(ImportBatches(session, settings.daemon.max_body_bytes, name, dry_run=dry_run)):
                found.append(row)
                if update:
                    update(completed=len(found))
        except BaseException:
            if not dry_run:
                print_status(
                    f"stopped: run the same command to continue; to undo what was imported: {_UNDO}{IMPORT}-{name}"
                )
            raise
        return found, f"{IMPORT}-{name}"


def _report(
    source: ImportSource, rows: Sequence[ImportRow], left_out: Iterable[SkippedItem], dry_run: bool, run: str
) -> Facts:
    is_done = not dry_run and any(row.deed in {"new", "updated", "beside"} for row in rows)
    return {
        "kind": source.kind,
        "source": str(source.root),
        "dry_run": dry_run,
        "run": run if is_done else None,
        "counts": dict(Counter(row.deed for row in rows)),
        "notes": [asdict(row) for row in rows],
        "left_out": [asdict(item) for item in left_out],
    }


def _lines(report: Facts) -> Iterator[str]:
    refused = [row for row in report["notes"] if row["deed"] == "refused"]
    rows = [row for row in report["notes"] if row["deed"] not in {"refused", "unchanged"}]
    rows.sort(key=lambda row: row["deed"] == "new")
    shown = rows[:SHOWN_ROWS]
    width = max((len(row["deed"]) for row in shown), default=0)
    names = min(max((len(row["name"]) for row in shown), default=0), 48)
    for row in refused:
        yield f"refused  {row['name']}  ({row['why']})"
    by_reason = defaultdict[str, list[str]](list)
    for item in report["left_out"]:
        by_reason[item["why"]].append(item["path"])
    for why, paths in sorted(by_reason.items()):
        yield f"left out, {why}: {first_of(paths, SHOWN_NAMES)}"
    for row in shown:
        name = "" if row["name"] == row["path"] else f"{row['name']:<{names}}  →  "
        yield f"{row['deed']:<{width}}  {name}{row['path']}" + (f"  ({row['why']})" if row["why"] else "")
    if len(rows) > SHOWN_ROWS:
        yield f"… and {len(rows) - SHOWN_ROWS} more (--json names all)"
    counts = ", ".join(f"{number} {deed}" for deed, number in report["counts"].items()) or "nothing"
    verb = "would import" if report["dry_run"] else "imported"
    yield f"{verb} {report['source']} as {report['kind']}: {counts}, {len(report['left_out'])} left out"
    for remark in report.get("remarks", ()):
        yield Remark(f"note: {remark}")
    if forgotten := [row["path"] for row in report["notes"] if row["deed"] == "forgotten"]:
        folder = posixpath.commonpath(map(posixpath.dirname, forgotten))
        which = shlex.quote(forgotten[0]) if len(forgotten) == 1 else f"--path {shlex.quote(folder or '.')}"
        yield Remark(f"{counted(len(forgotten), 'note')} of these you forgot here: mcp-memory restore {which}")
    if report["run"]:
        yield Remark(f"to take this back: {_UNDO}{report['run']}")
