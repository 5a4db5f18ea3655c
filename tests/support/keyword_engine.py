"""An engine whose requests are written as keywords, as `Memory` writes them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from mcp_memory.engine.engine import Engine
from mcp_memory.engine.requests import AppendRequest, ForgetRequest, RecallRequest, SearchRequest, UpdateRequest
from mcp_memory.models import NoteRecord, Receipt, SearchResult
from mcp_memory.vault.journals.tombstones import Caller


class KeywordEngine:
    """Everything but the four verbs goes to the engine as it is."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)

    async def search(self, query: str, **rest: Any) -> SearchResult:
        return await self.engine.search(SearchRequest(query, **rest))

    async def recall(self, query: str | None = None, **rest: Any) -> str:
        return (await self.engine.recall(RecallRequest(query, **rest))).text

    async def append(self, content: str, **rest: Any) -> Receipt:
        return await self.engine.append(AppendRequest(content, **rest))

    async def update(self, target: str, text: str | None = None, **rest: Any) -> Receipt:
        return await self.engine.update(UpdateRequest(target, text, **rest))

    async def forget(
        self,
        target: str,
        *,
        source: str | None = None,
        session: str | None = None,
        personal: bool = False,
        **rest: Any,
    ) -> NoteRecord:
        """`personal`: a person asks at the command line."""
        return await self.engine.forget(ForgetRequest(target, **rest), Caller(source, session, personal))

    async def sweep(self) -> dict[str, Any]:
        return await self.engine.perform("reconcile", {})

    async def compact(self, topic: str | None = None) -> SimpleNamespace:
        """The report of a compaction that a person asks for."""
        return SimpleNamespace(**await self.engine.perform("compact", {"topic": topic}))

    async def undo_compaction(self, run: str) -> SimpleNamespace:
        return SimpleNamespace(**await self.engine.perform("compact", {"undo": run}))

    async def holds_now(self, record: NoteRecord) -> dict[str, str] | None:
        """The other note of this one's chain that counts now."""
        return (await self.engine.describe_forgotten(record)).get("holds_now")
