"""export: the vault in one file, in forms that need no program of ours."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any, BinaryIO

import click

from mcp_memory.cli.clients import snippets
from mcp_memory.cli.console import emit, say
from mcp_memory.cli.engine_session import EngineSession
from mcp_memory.cli.options import CommonOptions, command_options
from mcp_memory.errors import AlreadyExists, McpMemoryError, NotFound, Refused
from mcp_memory.models import NotePath, NoteState, Status
from mcp_memory.runtime.os_errors import naming_the_cause
from mcp_memory.runtime.private_files import sync_folder
from mcp_memory.settings.settings import Settings
from mcp_memory.storage import open_storage
from mcp_memory.storage.base import StorageBackend
from mcp_memory.text.markdown.frontmatter import decode, parse
from mcp_memory.text.pluralize import counted
from mcp_memory.topics.page import MAP
from mcp_memory.transfer.formats import archive, jsonl, markdown_book
from mcp_memory.transfer.formats.archive import ArchivedFile
from mcp_memory.transfer.formats.folder import SourceFolder
from mcp_memory.transfer.item import SkippedItem
from mcp_memory.vault.marker import MARKER
from mcp_memory.vault.retirement import remove_entry

FORMATS = ("jsonl", "book", "tar")

_NO_CHAPTERS = frozenset({NoteState.ARCHIVED.value, NoteState.INBOX.value})


@click.command()
@click.option("--format", "form", type=click.Choice(FORMATS), help="Default: told by the file's name.")
@click.option("--to", "target", type=click.Path(path_type=Path), metavar="FILE", required=True, help="A new file.")
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@click.option("--forgotten", is_flag=True, help="Also what was forgotten (a tar has every file in any case).")
@command_options
def export(common: CommonOptions, form: str | None, target: Path, force: bool, forgotten: bool, as_json: bool) -> None:
    """Write all notes to one file outside the vault.

    \b
    jsonl  an object a note: path, etag, id, title, kind, dates, tags, source … and its text
    book   one Markdown file to be read: MEMORY.md, the topics as their tree goes, the notes by kind, the days
    tar    every note's file with its sha256; the same vault gives the same bytes, and unpacks to a vault

    `mcp-memory import` takes tar and jsonl back, byte for byte. Only notes (.md) are exported, and no source's.

    \b
    mcp-memory export --to ~/backup/memory.tar
    mcp-memory export --to memory.jsonl --forgotten
    mcp-memory export --format book --to memory-markdown_book.md
    """
    settings = common.settings()
    if not (settings.vault_path / MARKER).is_file():
        raise NotFound(
            f"there is no vault at {settings.vault_path}",
            hint=f"check the path, or make one: {snippets.start_command(settings)}",
        )
    form = form or _told_by(target)
    place = target.expanduser().resolve()
    if place.is_relative_to(settings.vault_path):
        raise Refused(f"{place} is in the vault", hint="name a file outside it")
    left: list[SkippedItem] = []
    with _fresh(place, force=force) as out:
        if form == "tar":
            number = _tar(settings, out, left)
        else:
            number = (_jsonl if form == "jsonl" else _book)(settings, out, left, forgotten=forgotten)
    if as_json:
        report: dict[str, Any] = {"format": form, "to": str(place), "notes": number, "bytes": place.stat().st_size}
        emit({**report, "left_out": [{"path": each.path, "why": each.why} for each in left]})
        return
    for each in left:
        say(f"left out: {each.path}, {each.why}")
    say(f"exported {counted(number, 'note')} to {place} ({form}, {place.stat().st_size:,} bytes)")


def _told_by(target: Path) -> str:
    """Raises UsageError."""
    found = {".tar": "tar", ".jsonl": "jsonl", ".md": "book"}.get(target.suffix.lower())
    if found is None:
        raise click.UsageError(f"the name of {target} tells no format: --format {', '.join(FORMATS)}")
    return found


@contextmanager
def _fresh(place: Path, *, force: bool) -> Generator[BinaryIO]:
    """A file that gets its name when it is whole, readable by its owner alone."""
    draft = place.with_name(f".{place.name[:100]}.{token_hex(4)}")
    with naming_the_cause(str(place)):
        if place.exists() and not force:
            raise AlreadyExists(f"{place} exists", hint="name a new file, or pass --force to replace it")
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


def _tar(settings: Settings, out: BinaryIO, left: list[SkippedItem]) -> int:
    root = settings.vault_path
    backend = open_storage(root, name=settings.vault.storage, read_only=True)
    left += SourceFolder(root, most_bytes=0).tree().left_out
    paths = sorted(backend.list().files)
    number = 0

    def files() -> Iterator[ArchivedFile]:
        nonlocal number
        for path in paths:
            if file := _read(backend, path, left):
                number += 1
                yield file

    with naming_the_cause(str(root / MARKER)):
        marker = (root / MARKER).read_bytes()
    archive.write(out, marker, files())
    return number


def _jsonl(settings: Settings, out: BinaryIO, left: list[SkippedItem], *, forgotten: bool) -> int:
    number = 0
    with EngineSession(settings) as session:
        _, catalogue = _catalogue(session)
        for file, facts in _each(settings, catalogue, left, forgotten=forgotten):
            out.write(jsonl.line(file, {key: value for key, value in facts.items() if key not in {"path", "etag"}}))
            number += 1
    return number


def _book(settings: Settings, out: BinaryIO, left: list[SkippedItem], *, forgotten: bool) -> int:
    with EngineSession(settings) as session:
        home, catalogue = _catalogue(session)
    facts = {each["path"]: each for each in catalogue if _is_chapter(each, home, forgotten=forgotten)}
    inside = markdown_book.ordered(facts, home)
    out.write(markdown_book.opening(settings.vault_path.name, len(inside)).encode())
    found = _each(settings, [facts[path] for path in inside], left, forgotten=forgotten)
    told = (markdown_book.Chapter(file.path, decode(file.data).text or "", about) for file, about in found)
    for piece in markdown_book.chapters(told, home, inside):
        out.write(piece.encode("utf-8", "replace"))
    return len(inside)


def _is_chapter(facts: dict[str, Any], home: str, *, forgotten: bool) -> bool:
    inner = facts["path"].removeprefix(f"{home}/") if home else facts["path"]
    is_there = facts["shelf"] not in _NO_CHAPTERS and inner != f"topics/{MAP}"
    return is_there and (forgotten or facts["shelf"] != NoteState.DELETED)


def _catalogue(session: EngineSession) -> tuple[str, list[dict[str, Any]]]:
    """Where home is, and what is known of each note, in order of path."""
    notes: list[dict[str, Any]] = []
    page = session.ask("export", {})
    while True:
        notes += page["notes"]
        if not page["next"]:
            return page["home"], notes
        page = session.ask("export", {"after": page["next"]})


def _each(
    settings: Settings, catalogue: list[dict[str, Any]], left: list[SkippedItem], *, forgotten: bool
) -> Iterator[tuple[ArchivedFile, dict[str, Any]]]:
    """The notes' files as they are on disk now; without what was forgotten, unless that is wanted."""
    backend = open_storage(settings.vault_path, name=settings.vault.storage, read_only=True)
    for facts in catalogue:
        if not forgotten and facts["shelf"] == NoteState.DELETED:
            continue
        file = _read(backend, NotePath(facts["path"]), left)
        if file is None:
            continue
        if not forgotten:
            if parse(decode(file.data).text or "").meta.get("status") == Status.DELETED:
                continue  # since the catalogue was made
            file = _without(file, facts["forgotten"])
        yield file, facts


def _read(backend: StorageBackend, path: NotePath, left: list[SkippedItem]) -> ArchivedFile | None:
    try:
        return ArchivedFile(path, backend.read(path, limit_bytes=archive.MOST_FILE_BYTES).data)
    except McpMemoryError as error:
        left.append(SkippedItem(path, error.message))
        return None


def _without(file: ArchivedFile, entries: list[str]) -> ArchivedFile:
    """A log without the entries that were forgotten."""
    data = file.data
    for entry in entries:
        try:
            data = remove_entry(NotePath(file.path), data, entry)
        except NotFound:
            continue  # it is not in there any more
    return ArchivedFile(file.path, data)
