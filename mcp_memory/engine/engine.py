"""The engine: one façade over vault, index, search and recall."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from time import monotonic
from typing import Any, Literal

import anyio
from anyio.abc import TaskGroup

from mcp_memory.embedders.base import EmbedderConfig, Progress
from mcp_memory.engine.config import KindConfig, RecallConfig, VaultConfig, WatchConfig
from mcp_memory.engine.draft import Draft, one_line
from mcp_memory.engine.filters import checked_limit, checked_query, filters_from
from mcp_memory.engine.indexer import Indexer
from mcp_memory.engine.marker import Marker, renew_marker
from mcp_memory.engine.model import Model
from mcp_memory.engine.recall import Recaller
from mcp_memory.engine.search import SearchConfig, Searcher
from mcp_memory.engine.threads import in_thread, place_of
from mcp_memory.engine.vault import Stored, Vault
from mcp_memory.engine.watcher import Watcher
from mcp_memory.errors import DeadlineExceeded, IndexUnavailable, InvalidInput, McpMemoryError, NotFound, Refused
from mcp_memory.index.base import Index, Watermark
from mcp_memory.models import (
    Etag,
    Filters,
    NoteId,
    NotePath,
    NoteRecord,
    Outcome,
    Problem,
    Receipt,
    SearchResult,
)
from mcp_memory.text.chunking import ChunkingConfig
from mcp_memory.text.dates import parse_when
from mcp_memory.text.logs import is_log_path
from mcp_memory.text.secrets import find_secret

Mode = Literal["hybrid", "semantic", "keyword"]

READ_DEADLINE_S = 10.0
MOST_NOTES = 100
"""Of one recall by ids."""


VECTOR_WAIT_S = 0.5
"""How long an append waits for its own vectors before it answers without them."""

SIMILAR_COSINE = 0.9
"""From here on two texts say nearly the same to MiniLM."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """All that an engine needs: `root` is the vault, `state` its private folder, `models` the compiled models."""

    root: Path
    state: Path
    models: Path
    vault: VaultConfig = field(default_factory=VaultConfig)
    kinds: Mapping[str, KindConfig] = field(default_factory=dict[str, KindConfig])
    embedder: EmbedderConfig = field(default_factory=EmbedderConfig)
    chunking: ChunkingConfig = field(default_factory=ChunkingConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    recall: RecallConfig = field(default_factory=RecallConfig)
    watch: WatchConfig = field(default_factory=WatchConfig)


class Engine:
    """Made by `open_engine`. Every method checks its arguments and raises errors of the one tree."""

    def __init__(
        self, config: EngineConfig, marker: Marker, vault: Vault, index: Index, clock: Callable[[], datetime]
    ) -> None:
        self._config = config
        self._clock = clock
        self._index = index
        self.marker = marker
        self.vault = vault
        self.indexer = Indexer(vault, index, config.chunking)
        self.model = Model(config.embedder, config.models, self.indexer)
        self.searcher = Searcher(index, lambda: self.model.embedder, config.search, clock, lambda: self.model.reason)
        self._swept = anyio.Event()
        self.recaller = Recaller(vault, index, self.searcher, config.recall, clock)
        self.watcher = Watcher(self._sweep, config.watch)

    @property
    def phases(self) -> list[str]:
        """The names that `recall` takes as `phase`."""
        return list(self._config.recall.phases)

    # -- the four tools ----------------------------------------------------------------------------------------

    async def search(
        self,
        query: str,
        *,
        limit: int = 6,
        kinds: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        project: str | None = None,
        since: str | None = None,
        until: str | None = None,
        path: str | None = None,
        include_archived: bool = False,
        mode: Mode = "hybrid",
        explain: bool = False,
    ) -> SearchResult:
        """The best passages for a question; with keywords alone while the model is not ready, and says so."""
        self.watcher.touch()
        filters = self._filters(
            kinds=kinds, tags=tags, project=project, since=since, until=until, path=path,
            include_archived=include_archived,
        )  # fmt: skip
        result = await self.searcher.search(
            checked_query(query), limit=checked_limit(limit), filters=filters, mode=mode, explain=explain
        )
        return replace(result, degraded=_joined(result.degraded, self._staleness()))

    async def recall(
        self,
        query: str | None = None,
        *,
        ids: Sequence[str] | None = None,
        path: str | None = None,
        lines: str | None = None,
        phase: str | None = None,
        kinds: Sequence[str] | None = None,
        project: str | None = None,
        budget_tokens: int | None = None,
    ) -> str:
        """Text within the budget: notes by id or path, what fits a question, or what a session starts with."""
        self.watcher.touch()
        chosen = self._config.recall.phases.get(phase) if phase else None
        if phase and chosen is None:
            known = ", ".join(self._config.recall.phases)
            raise InvalidInput(f"unknown phase {phase[:100]!r}", hint=f"known phases: {known}")
        whole_start = not (query or ids or path or phase)
        default = self._config.recall.start_budget_tokens if whole_start else self._config.recall.budget_tokens
        budget = budget_tokens if budget_tokens is not None else (chosen.budget_tokens if chosen else default)
        if not 100 <= budget <= 200_000:
            raise InvalidInput(f"budget_tokens is {budget}", hint="pass 100 to 200000; 2000 is a good start")
        if lines and (ids or not path):
            raise InvalidInput("lines goes with path alone", hint="pass the path of one note")
        if ids or path:
            if query or phase or kinds:
                raise InvalidInput("ids and path take no query, phase or kinds", hint="call twice")
            asked = list(dict.fromkeys([*(ids or ()), *([path] if path else ())]))
            if len(asked) > MOST_NOTES:
                raise InvalidInput(f"{len(asked)} notes at once", hint=f"at most {MOST_NOTES}")
            wanted = [await self._resolve(target) for target in asked]
            return await self.recaller.notes(wanted, lines, budget)
        filters = self._filters(kinds=kinds or (chosen.kinds if chosen else None), project=project)
        if query is not None and (query.strip() or not phase):
            stale = self._staleness()
            return await self.recaller.question(checked_query(query), filters, budget, [stale] if stale else [])
        return await self.recaller.start(filters.project, budget, filters.kinds)

    async def append(
        self,
        content: str,
        *,
        kind: str = "note",
        title: str | None = None,
        tags: Sequence[str] | None = None,
        project: str | None = None,
        supersedes: str | None = None,
        session: str | None = None,
        expires: str | None = None,
        path: str | None = None,
        source: str | None = None,
    ) -> Receipt:
        """Store a note durably and index it; the same content again returns the first note."""
        self.watcher.touch()
        draft = Draft(
            content=content,
            kind=self.vault.kinds.get(kind),
            title=title.strip() if title else None,
            tags=tuple(tag.strip() for tag in tags or ()),
            project=project.strip() if project and project != "*" else None,
            session=session,
            source=source,
            expires_at=self._expiry(expires),
            path=path.removeprefix("./") if path else None,
        )
        old = (await self._resolve(supersedes))[0] if supersedes else None
        latest = monotonic() + self._config.vault.write_deadline_s
        try:
            stored = await in_thread(
                lambda: self.vault.append(draft, supersedes=old, same=self._same(draft)),
                deadline_s=self._config.vault.write_deadline_s,
                what="writing the note",
            )
        except DeadlineExceeded:
            return Receipt(NoteId(""), NotePath(""), Etag(""), Outcome.UNKNOWN, "pending")
        indexed = await self._index_now(stored, old, latest)
        return Receipt(
            id=_hit_id(stored),
            path=stored.file.record.path,
            etag=stored.file.record.etag,
            outcome=stored.outcome,
            indexed=indexed,
            similar=await self._similar(stored) if stored.outcome is not Outcome.DUPLICATE else (),
        )

    async def forget(self, target: str, *, restore: bool = False, reason: str | None = None) -> NoteRecord:
        """Take a note or log entry out of every answer, or bring it back; its file stays. `target`: id or path."""
        self.watcher.touch()
        path, entry = await self._resolve(target)
        why = one_line("reason", reason, 500) if reason else None
        if why and self._config.vault.secrets != "allow" and (found := find_secret(why)):
            raise Refused(f"the reason seems to hold a secret ({found})", hint="say it without")
        file = await in_thread(
            lambda: self.vault.restore(path, entry) if restore else self.vault.forget(path, entry, why),
            deadline_s=self._config.vault.write_deadline_s,
            what="changing the note",
        )
        try:
            with anyio.fail_after(self._config.vault.write_deadline_s):
                await self.indexer.put(file)
        except (McpMemoryError, TimeoutError) as error:
            self.watcher.hint()
            done = "restored" if restore else "marked as deleted"
            raise IndexUnavailable(
                f"{path} is {done} on disk, but the index could not be told yet", hint="it follows at the next sweep"
            ) from error
        self.model.wake()
        return file.record

    # -- for people --------------------------------------------------------------------------------------------

    async def adopt(self, path: str | None = None) -> list[NotePath]:
        """Vouch for notes in home that this installation did not write: one, a folder's, or with None all of them.

        Of several, those that cannot be read are left out; `problems` names them.
        """
        everything = list((await in_thread(self.vault.list, deadline_s=60, what="listing the vault")).files)
        inside = [p for p in everything if self.vault.layout.below_home(p) is not None]
        wanted = [p for p in inside if path is None or p == path or p.startswith(path.rstrip("/") + "/")]
        if path is not None and not wanted:
            raise NotFound(f"no note at {path} in home", hint=f"home is {self.marker.home or 'the whole vault'}")

        def adopt() -> list[NotePath]:
            adopted: list[NotePath] = []
            for each in wanted:
                try:
                    if self.vault.adopt(each):
                        adopted.append(each)
                except McpMemoryError:
                    if each == path:
                        raise
            return adopted

        return await in_thread(adopt, deadline_s=600, what="adopting notes")

    async def accept_loss(self) -> int:
        """What has vanished is really gone, and a folder that has lost its marker is the vault all the same; returns
        how many notes were taken out of the index."""
        await in_thread(lambda: renew_marker(self._config.root, self.marker), deadline_s=30, what="writing the marker")
        return await self.indexer.accept_loss()

    async def reindex(self) -> dict[str, Any]:
        """Read and index every file again, now; only texts without a cached vector are embedded."""
        self.indexer.distrust()
        swept = await self.indexer.reconcile()
        embedder = self.model.embedder
        if embedder:
            await self.indexer.use(embedder)
        embedded = await self.indexer.embed_pending(embedder) if embedder else 0
        return {
            "notes": swept.files,
            "reindexed": swept.changed,
            "embedded": embedded,
            "seconds": round(swept.took_s, 3),
        }

    async def reconcile(self) -> dict[str, Any]:
        """One sweep, now."""
        swept = await self.indexer.reconcile()
        self.model.wake()
        return {"notes": swept.files, "changed": swept.changed, "gone": swept.gone, "seconds": round(swept.took_s, 3)}

    async def note(self, note_id: str) -> str:
        """One note's text by id or path."""
        path, entry = await self._resolve(note_id)
        return await self.recaller.notes([(path, entry)], None, 100_000)

    def tree(self) -> list[NoteRecord]:
        """All active notes, by path. Reads the index: call it in a thread."""
        return sorted(self._index.notes(Filters(now=self._clock()), limit=100_000), key=lambda r: r.path)

    def status(self) -> dict[str, Any]:
        """Facts for `status`, `doctor` and `memory://status`. Reads the index: call it in a thread."""
        try:
            mark = self._index.watermark()
        except IndexUnavailable as error:
            mark = Watermark(0, 0, 0, 0)
            self.indexer.faults["index"] = Problem("index", error.message)
        last, progress, problems = self.indexer.last, self.indexer.progress, self.problems()
        embedder = self.model.embedder
        return {
            "vault": str(self._config.root),
            "home": self.marker.home,
            "read_only": self.vault.read_only,
            "ready": self.model.settled.is_set(),
            "notes": mark.notes,
            "chunks": mark.chunks,
            "pending": mark.vectors_pending,
            "model": embedder.fingerprint if embedder else None,
            "model_state": self.model.state,
            "generation": self.indexer.generation.number,
            "phase": progress.phase,
            "progress": [progress.done, progress.total],
            "last_progress_s": round(monotonic() - progress.at, 1),
            "last_sweep_s": round(monotonic() - last.at, 1) if last else None,
            "watching": self.watcher.hints,
            "ignored": self.indexer.ignored,
            "pruning_paused": self.indexer.pruning_paused,
            "problems": len(problems),
            "errors": [f"{p.path}: {p.reason}" for p in problems[:20]],
        }

    def problems(self) -> list[Problem]:
        """Files that could not be used as they are, and faults of the index."""
        return [*self.indexer.problems.values(), *self.indexer.faults.values(), *self.index_problems]

    @property
    def index_problems(self) -> Sequence[Problem]:
        """Faults of the index that were overcome."""
        return self._index.problems

    async def settled(self) -> None:
        """Returns once the first sweep is done and its backlog embedded, or the model known to be unavailable."""
        await self.model.settled.wait()

    # -- life --------------------------------------------------------------------------------------------------

    async def start(self, tasks: TaskGroup, *, watch: bool, progress: Progress | None) -> None:
        """Sweep, load the model, embed: each in a task of this group."""
        await in_thread(self.indexer.open, deadline_s=60, what="opening the index")
        tasks.start_soon(self.watcher.run if watch else self._sweep)
        tasks.start_soon(self.model.run, self._swept, progress)

    async def close(self) -> None:
        """Idempotent. The index is closed also where the model hangs."""
        try:
            await self.model.close()
        finally:
            await in_thread(self._index.close, deadline_s=5, what="closing the index")

    async def _sweep(self) -> list[Path]:
        """The folders to watch; empty when the sweep failed, and `problems` says why."""
        try:
            swept = await self.indexer.reconcile()
            await in_thread(self.vault.settle, deadline_s=60, what="settling displaced files")
        except McpMemoryError as error:
            self.indexer.faults["sweep"] = Problem("sweep", error.message)
            return []
        except Exception as error:  # a fault of ours must not end the daemon: it is said and tried again
            self.indexer.faults["sweep"] = Problem("sweep", f"{type(error).__name__} in the sweep")
            log.error("sweep: %s", place_of(error))
            return []
        finally:
            self._swept.set()
        self.indexer.faults.pop("sweep", None)
        self.model.wake()
        return [self._absolute(folder) for folder in sorted(swept.folders)]

    def _absolute(self, folder: str) -> Path:
        """Of a folder as the listing names it: in the vault, or `@name/…` in a source."""
        if folder.startswith("@"):
            name, _, inside = folder.partition("/")
            return self.vault.roots()[f"{name}/"] / inside
        return self._config.root / folder

    # -- below -------------------------------------------------------------------------------------------------

    def _filters(self, **wanted: Any) -> Filters:
        return filters_from(**wanted, known=self.vault.kinds, now=self._clock(), tz=self.vault.layout.tz)

    async def _resolve(self, target: str) -> tuple[NotePath, str | None]:
        """A note's path (and a log entry's hash) from an id or path. Raises NotFound."""
        plain = target.strip()
        if not plain or len(plain) > 5000:
            raise InvalidInput("id is empty or too long", hint="pass an id or path from memory_search")
        whole, _, entry = plain.rpartition("#")
        if is_log_path(whole):
            return NotePath(whole), entry
        if plain.startswith("path:"):
            return NotePath(plain.removeprefix("path:")), None
        if "/" in plain or plain.lower().endswith(".md"):
            return NotePath(plain.removeprefix("./")), None
        records = await in_thread(
            lambda: self._index.note_by_id(NoteId(plain)), deadline_s=READ_DEADLINE_S, what="looking for the note"
        )
        if not records:
            raise NotFound(f"no note with the id {plain[:100]!r}", hint="memory_search finds ids")
        return records[0].path, None

    async def _index_now(self, stored: Stored, old: NotePath | None, latest: float) -> str:
        """Index what was just written, until `latest` (monotonic seconds); else the sweep does it, and the receipt
        says so."""
        path = stored.file.record.path
        try:
            with anyio.fail_after(max(0.1, latest - monotonic())):
                await self.indexer.put(stored.file)
                if old:
                    await self.indexer.put(await in_thread(lambda: self.vault.read(old), deadline_s=10, what="reading"))
        except (McpMemoryError, TimeoutError) as error:
            why = error.message if isinstance(error, McpMemoryError) else "not indexed in time"
            self.indexer.problems[path] = Problem(path, why)
            self.watcher.hint()
            return "pending"
        return "full" if await self.model.embed_now(VECTOR_WAIT_S) else "keywords"

    def _expiry(self, expires: str | None) -> datetime | None:
        if not expires:
            return None
        try:
            return parse_when(expires, self.vault.layout.tz)
        except InvalidInput as error:
            raise InvalidInput(f"expires: {error.message}", hint=error.hint) from error

    def _same(self, draft: Draft) -> list[NotePath]:
        """Where the index knows this very content from; the ledger tells it too, but not after a move."""
        try:
            found = self._index.find_content(draft.content_hash, draft.kind.name, draft.project)
        except IndexUnavailable:
            return []  # a broken index is no reason to refuse a note
        return [record.path for record in found if not record.path.startswith("@")]

    async def _similar(self, stored: Stored) -> tuple[NoteId, ...]:
        """Notes that say nearly the same: told to the caller, never merged."""
        record = stored.file.record
        if record.is_log or self.model.embedder is None:
            return ()
        filters = Filters(now=self._clock(), project=record.project)
        text = f"{record.title}\n{stored.file.body.strip()[:1600]}"
        near = await self.searcher.nearest(text, filters, SIMILAR_COSINE)
        return tuple(note_id for note_id in near if note_id != record.id)[:5]

    def _staleness(self) -> str | None:
        """Why an answer may not know the latest files, or None."""
        if self.indexer.pruning_paused:
            return f"{self.indexer.pruning_paused}: answers come from the last good index (see mcp-memory doctor)"
        if self.indexer.replaced:
            self.watcher.hint()
            return "the index was damaged and is being rebuilt from the files"
        if self.indexer.last is None:
            return "the first sweep of the vault is not finished"
        return None


def _hit_id(stored: Stored) -> NoteId:
    record = stored.file.record
    return NoteId(f"{record.path}#{stored.entry}") if stored.entry else record.id


def _joined(*parts: str | None) -> str | None:
    return "; ".join(part for part in parts if part) or None
