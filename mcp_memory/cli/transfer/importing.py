"""import: notes of other programs, and exports of our own, into the vault."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from mcp_memory.cli.console import emit, print_status, say
from mcp_memory.cli.engine_session import EngineSession
from mcp_memory.cli.options import CommonOptions, command_options
from mcp_memory.cli.transfer.import_batches import ImportBatches, ImportRow, Tick
from mcp_memory.settings.settings import Settings
from mcp_memory.text.instruction_files import are_orders
from mcp_memory.text.pluralize import counted
from mcp_memory.transfer import target_paths
from mcp_memory.transfer.detect import detect_source, read
from mcp_memory.transfer.formats import archive, jsonl
from mcp_memory.transfer.item import OURS, ImportSource, SkippedItem, SourceKind
from mcp_memory.vault.marker import MARKER, home_in, plant
from mcp_memory.vault.note_file import ALWAYS_LOAD

SHOWN_ROWS, SHOWN_NAMES = 40, 5
"""What is listed of many; --json names all."""


@click.command("import")
@click.argument("source", type=click.Path(path_type=Path))
@click.option(
    "--from",
    "kind",
    type=click.Choice([kind.value for kind in SourceKind]),
    help="What the source is; default: told by what is in it.",
)
@click.option("--project", help="The project of notes that name none.")
@click.option("--dry-run", is_flag=True, help="Say what would come where, and do nothing.")
@command_options
def import_(
    common: CommonOptions, source: Path, kind: str | None, project: str | None, dry_run: bool, as_json: bool
) -> None:
    """Bring in the notes of another program, or an export of a vault.

    Notes go to imported/ as they lay in their source, so that links between them lead on; text, dates, tags and titles
    stay, and the frontmatter says where each came from. The source is only read. The same command again brings in what
    is new and what has changed there; a note that was edited here stays, and the source's version comes beside it. What
    was forgotten here stays so. An interrupted import goes on where it was.

    \b
    claude-code    ~/.claude, a project's memory folder in it, a repository, or a CLAUDE.md
    openclaw       a workspace: MEMORY.md, memory/, and its other notes
    obsidian       a vault, or any folder of Markdown
    basic-memory   a project's folder
    server-memory  the JSONL file of the MCP reference memory server
    tar, jsonl     exports of ours: byte for byte under the old paths, none written over

    \b
    mcp-memory import ~/.claude --dry-run
    mcp-memory import ~/Documents/Notes --from obsidian
    mcp-memory import memory.jsonl --project shop
    mcp-memory --vault ~/restored import memory.tar
    """
    settings = common.settings()
    found = detect_source(source, SourceKind(kind) if kind else None, vault=settings.vault_path, project=project)
    report = _put_back(settings, found, dry_run, as_json) if found.kind in OURS else None
    report = report or _bring_in(settings, found, dry_run, as_json)
    emit(report) if as_json else _tell(report)


def _bring_in(settings: Settings, source: ImportSource, dry_run: bool, as_json: bool) -> dict[str, Any]:
    reading = read(source, vault=settings.vault_path, most_bytes=settings.vault.max_note_bytes)
    places = target_paths.place_items(reading.items)
    links = target_paths.find_item_links(reading.items)
    reading = replace(reading, items=target_paths.add_aliases(reading.items, places, links))
    dead = target_paths.count_dead_links(reading.items, places, links)

    def rows(taking: ImportBatches, tick: Tick) -> Iterator[ImportRow]:
        return taking.notes(reading, places, tick)

    found = _taken(settings, len(reading.items), rows, dry_run, as_json)
    return _report(source, found, reading.left_out, dry_run) | {"links_to_nothing": dead}


def _put_back(settings: Settings, source: ImportSource, dry_run: bool, as_json: bool) -> dict[str, Any]:
    left: list[SkippedItem] = []
    checked = archive.checked(source.root) if source.kind is SourceKind.TAR else None
    if checked and not dry_run:
        plant(settings.vault_path, checked.marker)

    def rows(taking: ImportBatches, tick: Tick) -> Iterator[ImportRow]:
        return taking.files(checked.files() if checked else jsonl.files(source.root, left), tick)

    found = _taken(settings, len(checked.sums) if checked else None, rows, dry_run, as_json)
    return _report(source, found, left, dry_run) | {"remarks": _remarks(settings, found, checked, dry_run)}


def _remarks(
    settings: Settings, rows: Sequence[ImportRow], checked: archive.Archive | None, dry_run: bool
) -> list[str]:
    """What a person should know of an export that was put back."""
    new = [row.path for row in rows if row.deed == "new"]
    marker = settings.vault_path / MARKER
    said = [f"every session reads {path}" for path in new if f"/{path}".endswith("/MEMORY.md") or ALWAYS_LOAD in path]
    said += [f"agents read {path} as orders" for path in new if are_orders(path) and not path.endswith("MEMORY.md")]
    if checked and marker.is_file() and (old := home_in(checked.marker)) != (now := home_in(marker.read_bytes())):
        said.append(f"home was {old or 'the root'} and is {now or 'the root'} here: notes in home are yours now")
    elif new and not dry_run:
        said.append("these notes are yours; to let agents change those in home: mcp-memory adopt")
    return said


def _taken(
    settings: Settings,
    total: int | None,
    rows: Callable[[ImportBatches, Tick], Iterator[ImportRow]],
    dry_run: bool,
    as_json: bool,
) -> list[ImportRow]:
    is_there = settings.vault_path.is_dir() or not dry_run
    with EngineSession(settings) if is_there else nullcontext() as session, _bar(total, hidden=as_json) as tick:
        if session:
            session.ask("reconcile", {})  # what came in before may have been moved since
        taking = ImportBatches(session, settings.daemon.max_body_bytes, dry_run=dry_run)
        return list(rows(taking, tick))


@contextmanager
def _bar(total: int | None, *, hidden: bool) -> Generator[Tick]:
    """A bar on a terminal; it is gone when the block ends."""
    import sys

    if hidden or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("importing"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        bar = bars.add_task("importing", total=total)
        yield lambda: bars.advance(bar)


def _report(
    source: ImportSource, rows: Sequence[ImportRow], left_out: Iterable[SkippedItem], dry_run: bool
) -> dict[str, Any]:
    return {
        "kind": source.kind.value,
        "source": str(source.root),
        "dry_run": dry_run,
        "counts": dict(Counter(row.deed for row in rows)),
        "notes": [asdict(row) for row in rows],
        "left_out": [asdict(each) for each in left_out],
    }


def _tell(report: dict[str, Any]) -> None:
    rows = [row for row in report["notes"] if row["deed"] != "unchanged"]
    width = max((len(row["deed"]) for row in rows[:SHOWN_ROWS]), default=0)
    names = max((len(row["name"]) for row in rows[:SHOWN_ROWS]), default=0)
    for row in rows[:SHOWN_ROWS]:
        name = "" if row["name"] == row["path"] else f"{row['name']:<{min(names, 48)}}  →  "
        say(f"{row['deed']:<{width}}  {name}{row['path']}" + (f"  ({row['why']})" if row["why"] else ""))
    if len(rows) > SHOWN_ROWS:
        say(f"… and {len(rows) - SHOWN_ROWS} more (--json names all)")
    by_reason = defaultdict[str, list[str]](list)
    for each in report["left_out"]:
        by_reason[each["why"]].append(each["path"])
    for why, paths in sorted(by_reason.items()):
        more = f", and {len(paths) - SHOWN_NAMES} more" if len(paths) > SHOWN_NAMES else ""
        say(f"left out, {why}: {', '.join(paths[:SHOWN_NAMES])}{more}")
    if links := report.get("links_to_nothing"):
        print_status(f"note: {counted(links, 'link')} to what does not come along")
    counts = report["counts"]
    said = ", ".join(f"{number} {deed}" for deed, number in counts.items())
    verb = "would import" if report["dry_run"] else "imported"
    say(f"{verb} {report['source']} as {report['kind']}: {said or 'nothing'}, {len(report['left_out'])} left out")
    for remark in report.get("remarks", ()):
        print_status(f"note: {remark}")
