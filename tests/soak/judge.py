"""The judge: what was answered and is not there, what is there twice or torn, and what the index does not know.

Each function returns sentences, one a fault; none when all is well.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from dataclasses import fields, replace
from pathlib import Path

from mcp_memory.index import INDEXES
from mcp_memory.models import Chunk, NoteRecord
from mcp_memory.storage.filesystem import FilesystemBackend
from mcp_memory.text.markdown import logs
from mcp_memory.text.markdown.frontmatter import parse
from tests.soak.book import Book, Told
from tests.soak.line import Line
from tests.support.world import World

WHOLE = re.compile(r"\((zz\d+x\d+z) whole\)")
BEGUN = re.compile(r"(?<![\w-])(zz\d+x\d+z): ")
CONFLICT = "(conflict "

Indexed = tuple[NoteRecord, list[Chunk]]


def lost(book: Book, vault: Path) -> list[str]:
    """Answered appends, forgets and restores that the files do not show; lines and saves of editors that are gone."""
    faults: list[str] = []
    files = {file: file.read_bytes() for file in vault.rglob("*.md") if file.is_file()}
    entries: dict[str, dict[str, str]] = {}
    for told in book.answered:
        data = files.get(vault / told.path)
        if data is None:
            faults.append(f"{told.path} of {told.word} is not there")
        elif told.is_log:
            if told.path not in entries:
                entries[told.path] = _entries(data.decode())
            faults += _entry_faults(told, entries[told.path], data.decode())
        else:
            faults += _note_faults(told, data)
    # A kill may leave what an editor wrote in a hidden file of ours, which nobody removes and `doctor` reports.
    hidden = [file.read_bytes() for file in vault.rglob(".*.mcpm")]
    everything = b"\n".join([*files.values(), *hidden])
    faults += [f"an editor's line is gone: {line}" for line in book.lines if line.encode() not in everything]
    faults += [f"an editor's save of {path} is gone" for path, data in book.saves.items() if _read(vault, path) != data]
    return faults


def torn_or_doubled(vault: Path) -> list[str]:
    """Notes that are there in part, or more than once; answered or not. A conflict copy is a copy by its name."""
    begun: Counter[str] = Counter()
    whole: Counter[str] = Counter()
    for file in vault.rglob("*.md"):
        if CONFLICT not in file.name and file.is_file():
            text = file.read_text()
            text = text[parse(text).body_start :]
            begun.update(set(BEGUN.findall(text)))
            whole.update(WHOLE.findall(text))
    faults = [f"{word} is there {count} times" for word, count in whole.items() if count > 1]
    return faults + [f"{word} is torn" for word in begun if word not in whole]


async def unfound(told: Iterable[Told], line: Line) -> list[str]:
    """What a search does not find though it should, or finds though it was forgotten. Where a conflict copy holds the
    same text, a search shows it once, and may show the copy's; forgetting does not reach into copies."""
    faults: list[str] = []
    for each in told:
        asked = {"query": each.word, "limit": 20, "mode": "keyword", "include_archived": True}
        hits = (await line.tool("memory_search", asked))["hits"]
        wanted = each.shown or each.superseded
        copies = [hit for hit in hits if wanted and CONFLICT in hit["path"] and each.whole in hit["snippet"]]
        found = bool(copies) or each.id in [hit["id"] for hit in hits]
        if each.sure and found != wanted:
            faults.append(f"{each.word} ({each.id}) is {'found' if found else 'not found'}")
    return faults


def stale(index: Path, vault: Path, scratch: Path) -> list[str]:
    """Where the index, of a daemon that runs or has ended, does not say what is on disk now."""
    known = {path: record for path, (record, _) in _known(_copied(index, scratch)).items()}
    on_disk = FilesystemBackend(vault, read_only=True, marker=None).list().files
    faults = [f"{path} is gone, but still in the index" for path in known.keys() - on_disk.keys()]
    faults += [f"{path} is not in the index" for path in on_disk.keys() - known.keys()]
    for path in known.keys() & on_disk.keys():
        if known[path].etag != hashlib.sha256((vault / path).read_bytes()).hexdigest():
            faults.append(f"the index has an older {path}")
    return faults


async def unlike_rebuilt(index: Path, vault: Path, scratch: Path) -> list[str]:
    """Where the index differs from one that is made now from the files and from what else the state folder holds
    (a forget that a kill cut short may be known only there): notes, and their chunks."""
    had = _known(_copied(index, scratch))
    fresh = World(vault, scratch / "fresh", scratch / "models")
    shutil.rmtree(fresh.state, ignore_errors=True)
    not_for_it = shutil.ignore_patterns(index.name, "locks", "log", "models", "usage.db*")  # the daemon writes on
    shutil.copytree(index.parent, fresh.state, ignore=not_for_it)
    async with fresh.engine():
        pass
    made = _known(fresh.state / "index")
    shutil.rmtree(fresh.state)
    paths = sorted(had.keys() | made.keys())
    return [_difference(path, had.get(path), made.get(path)) for path in paths if had.get(path) != made.get(path)]


def _difference(path: str, had: Indexed | None, made: Indexed | None) -> str:
    if had is None or made is None:
        return f"{path} is {'missing' if had is None else 'too much'} beside a new index"
    odd = [f.name for f in fields(NoteRecord) if getattr(had[0], f.name) != getattr(made[0], f.name)]
    return f"{path} differs from a new index: {', '.join(odd) or f'{len(had[1])} chunks instead of {len(made[1])}'}"


def _entries(text: str) -> dict[str, str]:
    return {entry.hash: text[entry.start : entry.end] for entry in logs.entries(text, parse(text).body_start)}


def _entry_faults(told: Told, entries: dict[str, str], text: str) -> list[str]:
    entry = told.id.rpartition("#")[2]
    if told.whole not in entries.get(entry, ""):
        return [f"the entry {told.word} is not in {told.path}"]
    forgotten = entry in parse(text).meta.get("forgotten", [])
    if told.sure and forgotten == told.shown:
        return [f"the entry {told.word} is {'' if forgotten else 'not '}forgotten"]
    return []


def _note_faults(told: Told, data: bytes) -> list[str]:
    if told.sure and told.etag and hashlib.sha256(data).hexdigest() != told.etag:
        return [f"{told.path} of {told.word} has not the bytes of its receipt"]
    if told.content not in data.decode():
        return [f"{told.path} does not hold {told.word}"]
    marked = parse(data.decode()).meta.get("status") in {"deleted", "superseded"}
    if told.sure and marked == told.shown:
        return [f"{told.path} of {told.word} is {'' if marked else 'not '}retired"]
    return []


def _read(vault: Path, path: str) -> bytes | None:
    file = vault / path
    return file.read_bytes() if file.is_file() else None


def _copied(index: Path, scratch: Path) -> Path:
    """A consistent copy of the database, whoever has it open."""
    copy = scratch / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir(parents=True)
    for file in index.glob("*.db"):
        with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(copy / file.name)) as target:
            source.backup(target)
    return copy


def _known(index: Path) -> dict[str, Indexed]:
    """Every note of the active generation, with its chunks."""
    opened = INDEXES.get("sqlite")(index)
    try:
        (active,) = [generation.number for generation in opened.generations() if generation.active]
        found: dict[str, Indexed] = {}
        after = None
        while page := opened.scan(active, after):
            for record in page:
                chunks = [passage.chunk for passage in opened.passages(record.path)]
                found[record.path] = (replace(record, signature=""), chunks)
            after = page[-1].path
        return found
    finally:
        opened.close()
