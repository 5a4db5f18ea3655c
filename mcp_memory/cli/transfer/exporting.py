"""The commands that take notes out: export writes the vault to one file that other programs can read, and share copies
a topic into a folder of its own."""

import os
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO

import click

from mcp_memory.cli.command_context import CommandContext, command_options, flag, no_vault, open_session
from mcp_memory.cli.console import Facts, Remark, table
from mcp_memory.errors import AlreadyExists, InvalidInput, Refused
from mcp_memory.runtime.private_files import naming_the_cause, sync_folder
from mcp_memory.settings.settings import Settings
from mcp_memory.storage import open_storage
from mcp_memory.text.pluralize import counted
from mcp_memory.transfer.formats import jsonl
from mcp_memory.transfer.formats.folder import SourceFolder
from mcp_memory.transfer.item import SkippedItem
from mcp_memory.vault.marker import MARKER, README, home_of


@click.command()
@click.option("--to", "target", type=click.Path(path_type=Path), metavar="FILE", required=True, help="A new file.")
@flag("--force", help="Replace the file if it exists.")
@flag("--forgotten", help="Include forgotten notes.")
@command_options
def export(cli: CommandContext, target: Path, force: bool, forgotten: bool) -> None:
    """Write all notes to one file outside the vault.

    Each line is a JSON object with a note's path, etag, id, title, kind, dates, tags, source … and its text.
    `mcp-memory import` restores it byte for byte. Only the vault's own notes (.md) are exported, not those in
    [vault.sources]. A vault is a folder: to back up everything in it, copy it.

    \b
    mcp-memory export --to memory.jsonl
    mcp-memory export --to ~/backup/memory.jsonl --forgotten"""
    settings = cli.settings
    if not (settings.vault_path / MARKER).is_file():
        raise no_vault(settings)
    place = target.expanduser().resolve()
    if place.is_relative_to(settings.vault_path):
        raise Refused(f"{place} is in the vault", hint="name a file outside it")
    left_out: list[SkippedItem] = []
    with _new_file(place, force=force) as out:
        number = _write(settings, out, left_out, forgotten=forgotten)
    size = place.stat().st_size
    report = {"to": str(place), "notes": number, "bytes": size, "left_out": list(map(asdict, left_out))}
    lines = [f"left out: {item.path}, {item.why}" for item in left_out]
    cli.show(report, [*lines, f"exported {counted(number, 'note')} to {place} ({size:,} bytes)"])


@contextmanager
def _new_file(place: Path, *, force: bool) -> Generator[BinaryIO]:
    """Yield a file that only its owner may read, and that gets its name when it is complete."""
    draft = place.with_name(f".{place.name[:100]}.{token_hex(4)}")
    with naming_the_cause(str(place)):
        if place.exists() and not force:
            raise AlreadyExists(f"{place} exists", hint="name a new file, or pass --force to replace it")
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as out:
                yield out
                out.flush()
                os.fsync(out.fileno())
            draft.replace(place)
            sync_folder(place.parent)
        finally:
            draft.unlink(missing_ok=True)


def _write(settings: Settings, out: BinaryIO, left_out: list[SkippedItem], *, forgotten: bool) -> int:
    """Write the notes as they are on disk now, and return their number. Files that can't be exported are added to
    `left_out`, except the README that every vault gets."""
    root, number = settings.vault_path, 0
    readme = f"{home_of(root)}/{README}".lstrip("/")
    left_out += [item for item in SourceFolder(root, most_bytes=0).tree().left_out if item.path != readme]
    storage = open_storage(root, name=settings.vault.storage, read_only=True)
    with open_session(settings) as session:
        notes = jsonl.exported(
            lambda after: session.ask("export", {"after": after}), storage, left_out, forgotten=forgotten
        )
        for file, facts in notes:
            out.write(jsonl.line(file, facts))
            number += 1
    return number


@click.command()
@click.argument("topic", required=False)
@click.option("--to", "target", type=click.Path(path_type=Path), metavar="FOLDER", help="A folder of its own.")
@click.option("--with", "session", metavar="SESSION", help="Instead, let this session see the topic.")
@flag("--revoke", help="With --with: stop that.")
@flag("--dry-run", help="With --to: list what would be done, without doing it.")
@command_options
def share(
    cli: CommandContext, topic: str | None, target: Path | None, session: str | None, *, revoke: bool, dry_run: bool
) -> None:
    """Copy a topic with its pages and notes to a folder outside the vault, for another vault or other people; or share
    it with a session, if sessions are kept apart (recall.sessions_apart). Without TOPIC, list what sessions share.

    In a copy, links that lead out of the topic become plain text. Private, forgotten, expired and archived notes are
    skipped, and so is anything that looks like a secret (see vault.secrets). Run the same command again to update the
    folder; changes made there stay. No note changes.

    \b
    mcp-memory share 01-japan-trip --to ~/shared/japan-trip
    [vault.sources]                       in another vault's configuration
    trip = "~/shared/japan-trip"
    mcp-memory share 01-japan-trip --with chat-7
    mcp-memory share 01-japan-trip --with chat-7 --revoke
    mcp-memory share"""
    if topic and target and not session:
        _copy(cli, topic, target, dry_run=dry_run)
        return
    if target or bool(topic) != bool(session):
        raise InvalidInput("name a topic, and one of --to and --with", hint="mcp-memory share --help")
    answer = cli.ask("grants", topic=topic, session=session, revoke=revoke)
    rows = table([(grant["session"], grant["topic"]) for grant in answer["grants"]], 1)
    off = [] if answer["apart"] else [Remark("sessions share all notes: set recall.sessions_apart to keep them apart")]
    cli.show(answer, [*(rows or ["no topic is shared with a session"]), *off])


def _copy(cli: CommandContext, topic: str, target: Path, *, dry_run: bool) -> None:
    from mcp_memory.compaction.share.folder import ShareFolder, shared_folders
    from mcp_memory.compaction.share.share_bundle import ShareBundle

    folder = ShareFolder(target, cli.settings.vault_path)
    bundle = ShareBundle(**cli.ask("share", target=topic))
    actions = folder.planned(bundle)  # raises for a folder that can't be filled, before it is remembered
    if not dry_run:
        shared_folders(cli.settings.state.root).add(folder.folder)
        actions = folder.fill(bundle)
    report = {
        "topic": bundle.topic,
        "to": str(folder.folder),
        "dry_run": dry_run,
        "files": actions,
        "links_cut": bundle.cut,
        "left_out": [{"path": path, "why": why} for path, why in bundle.left_out.items()],
        "warnings": bundle.warnings,
    }
    cli.show(report, _lines(report))


def _lines(report: Facts) -> Iterator[str]:
    for path, action in report["files"].items():
        if action == "kept":
            yield f"kept with its changes there: {path}"
        elif action != "unchanged":
            yield f"{action}: {path}"
    for why, number in sorted(Counter(file["why"] for file in report["left_out"]).items()):
        yield f"left out: {counted(number, 'file')}, {why}"
    for line in report["warnings"]:
        yield Remark(f"note: {line}")
    counts = Counter[str](report["files"].values())
    parts = [f"{counts[name]} {name}" for name in ("new", "updated", "removed", "unchanged", "kept") if counts[name]]
    if report["links_cut"]:
        parts.append(f"{counted(report['links_cut'], 'link')} out of the topic made into plain text")
    verb = "would share" if report["dry_run"] else "shared"
    yield f"{verb} {report['topic']} with {report['to']}: {', '.join(parts) or 'nothing'}"
