"""Dreams: stores what you ticked in `DREAMS.md`, then proposes what recurs and isn't known yet."""

import json
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from secrets import token_hex
from typing import Any

import anyio
import numpy as np

from mcp_memory.curation.dreams.config import DreamsConfig
from mcp_memory.curation.dreams.dream_page import PageLine, link_to, read_page, with_proposals, without
from mcp_memory.curation.dreams.recurrence import Recurrence, Said, find_recurring, is_known
from mcp_memory.embedders.base import Embedder
from mcp_memory.errors import InvalidInput, McpMemoryError, NotFound
from mcp_memory.extraction.language import introduces
from mcp_memory.extraction.statement_rules import classify
from mcp_memory.extraction.user_sentences import user_sentences
from mcp_memory.index.base import Index
from mcp_memory.indexing.writer import IndexWriter
from mcp_memory.models import Filters, NotePath, NoteState, PrivateMarks, Receipt, is_channel
from mcp_memory.runtime.os_errors import naming_the_cause
from mcp_memory.runtime.private_files import replace_file
from mcp_memory.runtime.threads import in_thread
from mcp_memory.text.markdown import logs
from mcp_memory.text.pluralize import counted
from mcp_memory.usage.use_counter import UseCounter
from mcp_memory.vault.draft import Draft
from mcp_memory.vault.note_file import DREAMS, MEMORY, entries_of
from mcp_memory.vault.vault import Vault

MOST_CHARS = 300
"""Of a statement; a longer one is no line for MEMORY.md."""
PROMOTABLE = frozenset({"preference", "decision", "lesson", "fact"})
MOST_RUNS = 50
STORE = "memory/.dreams"
"""A file for each proposal, so that two machines with one synced vault write the same ones."""

Facts = dict[str, Any]


@dataclass(slots=True)
class DreamReport:
    """What a run did, or with `dry_run` would do. `refused`: what couldn't be stored or taken back, and why."""

    run: str
    promoted: list[str] = field(default_factory=list[str])
    proposed: list[Facts] = field(default_factory=list[Facts])
    refused: list[str] = field(default_factory=list[str])
    staged: int = 0
    seen: str = ""


