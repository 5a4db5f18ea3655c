"""`Memory` for Python programs: the four tools, and conversations turned into notes."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Self, cast

from mcp_memory.capture.readers.message import Role, TranscriptMessage
from mcp_memory.capture.readers.own_format import write_plain
from mcp_memory.client.credentials import PERSON
from mcp_memory.daemon.engine_client import EngineSession, compaction_s
from mcp_memory.errors import DeadlineExceeded
from mcp_memory.library import answers
from mcp_memory.library.answers import CompactionResult, ExtractedStatement, TopicSummary, VaultStatus
from mcp_memory.library.whole_notes import WholeNotes
from mcp_memory.library.wiki import Wiki
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
"""The library's client name at the daemon, and the default `source` of a note."""

_PERSONS_OWN = frozenset(
    {"append", "claims", "claim_problems", "compact", "export", "extract", "import", "review", "update"}
)
"""Requests that a daemon refuses to agents, in whole or in part; your program asks under your name."""

_AT_WORK = frozenset({"loading", "ready", "resting"})
"""States of a model that will still embed texts without a vector."""


class Memory(WholeNotes):
    """A vault, open until it is closed: `with Memory.open("~/memory") as memory: …`.

    Each call asks the vault's daemon if it is running. Otherwise the engine runs in this process, which takes the
    vault's lock from the first such call until `close`. Calls block, and may come from any thread; asynchronous
    programs call them in a thread. Each raises errors of `mcp_memory.errors`."""

    def __init__(self, settings: Settings, *, wait_s: float, progress: Callable[[str], None] | None) -> None:
        """Initialize the memory. Use `open`, which reads the settings."""
        self._settings = settings
        self._session = EngineSession(settings, wait_s=wait_s, progress=progress)

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
        """Open the vault in this folder, which is made if it doesn't exist; without a folder, the configured vault.

        Settings come from the file (`config`, else the usual file), then the environment, then the keywords, such as
        `embedder__provider="none"` for `embedder.provider`. A running daemon has its own. `wait_s`: the time to wait
        for another process that uses the vault and isn't a daemon. `progress` gets a line for each step while the
        model is compiled, which takes some seconds once on a machine.

        Raises ConfigInvalid, Busy (which names the other process), StorageFailed, IndexUnavailable."""
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

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the memory. Idempotent. Answered calls are on disk; missing vectors are made when the vault is opened
        next."""
        self._session.close()

    @staticmethod
    def extract(messages: Iterable[Message], *, session: str | None = None) -> list[ConversationChunk]:
        """Split chat messages into chunks of at most 2,048 tokens, verbatim and in order, cut between turns; nothing is
        stored.

        A message is a mapping, `{"role": "user", "content": "…"}`, with `name` or `speaker`, `timestamp` and `session`
        if they are known. See `mcp_memory.text.conversation.messages` for the parts that are read. A chunk belongs to
        one session; messages that name no session belong to `session`. Times without an offset are local.

        Raises InvalidInput that names the message."""
        return chunk_conversation(read_turns(messages, LocalTimezone(), session))

    def extract_statements(
        self, messages: Iterable[Message], *, session: str | None = None, project: str | None = None
    ) -> list[ExtractedStatement]:
        """Return what a person states, decides or agrees to in chat messages, as `extract` takes them, and the lessons
        of failed calls; nothing is stored. Raises InvalidInput that names the message."""
        plain = list(_transcript(messages, session))
        found = self._ask(
            "extract", file=NAME, session=session or NAME, project=project, messages=write_plain(plain), dry_run=True
        )["found"]
        return [answers.statement(facts, session) for facts in found]

    def add(
        self,
        item: ConversationChunk | ExtractedStatement,
        *,
        tags: Sequence[str] = (),
        project: str | None = None,
        source: str | None = NAME,
    ) -> Receipt:
        """Store such a chunk, as a note of kind `note` dated by its first turn, or a statement, as a note of its kind.
        It is never stored twice, even if its note was forgotten. Raises Refused if it seems to contain a secret."""
        kind, created = (item.kind, item.said_at) if isinstance(item, ExtractedStatement) else ("note", item.began)
        return self.append(
            item.content, kind=kind, title=item.title, tags=tags, project=project, session=item.session, source=source,
            created=created, once=True,
        )  # fmt: skip

    def append(
        self,
        content: str,
        *,
        kind: str = "note",
        title: str | None = None,
        tags: Sequence[str] = (),
        when: Sequence[str] = (),
        project: str | None = None,
        supersedes: str | None = None,
        session: str | None = None,
        expires: datetime | str | None = None,
        due: datetime | str | None = None,
        path: str | None = None,
        etag: str | None = None,
        section: str | None = None,
        source: str | None = NAME,
        created: datetime | str | None = None,
        once: bool = False,
    ) -> Receipt:
        """Store a note or log entry durably. The same content again returns the first note. With `once`, it does so
        even if that note has another kind, or was forgotten or replaced, unless `created` is later. `created`: the
        date, if not now. `due`: the date of a commitment. `when`: up to three phrases of what somebody is doing or
        asking when the note should come up. `section`: with `path="MEMORY.md"`, the heading below which an entry is
        added. `etag`: replace the text of the note at `path` if it still has this etag. Raises InvalidInput, Refused,
        AlreadyExists (for `path`), PreconditionFailed (for `etag`), NotFound (for `supersedes`), StorageFailed."""
        return answers.receipt(
            self._ask(
                "append", content=content, kind=kind, title=title, tags=tags, when=when, project=project,
                supersedes=supersedes, session=session, expires=expires, due=due, path=path, etag=etag, section=section,
                source=source, created=created, once=once or None,
            )
        )  # fmt: skip

    def search(
        self,
        query: str,
        *,
        limit: int = 6,
        top_k: int | None = None,
        kinds: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        project: str | None = None,
        agent: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        path: str | None = None,
        include_archived: bool = False,
        mode: Literal["hybrid", "semantic", "keyword"] = "hybrid",
        explain: bool = False,
        session: str | None = None,
    ) -> SearchResult:
        """Return the best passages for a question, at most `limit` or `top_k`, with the confidence that they answer it.
        `session`: only what this session may see, if `recall.sessions_apart` is on. `find` returns whole notes. Raises
        InvalidInput."""
        return answers.search_result(
            self._ask(
                "search", query=query, limit=top_k or limit, kinds=kinds, tags=tags, project=project, agent=agent,
                since=since, until=until, path=path, include_archived=include_archived or None, mode=mode,
                explain=explain or None, session=session,
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
        agent: str | None = None,
        until: datetime | str | None = None,
        budget_tokens: int | None = None,
        session: str | None = None,
    ) -> str:
        """Return text within a token budget: passages that answer a question (`until`: as of that date), or notes in
        full. Without arguments, return the text for a session's start. `session` as in `search`. Raises InvalidInput,
        NotFound."""
        return self._ask(
            "recall", query=query, ids=ids, path=path, lines=lines, phase=phase, kinds=kinds, project=project,
            agent=agent, until=until, budget_tokens=budget_tokens, session=session,
        )["text"]  # fmt: skip

    def update(self, target: str, text: str, *, expected: str | None = None) -> Receipt:
        """Replace the text of a note or entry (id or path), also of your own files. A text without a head keeps the
        head. The outcome is `UPDATED`, or `UNCHANGED` if the note has this text.

        Raises PreconditionFailed if `expected` is passed and isn't its etag (nothing is written then), InvalidInput,
        NotFound, Refused, StorageFailed."""
        return answers.receipt(self._ask("update", target=target, text=text, expected=expected))

    def archive(self, target: str) -> VaultStatus:
        """Mark a note as archived: only searches with `include_archived` find it. `restore` brings it back. Raises
        NotFound, Refused."""
        return answers.vault_status(self._ask("forget", target=target, archive=True))

    def forget(self, target: str, *, reason: str | None = None) -> VaultStatus:
        """Take a note or log entry (id or path) out of every answer; its file stays. Raises NotFound, Refused."""
        return answers.vault_status(self._ask("forget", target=target, reason=reason))

    def restore(self, target: str) -> VaultStatus:
        """Bring a forgotten note or entry, or a note marked as archived, back byte for byte, or move a note out of
        `_archive/`. Raises NotFound, Refused, Busy."""
        return answers.vault_status(self._ask("restore", target=target))

    def compact(self) -> CompactionResult:
        """File the fresh notes under topics, now. Raises Busy, Refused for a read-only vault, StorageFailed."""
        return answers.compaction_result(self._ask("compact"))

    def tree(self, *, depth: int | None = None) -> list[TopicSummary]:
        """Return the top topics, each with those below it, down to `depth` levels."""
        return list(map(answers.topic_summary, self._ask("tree", depth=depth)["topics"]))

    def tree_index(self) -> str:
        """Return the tree as text: a line for each topic and each note, with the ids that `get` accepts."""
        return "\n".join(line for topic in self.tree() for line in topic.lines())

    @property
    def _vault(self) -> Path:
        return self._settings.vault_path

    @property
    def wiki(self) -> Wiki:
        """The claims of notes about projects, people, services and tools."""
        return Wiki(self._ask)

    def settled(self, *, deadline_s: float = SETTLE_S) -> bool:
        """Wait until every note has its vectors. Return False if no model can make them, so that search matches only
        words. Raises DeadlineExceeded."""
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
        client = PERSON if operation in _PERSONS_OWN else NAME
        deadline_s = compaction_s(self._settings) if operation == "compact" else CALL_S
        values = {name: _json_value(value) for name, value in arguments.items()}
        return self._session.ask(operation, values, client=client, deadline_s=deadline_s)


def _transcript(messages: Iterable[Message], session: str | None) -> Iterator[TranscriptMessage]:
    for number, message in enumerate(messages):
        role = Role.ASSISTANT if message.get("role") in {"assistant", "model"} else Role.USER
        for turn in read_turns([message], LocalTimezone(), session):
            yield TranscriptMessage(role, turn, number)


def _json_value(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    return list(cast("Sequence[str]", value)) if isinstance(value, (list, tuple)) else value
