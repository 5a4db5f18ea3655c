"""An engine whose requests are written as keywords, as `Memory` writes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from mcp_memory.engine.engine import Engine
from mcp_memory.library import answers
from mcp_memory.library.answers import VaultStatus
from mcp_memory.models import Receipt, SearchResult
from mcp_memory.runs.journal import RunJournal
from mcp_memory.vault.journals.tombstones import UNKNOWN, Caller
from mcp_memory.vault.vault import Vault


class KeywordEngine:
    """Everything but the four verbs, and what people ask for, goes to the engine as it is."""

    def __init__(self, engine: Engine, state: Path | None = None, vault: Callable[[], Vault] | None = None) -> None:
        self.engine = engine
        self.state = state
        self.vault = vault

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)

    async def search(self, query: str, **rest: Any) -> SearchResult:
        return answers.search_result(await self.ask("search", query=query, **rest))

    async def recall(self, query: str | None = None, **rest: Any) -> str:
        return (await self.ask("recall", query=query, **rest))["text"]

    async def append(self, content: str, **rest: Any) -> Receipt:
        return answers.receipt(await self.ask("append", content=content, **rest))

    async def update(self, target: str, text: str, **rest: Any) -> Receipt:
        return answers.receipt(await self.ask("update", target=target, text=text, **rest))

    async def forget(
        self,
        target: str,
        *,
        source: str | None = None,
        session: str | None = None,
        personal: bool = False,
        **rest: Any,
    ) -> VaultStatus:
        """`personal`: a person asks at the command line."""
        found = await self.ask("forget", Caller(source, session, personal), target=target, **rest)
        return answers.vault_status(found)

    async def ask(self, operation: str, caller: Caller = UNKNOWN, **arguments: Any) -> dict[str, Any]:
        """Ask the engine with these arguments as JSON."""
        return await self.engine.perform(operation, json.loads(json.dumps(arguments)), caller)

    async def sweep(self) -> dict[str, Any]:
        return await self.engine.perform("reconcile", {})

    async def status(self) -> dict[str, Any]:
        return await self.engine.perform("status", {})

    async def problems(self) -> dict[str, str]:
        """The reason of each, by path."""
        said = [line.partition(": ") for line in (await self.status())["errors"]]
        return {path: reason for path, _, reason in said}

    async def doctor(self) -> list[SimpleNamespace]:
        """What an examination finds."""
        return [SimpleNamespace(**one) for one in (await self.engine.perform("doctor", {}))["findings"]]

    async def adopt(self, path: str | None = None, **rest: Any) -> list[str]:
        return (await self.engine.perform("adopt", {"path": path, **rest}))["adopted"]

    async def give_back(self, path: str | None = None, **rest: Any) -> list[str]:
        return (await self.engine.perform("adopt", {"path": path, "revoke": True, **rest}))["returned"]

    async def lost(self) -> list[dict[str, Any]]:
        """The entries that were added to shared files and are gone, by what is on disk."""
        assert self.vault
        return [{"id": one.id, "why": one.why, "text": one.text} for one in self.vault().shared.compare()]

    async def waiting(self, *only: str) -> list[dict[str, Any]]:
        """What waits for a decision, of these kinds or all."""
        return (await self.engine.perform("waiting", {"only": list(only) or None}))["waiting"]

    async def conflicts(self) -> list[dict[str, Any]]:
        """The open ones, looked for now, the latest first."""
        return [
            {"id": one["id"], "why": one["why"], **{note["role"]: note for note in one["notes"]}}
            for one in await self.waiting("conflict")
        ]

    async def settle(self, choice: str, note: str, other: str | None = None) -> list[dict[str, Any]]:
        """Decide all listed conflicts of this note (id or path), or only the one with the other."""
        items, note_id = list[str](), note
        for one in await self.conflicts():
            for side, rival in permutations((one["older"], one["newer"])):
                if note in (side["id"], side["path"]) and other in (None, rival["id"]):
                    items.append(one["id"])
                    note_id = side["id"]
        return (await self.engine.perform("review", {"items": items, "choice": choice, "note": note_id}))["done"]

    async def archive(self, items: list[str]) -> list[str]:
        """Move outdated notes to `_archive/`. Returns their places there."""
        if not items:
            return []
        done = await self.engine.perform("review", {"items": items, "choice": "archive"})
        return [one["path"] for one in done["done"]]

    async def inbox(self) -> list[SimpleNamespace]:
        """The candidates, what was stored without review, and the proposals."""
        return [SimpleNamespace(**one) for one in await self.waiting("candidate", "stored", "proposal")]

    async def review(self, choice: str, target: str, etag: str | None = None, **rest: Any) -> SimpleNamespace:
        (done,) = (await self.engine.perform("review", {"items": [target], "choice": choice, "etag": etag, **rest}))[
            "done"
        ]
        return SimpleNamespace(**done)

    async def brief(self, session: str, prompt: str | None = None, **rest: Any) -> SimpleNamespace:
        """What a session is told at its start, or with a prompt."""
        wanted = {"within_ms": 30_000, "session": session, "prompt": prompt, **rest}
        return SimpleNamespace(**await self.engine.perform("brief", wanted))

    async def reset(self, session: str) -> None:
        """A session's context is emptied."""
        await self.engine.perform("emptied", {"session": session})

    async def organize(self, **rest: Any) -> list[str]:
        return (await self.engine.perform("organize", rest))["pages"]

    async def run_job(self, name: str) -> dict[str, Any]:
        (run,) = (await self.engine.perform("jobs", {"action": "run", "name": name}))["runs"]
        assert run["error"] is None
        return run

    async def runs(self) -> list[str]:
        """The ids of all compactions, oldest first."""
        assert self.state
        return RunJournal(self.state / "compaction").list_runs()

    async def compact(self) -> SimpleNamespace:
        """The report of a compaction that a person asks for."""
        return SimpleNamespace(**await self.engine.perform("compact", {}))

    async def undo_run(self, run: str) -> SimpleNamespace:
        """The report of an undone run; `left` also has why nothing was done."""
        steps = (await self.engine.perform("undo", {"target": run, "sure": True}))["steps"]
        nothing = {"done": [], "kept": [], "left": []}
        report = next((step["report"] for step in steps if "report" in step), nothing)
        left = report["left"] + [step["why"] for step in steps if step["why"] and "report" not in step]
        return SimpleNamespace(**report | {"left": left})