@dataclass(eq=False, slots=True)
class Dreamer:
    """`append` and `forget` are for entries of MEMORY.md; `runs` is a folder of the state folder."""

    vault: Vault
    index: Index
    writer: IndexWriter
    uses: UseCounter
    append: Callable[[Draft], Awaitable[Receipt]]
    forget: Callable[[str], Awaitable[object]]
    embedder: Callable[[], Embedder | None]
    private: PrivateMarks
    config: DreamsConfig
    clock: Callable[[], datetime]
    runs: Path
    _lock: anyio.Lock = field(default_factory=anyio.Lock)
    _vectors: dict[str, Any] = field(default_factory=dict[str, Any])

    async def run(self, *, dry_run: bool = False, backfill: str | None = None, stage: bool = False) -> DreamReport:
        """`backfill`: a folder of old daily logs to read, too; with `stage`, what recurs there is only kept as
        evidence. A run with nothing new writes nothing. Raises StorageFailed, InvalidInput."""
        async with self._lock:
            report = DreamReport(f"dream-{self.clock():%Y%m%dT%H%M%S}-{token_hex(2)}")
            was, known, lines, deleted = await in_thread(self._read, what="reading DREAMS.md")
            page, gone, entries = was[DREAMS] or "", list[PageLine](), list[str]()
            changed = {name: known[name] | {"status": "rejected"} for name in deleted}
            for line in lines:
                facts, status = known.get(line.id, {}), {"x": "promoted", "-": "rejected"}.get(line.box)
                if line.box == "x" and line.text and not dry_run:
                    status = status if await self._promote(line.text, line.section, facts, report, entries) else None
                if status:
                    gone.append(line)
                    changed |= {line.id: {"text": line.text, **facts, "status": status}} if line.id else {}
            find = in_thread(lambda: self._find(backfill, known), what="reading logs", deadline_s=1800)
            found, report.seen = await find
            if backfill and stage:
                staged = {
                    one.id: _facts(one, "short-term") for one in found if not one.recalled and one.id not in known
                }
                changed, report.staged, found = changed | staged, len(staged), []
            texts = [facts["text"] for facts in known.values() if facts["status"] != "short-term"]
            memory = await in_thread(lambda: self._text(MEMORY) or "", what="reading MEMORY.md")
            entered = [getattr(entry, "title", "") for entry in entries_of(MEMORY, memory)]
            texts += [line.text for line in lines] + [title.partition(" (2")[0] for title in entered]
            waiting = list[Recurrence]()
            for one in [one for one in found if one.passes(self.config)][: self.config.most_proposed + len(texts)]:
                facts, is_sure = _facts(one, "promoted"), 0 < self.config.auto_promote <= one.score and not dry_run
                if len(waiting) == self.config.most_proposed or is_known(one.text, texts, self._cosine):
                    continue
                if not is_sure or not await self._promote(one.text, one.section, facts, report, entries):
                    waiting.append(one)
                changed[one.id] = facts | ({"status": "proposed"} if one in waiting else {})
            report.proposed = [
                _facts(one, "proposed") | {"section": one.section, "score": one.score} for one in waiting
            ]
            report.seen += f": {counted(len(waiting), 'new proposal')}, {len(report.promoted)} stored"
            if not dry_run and (changed or gone):
                page = with_proposals(without(page, gone), waiting, report.seen) if waiting or gone else page
                await in_thread(lambda: self._write(report.run, was, page, changed, entries), what="writing")
            return report

    async def rollback(self, run: str) -> DreamReport:
        """Takes a run back: every byte that nobody has changed since. Raises NotFound, StorageFailed."""
        file, report = self.runs / f"{Path(run).name}.json", DreamReport(run)

        def read() -> tuple[Facts, list[str]]:
            if file.is_file():
                journal = json.loads(file.read_bytes())
                return journal, [path for path, (_, after) in journal["files"].items() if self._text(path) == after]
            latest = ", ".join(sorted(one.stem for one in self.runs.glob("*.json"))[-5:]) or "none"
            raise NotFound(f"no run {run[:80]!r}", hint=f"the latest: {latest}")

        journal, untouched = await in_thread(read, what="reading the run")
        for entry in journal["entries"]:
            try:
                await self.forget(entry)
            except McpMemoryError as error:  # you have changed or forgotten it
                report.refused.append(f"{MEMORY}#{entry}: {error.message}")
        for path, (before, _) in journal["files"].items():
            if path in untouched:
                await in_thread(lambda path=path, text=before: self._put(path, text), what="writing")
            elif path != MEMORY or not journal["entries"]:
                report.refused.append(f"{path} was changed since and stays")
        file.unlink()
        return report

    async def _promote(self, text: str, section: str, facts: Facts, report: DreamReport, entries: list[str]) -> bool:
        said = f" ({facts['days'][-1]}, {link_to(facts['sources'][-1])})" if facts.get("sources") else ""
        try:
            kind = self.vault.kinds.get("note")
            stored = await self.append(Draft(text + said, kind, path=MEMORY, section=section, source="dream"))
        except McpMemoryError as error:
            report.refused.append(f"{text[:80]}: {error}")
            return False
        report.promoted.append(text)
        entries += [stored.id.rpartition("#")[2]] if stored.outcome == "created" else []
        return True

    def _find(self, backfill: str | None, known: dict[str, Facts]) -> tuple[list[Recurrence], str]:
        """What recurs, the best first, and what was read."""
        said, days, used = list[Said](), set[date](), self.uses.read()
        read = frozenset({NoteState.ACTIVE, NoteState.SUMMARY})
        wanted = Filters(read, now=self.clock(), private=self.private, foreign=False)
        notes = self.index.notes(wanted, limit=1_000_000)
        notes = [note for note in notes if not is_channel(note.project)]
        for note in notes:
            written = note.created.date() if note.created and note.kind == "session" else None
            if day := logs.is_log_path(note.path) or written:
                with suppress(McpMemoryError):
                    file = self.vault.read(note.path)
                    said += _statements(day, note.path, file.body, file.forgotten_entries)
                    days.add(day)
        olds = [*Path(backfill).expanduser().rglob("*.md")] if backfill else []
        olds = [old for old in sorted(olds) if logs.is_log_path(f"memory/{old.name}")]
        for old in olds:
            if day := logs.is_log_path(f"memory/{old.name}"):
                said += _statements(day, f"memory/{old.name}", old.read_text("utf-8", "replace"), ())
                days.add(day)
        if backfill and not olds:
            raise InvalidInput(f"{backfill} has no daily logs", hint="they are named like 2026-11-21.md")
        staged = [facts for facts in known.values() if facts["status"] == "short-term"]
        found = [one for one in staged for one in _said_in(one)]
        found = find_recurring(said + found, self._cosine)
        for note in notes:
            use = used.get(note.id)
            if use and note.kind in PROMOTABLE and not note.always_load and len(use.used_days) >= self.config.min_days:
                text = " ".join(self.vault.read(note.path).body.split())
                text = f"{note.project}: {text}" if note.project and note.kind != "preference" else text
                if len(text) <= MOST_CHARS and not is_known(text, [one.text for one in found], self._cosine):
                    on, times = tuple(day.isoformat() for day in use.used_days), use.total.found + use.total.told
                    found.append(Recurrence(text, note.kind, on, (note.path,), times, use.questions))
        seen = f"{counted(len(days), 'day')} of logs with {counted(len(said), 'statement')}"
        return sorted(found, key=lambda one: (-one.score, one.id)), seen

    def _cosine(self, one: str, other: str) -> float:
        with suppress(McpMemoryError):
            if embedder := self.embedder():
                for text in {one, other} - self._vectors.keys():
                    self._vectors[text] = np.asarray(embedder.embed_query(text))
                return float(self._vectors[one] @ self._vectors[other])
        return 0.0

    def _read(self) -> tuple[dict[str, str | None], dict[str, Facts], list[PageLine], list[str]]:
        """The files as they were, the stored proposals, the page's lines, and which proposals you took off it."""
        known, page = dict(self._stored()), self._text(DREAMS)
        lines = list(read_page(page or ""))
        return {DREAMS: page, MEMORY: self._text(MEMORY)}, known, lines, list(self._deleted(known, lines))

    def _deleted(self, known: dict[str, Facts], lines: list[PageLine]) -> Iterator[str]:
        """What you took off the page. One that is older than a proposal wasn't synced yet; without any, all wait."""
        page, there = self._file(DREAMS), {line.id for line in lines}
        for name, facts in known.items() if page.is_file() else ():
            written = self._file(f"{STORE}/{name}.json").stat().st_mtime_ns
            if facts["status"] == "proposed" and name not in there and written <= page.stat().st_mtime_ns:
                yield name

    def _write(
        self, run: str, was: dict[str, str | None], page: str, changed: dict[str, Facts], entries: list[str]
    ) -> None:
        files = {path: (text, page if path == DREAMS else self._text(path)) for path, text in was.items()}
        if not page:
            del files[DREAMS]
        for name, facts in changed.items():
            path, text = f"{STORE}/{name}.json", json.dumps(facts, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
            files[path] = self._text(path), text
        with naming_the_cause(str(self.runs)):
            replace_file(self.runs / f"{run}.json", json.dumps({"files": files, "entries": entries}).encode())
            for old in sorted(self.runs.glob("*.json"))[:-MOST_RUNS]:
                old.unlink()
        for path, (_, text) in files.items():
            if path != MEMORY:
                self._put(path, text)

    def _put(self, path: str, text: str | None) -> None:
        """Writes a file, or removes it, unless it says so already. Raises PreconditionFailed, StorageFailed."""
        if (now := self._text(path)) == text:
            return
        if path.startswith(STORE):
            with naming_the_cause(path):
                file = self._file(path)
                file.unlink() if text is None else replace_file(file, _bytes(text))
        else:
            etag = self.vault.read(NotePath(path)).record.etag if now is not None else None
            if text is not None:
                self.vault.filing.write_plain(NotePath(path), _bytes(text), etag)
            elif etag:
                self.vault.filing.remove_page(NotePath(path), etag)
            self.writer.reindex_later(NotePath(path))

    def _stored(self) -> Iterator[tuple[str, Facts]]:
        for file in sorted(self._file(STORE).glob("????????.json")):
            with suppress(OSError, ValueError, KeyError, TypeError):  # half synced
                facts = json.loads(file.read_bytes())
                yield file.stem, {**facts, "text": str(facts["text"]), "status": str(facts["status"])}

    def _text(self, path: str) -> str | None:
        with naming_the_cause(path), suppress(FileNotFoundError):
            return self._file(path).read_bytes().decode("utf-8", "surrogateescape")
        return None

    def _file(self, path: str) -> Path:
        return self.vault.roots()[""] / path


def _statements(day: date, source: str, text: str, forgotten: Collection[str]) -> Iterator[Said]:
    """The sentences of a log's entries, or of a whole text."""
    entries = logs.entries(text)
    parts = [text[one.start : one.end] for one in entries if one.hash not in forgotten] if entries else [text]
    for heading, _, body in (part.partition("\n") for part in parts):
        title = logs.title_and_labels([heading.removeprefix("## ")])[0]
        for line in (title, *(line.strip().lstrip("-*+ ") for line in body.splitlines())):
            for sentence in user_sentences(line, introduces) if line else ():
                if len(sentence.text) <= MOST_CHARS and not sentence.is_question:
                    kind = statement.kind.value if (statement := classify(sentence)) else ""
                    yield Said(day, source, " ".join(sentence.text.split()), kind)


def _said_in(facts: Facts) -> Iterator[Said]:
    for day in facts["days"]:
        yield Said(date.fromisoformat(day), facts["sources"][0], facts["text"], facts["kind"])


def _facts(one: Recurrence, status: str) -> Facts:
    days, sources = list(one.days), list(one.sources)
    return {"id": one.id, "text": one.text, "kind": one.kind, "days": days, "sources": sources, "status": status}


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
