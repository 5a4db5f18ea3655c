"""Memory, for a program that imports it: the four tools, and conversations turned into notes."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from mcp_memory.client.credentials import PERSON
from mcp_memory.daemon.engine_client import ask, compaction_s
from mcp_memory.errors import DeadlineExceeded, InvalidInput
from mcp_memory.library.answers import (
    CompactionResult,
    TopicSummary,
    VaultStatus,
    filed,
    receipt,
    search_result,
    topic,
    vault_status,
)
from mcp_memory.library.in_process import InProcess
from mcp_memory.models import Receipt, SearchResult
from mcp_memory.runtime.local_timezone import LocalTimezone
from mcp_memory.settings.settings import Settings, load
from mcp_memory.text.conversation.conversation_chunks import ConversationChunk, chunk_conversation
from mcp_memory.text.conversation.messages import Message, read_turns

CALL_S = 120.0
"""The engine has shorter deadlines of its own; a first question may wait for the first index."""

SETTLE_S = 900.0
POLL_S = 0.1
NAME = "library"
"""How the daemon knows us, and what `source` says of a note that says nothing else."""

_PERSONS_OWN = frozenset({"append", "compact", "forget"})
"""What a daemon refuses to agents, or an author or a date in it: a program that a person wrote asks as the person."""

_AT_WORK = frozenset({"loading", "ready", "resting"})
"""States of a model that will yet embed what has no vector."""


class Memory:
    """One vault, open until it is closed: `with Memory.open("~/memory") as memory: …`.

    Where a daemon serves the vault it is asked, each time anew; else the engine runs in this process, which holds the
    vault's lock from the first call until `close`. Calls block, and may come from any thread; asynchronous programs put
    them into a thread. Each raises errors of `mcp_memory.errors`.
    """

    def __init__(self, settings: Settings, *, wait_s: float, progress: Callable[[str], None] | None) -> None:
        """Use `open`, which reads the settings."""
        self._settings = settings
        self._wait_s = wait_s
        self._progress = progress
        self._own: InProcess | None = None
        self._closed = False
        self._opening = threading.Lock()

    @classmethod
    def open(
        cls,
        vault: str | os.PathLike[str] | None = None,
        *,
        config: str | os.PathLike[str] | None = None,
        wait_s: float = 10.0,
        progress: Callable[[str], None] | None = None,
        **settings: object,
    ) -> Self:
        """The vault in this folder, made where there is none; without one, the configured vault.

        Settings are read as the command line reads them: file (`config`, else the usual one), then environment, then
        the keywords, say `embedder__provider="none"` for `embedder.provider`. A running daemon has its own.
        `wait_s`: how long to wait for another process that uses the vault and is no daemon. `progress` gets a line a
        step while a model is compiled, which takes some 20 s once on a machine.

        Raises ConfigInvalid, Busy (who has the vault), StorageFailed, IndexUnavailable.
        """
        flags = {name.replace("__", "."): value for name, value in settings.items()}
        folder = None if vault is None else os.fspath(vault)
        read = load(os.environ, file=Path(config) if config else None, flags={"vault.path": folder, **flags})
        memory = cls(read, wait_s=wait_s, progress=progress)
        try:
            memory._ask("status")
        except BaseException:
            memory.close()
            raise
        return memory

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Idempotent. What was answered is on disk; a vector that is missing is made by who opens the vault next."""
        with self._opening:
            self._closed = True
            if self._own:
                self._own.close()

    @staticmethod
    def extract(messages: Iterable[Message], *, session: str | None = None) -> list[ConversationChunk]:
        """Chat messages as chunks of at most 2,048 tokens, verbatim and in order, cut between turns; nothing is stored.

        A message is a mapping, `{"role": "user", "content": "…"}`; with `name` or `speaker`, `timestamp` and `session`
        where they are known. See `mcp_memory.text.conversation.messages` for what is read and what is left out. A chunk
        is of one session; `session` is that of the messages that name none. Times without an offset are local.

        Raises InvalidInput that names the message.
        """
        return chunk_conversation(read_turns(messages, LocalTimezone(), session))

    def add(
        self,
        leaf: ConversationChunk,
        *,
        tags: Sequence[str] = (),
        project: str | None = None,
        source: str | None = NAME,
    ) -> Receipt:
        """Store such a chunk as a note of kind `note`, dated when its first turn was said, and never twice: not
        even after it was forgotten. Raises Refused for one that seems to hold a secret."""
        return self.append(
            leaf.content, title=leaf.title, tags=tags, project=project, session=leaf.session, source=source,
            created=leaf.began, once=True,
        )  # fmt: skip

    def append(
        self,
        content: str,
        *,
        kind: str = "note",
        title: str | None = None,
        tags: Sequence[str] = (),
        project: str | None = None,
        supersedes: str | None = None,
        session: str | None = None,
        expires: datetime | str | None = None,
        path: str | None = None,
        source: str | None = NAME,
        created: datetime | str | None = None,
        once: bool = False,
    ) -> Receipt:
        """Store one note or log entry, durably; the same content again returns the first, with `once` also where that
        was forgotten or replaced, unless `created` is after that. `created`: when it was said, if not now. Raises
        InvalidInput, Refused, AlreadyExists (for `path`), NotFound (for `supersedes`), StorageFailed."""
        return receipt(
            self._ask(
                "append", content=content, kind=kind, title=title, tags=list(tags), project=project,
                supersedes=supersedes, session=session, expires=_said(expires), path=path, source=source,
                created=_said(created), once=once or None,
            )
        )  # fmt: skip

    def search(
        self,
        query: str,
        *,
        limit: int = 6,
        kinds: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        project: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        path: str | None = None,
        include_archived: bool = False,
        mode: Literal["hybrid", "semantic", "keyword"] = "hybrid",
        explain: bool = False,
    ) -> SearchResult:
        """The best passages for a question, and how sure it is that the answer is among them. Raises InvalidInput."""
        return search_result(
            self._ask(
                "search", query=query, limit=limit, kinds=_listed(kinds), tags=_listed(tags), project=project,
                since=_said(since), until=_said(until), path=path, include_archived=include_archived or None,
                mode=mode, explain=explain or None,
            )
        )  # fmt: skip

    def recall(
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
        """Text within a token budget: what fits a question, notes in full, or (without arguments) what a session should
        start with. Raises InvalidInput, NotFound."""
        return self._ask(
            "recall", query=query, ids=_listed(ids), path=path, lines=lines, phase=phase, kinds=_listed(kinds),
            project=project, budget_tokens=budget_tokens,
        )["text"]  # fmt: skip

    def forget(self, target: str, *, reason: str | None = None) -> VaultStatus:
        """Take a note or log entry (id or path) out of every answer; its file stays. Raises NotFound, Refused."""
        return vault_status(self._ask("forget", target=target, reason=reason, source=NAME))

    def restore(self, target: str) -> VaultStatus:
        """Bring a forgotten note or log entry back, byte for byte. Raises NotFound, Refused."""
        return vault_status(self._ask("restore", target=target))

    def compact(self) -> CompactionResult:
        """File the fresh notes under topics, now. Raises Busy, Refused for a vault that cannot be written,
        StorageFailed."""
        return filed(self._ask("compact"))

    def tree(self) -> list[TopicSummary]:
        """The topics at the top, each with those below."""
        return list(map(topic, self._ask("tree")["topics"]))

    def settled(self, *, deadline_s: float = SETTLE_S) -> bool:
        """Wait until every note has its vectors; False where no model is there to make them, so that words alone find
        notes. Raises DeadlineExceeded."""
        until = time.monotonic() + deadline_s
        while True:
            facts = self._ask("status")
            if facts["ready"] and facts["model_state"] not in _AT_WORK:
                return False
            if facts["ready"] and not facts["pending"]:
                return True
            if time.monotonic() >= until:
                raise DeadlineExceeded(
                    f"{facts['pending']} texts have no vector after {deadline_s:g} s", hint="mcp-memory doctor"
                )
            time.sleep(POLL_S)

    def _ask(self, operation: str, **arguments: object) -> Mapping[str, Any]:
        self._must_be_open()
        client = PERSON if operation in _PERSONS_OWN else NAME
        deadline_s = compaction_s(self._settings) if operation == "compact" else CALL_S
        own = partial(self._perform, deadline_s=deadline_s)
        return ask(self._settings, operation, arguments, own, client=client, deadline_s=deadline_s, wait_s=self._wait_s)

    def _perform(self, operation: str, arguments: Mapping[str, Any], *, deadline_s: float) -> Any:
        """With an engine of this process, which is opened at the first call that finds no daemon."""
        with self._opening:
            self._must_be_open()
            if self._own is None:
                self._own = InProcess(self._settings, self._progress)
            own = self._own
        return own.perform(operation, arguments, deadline_s)

    def _must_be_open(self) -> None:
        if self._closed:
            raise InvalidInput("this memory is closed", hint="open it again: Memory.open(vault)")


def _said(moment: datetime | str | None) -> str | None:
    return moment.isoformat() if isinstance(moment, datetime) else moment


def _listed(names: Sequence[str] | None) -> list[str] | None:
    return None if names is None else list(names)
