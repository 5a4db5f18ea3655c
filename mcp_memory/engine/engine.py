"""The only way into the rooms below, for the server, the command line and the library. Opening it runs its tasks, and
closes everything in the right order."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, cast

import anyio
from anyio.abc import TaskGroup

from mcp_memory.capture.session_reader import CapturedMessages
from mcp_memory.client.credentials import PERSON
from mcp_memory.core.arguments import request_from, with_iso_dates
from mcp_memory.core.core import Core, EngineConfig, Operation
from mcp_memory.core.opening import open_core
from mcp_memory.core.project_finder import ProjectFinder
from mcp_memory.core.requests import (
    AdviseRequest,
    AppendRequest,
    BriefRequest,
    ForgetRequest,
    RecallRequest,
    RestoreRequest,
    SearchRequest,
)
from mcp_memory.core.serializers import Payload
from mcp_memory.core.verbs.vault_status import list_active
from mcp_memory.embedders.base import Progress
from mcp_memory.engine.features import build_features
from mcp_memory.engine.handlers import (
    note_handlers,
    project_handlers,
    review_handlers,
    session_handlers,
    vault_handlers,
)
from mcp_memory.errors import IndexReplaced, InvalidInput, McpMemoryError
from mcp_memory.models import Clock, NoteRecord, Problem
from mcp_memory.recall.config import OWN_PHASES
from mcp_memory.runtime.threads import in_thread
from mcp_memory.vault.config import SHIPPED_KINDS
from mcp_memory.vault.draft import MAX_BYTES
from mcp_memory.vault.journals.change_journal import acting
from mcp_memory.vault.journals.tombstones import Caller
from mcp_memory.vault.marker import write_readme


def caller_named(client: str) -> Caller:
    """Return the caller that has this client's token; the command line's has a person's rights."""
    return Caller(client, is_person=client == PERSON)


_AT_THE_COMMAND_LINE = caller_named(PERSON)


class Engine:
    """Made by `open_engine`. Every method checks its arguments and raises errors of `mcp_memory.errors`."""

    def __init__(self, core: Core) -> None:
        """Answer with a core whose features are built."""
        self._core = core
        self._operations: dict[str, Operation] = {}
        for one in (note_handlers, session_handlers, project_handlers, vault_handlers, review_handlers):
            for name, operation in one.OPERATIONS.items():
                self._operations[name] = replace(operation, answer=partial(operation.answer, core))
        for feature in core.features:
            self._operations |= feature.operations
        self.sites = {path: build for feature in core.features for path, build in feature.sites.items()}
        """Path of the HTTP server → what builds the app for browsers there."""
        self.projects = ProjectFinder(core.projects)
        config = core.config
        shipped = {kind.about for kind in SHIPPED_KINDS.values()}  # their names say enough to an agent
        kinds = [f"{kind.name} ({kind.about})" if kind.about not in shipped else kind.name for kind in core.vault.kinds]
        self.facts: Mapping[str, Any] = {
            "kinds": ", ".join(kinds),
            "phases": ", ".join(name for name in config.recall.phases if name not in OWN_PHASES),
            "max_append_bytes": MAX_BYTES,
            "budget_tokens": config.recall.budget_tokens,
            "start_budget_tokens": config.recall.start_budget_tokens,
        }
        """What stands in braces in the annotations of requests."""

    @property
    def requests(self) -> Mapping[str, type[Any]]:
        """Operation → request."""
        return {name: one.request for name, one in self._operations.items()}

    def offer(self, operations: Mapping[str, Operation]) -> None:
        """Answer further operations, which the process around the engine adds."""
        self._operations |= operations

    async def perform(
        self, operation: str, arguments: Mapping[str, Any], caller: Caller = _AT_THE_COMMAND_LINE
    ) -> Payload:
        """Answer an operation by its name, with JSON values in and out; an argument that is None is treated as not
        given. Background work pauses for an operation in the foreground. Such an operation is repeated if it found the
        index damaged.

        Raises InvalidInput for an unknown name, or for an argument that is unknown, missing or of the wrong type."""
        if operation not in self._operations:
            raise InvalidInput(f"unknown operation {operation[:100]!r}", hint=f"known: {', '.join(self._operations)}")
        chosen = self._operations[operation]
        request = await with_iso_dates(self._core, request_from(chosen.request, arguments, self.facts))
        at_work = self._core.background.idle_detector.serving() if chosen.is_foreground else nullcontext()
        with acting(_named_in(request, caller)), at_work:
            try:
                answer = await chosen.answer(request)
            except IndexReplaced:
                if not chosen.is_foreground:
                    raise
                answer = await chosen.answer(request)
            return chosen.to_payload(answer) if chosen.to_payload else answer

    async def settled(self) -> None:
        """Return once the first sweep is done and its backlog embedded, or the model is known to be unavailable."""
        await self._core.search.model.settled.wait()

    async def notes(self) -> list[NoteRecord]:
        """All active notes, by path."""
        return await in_thread(list_active, self._core, deadline_s=30, what="listing notes")

    def is_private(self, note: NoteRecord) -> bool:
        """Return whether lists that nobody asked for must not name the note."""
        return self._core.config.recall.private_marks.cover(note)

    def wake_model(self) -> None:
        """Load the model again if it was unloaded while idle."""
        self._core.search.model.preload()

    def report_state_fault(self, reason: str | None) -> None:
        """Note for `status` why the state folder can't be used; None when it can be used again."""
        if reason:
            self._core.background.health.faults["state"] = Problem("state folder", reason)
        else:
            self._core.background.health.faults.pop("state", None)
            self._core.indexing.watcher.hurry()  # derive again what was lost with it


def _named_in(request: object, caller: Caller) -> Caller:
    """Return the caller with the session and client that a request names."""
    match request:
        case AppendRequest(source=source, session=session):
            return replace(caller, client=source or caller.client, session=session or caller.session)
        case SearchRequest() | RecallRequest() | ForgetRequest() | RestoreRequest():
            return replace(caller, session=request.session or caller.session)
        case BriefRequest() | AdviseRequest():
            client, _, session = request.session.partition("/")
            return replace(caller, client=client, session=session.partition("/")[0] or None)
        case _:
            return caller


@asynccontextmanager
async def open_engine(
    config: EngineConfig, *, watch: bool = True, progress: Progress | None = None, clock: Clock | None = None
) -> AsyncGenerator[Engine]:
    """An engine with its tasks running; `watch=False` sweeps once. The caller holds the instance lock.

    Raises ConfigInvalid, StorageFailed or IndexUnavailable if the vault can't be opened."""
    core = await open_core(config, clock)
    try:
        await in_thread(_complete, core, deadline_s=60, what="opening the vault")
        async with anyio.create_task_group() as tasks:
            await _start(core, tasks, watch=watch, progress=progress)
            try:
                yield Engine(core)
            finally:
                tasks.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        raise _only_one(group) from group
    finally:
        with anyio.CancelScope(shield=True):
            await _close(core)


def _complete(core: Core) -> None:
    build_features(core)
    core.background.capture.service.listeners += [partial(_take_back, core), core.recall.briefer.shown_notes.hear]
    if core.vault.marker.made:
        write_readme(core.config.root, core.vault.layout.home)


async def _take_back(core: Core, captured: CapturedMessages) -> None:
    """Remove all bytes of retracted text from the index, and the unanswered questions, which may repeat it."""
    if captured.taken_back.is_missing:
        core.recall.briefer.off_record.note_missing(f"{captured.client}/{captured.session}")
    if captured.taken_back:
        await core.indexing.reconciler.reconcile()
        await in_thread(core.index.purge, what="cleaning the index")
    if captured.taken_back or captured.taken_back.is_missing:
        await in_thread(core.recall.uses.drop_questions, what="dropping what was asked")


async def _start(core: Core, tasks: TaskGroup, *, watch: bool, progress: Progress | None) -> None:
    """Sweep, load the model, embed: each in a task of this group."""
    sweeper, model = core.indexing.sweeper, core.search.model
    await in_thread(core.indexing.writer.open, deadline_s=60, what="opening the index")
    for feature in core.features:
        if feature.prepare:
            await in_thread(feature.prepare, deadline_s=60, what="reading what a feature keeps")
    tasks.start_soon(core.indexing.watcher.run if watch else sweeper.sweep)
    tasks.start_soon(model.run, sweeper.swept, progress)
    tasks.start_soon(model.unload_when_idle)
    core.background.scheduler.is_on = watch and core.config.jobs.enabled
    tasks.start_soon(_run_jobs, core)
    tasks.start_soon(core.recall.uses.run)
    for feature in core.features:
        for task in feature.tasks:
            tasks.start_soon(task)
    if watch:
        tasks.start_soon(core.background.capture.run)
        tasks.start_soon(core.search.searcher.warm, sweeper.swept)
        tasks.start_soon(_check_index, core)


async def _check_index(core: Core) -> None:
    """Look once for damage that no search would meet: the notes that it hides are then read again."""
    await core.indexing.sweeper.swept.wait()
    try:
        await in_thread(core.index.check, what="checking the index")
    except McpMemoryError:  # it was replaced, or the sweep reports the fault
        core.indexing.watcher.hurry()


async def _run_jobs(core: Core) -> None:
    await core.indexing.sweeper.swept.wait()  # the first sweep was tried
    with core.background.health.watching("compaction"):
        await core.runs.finish_jobs()
    if core.background.scheduler.is_on:
        await core.search.model.settled.wait()
        await core.background.scheduler.run()


async def _close(core: Core) -> None:
    """Close all parts, even if an earlier part hangs or fails; the index last."""
    async with AsyncExitStack() as closing:
        closing.push_async_callback(_in_time, core.index.close, "closing the index")
        closing.push_async_callback(core.search.model.close)
        # while the model knows the latest questions
        closing.push_async_callback(_in_time, core.recall.uses.flush, "counting what was used")
        for feature in core.features:
            if feature.close:
                closing.callback(feature.close)
        closing.callback(core.background.summarizer.close)


async def _in_time(close: Callable[[], object], what: str) -> None:
    await in_thread(close, deadline_s=5, what=what)


def _only_one(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the group's error if it has just one, so that callers need not know of the task group."""
    if len(group.exceptions) != 1:
        return group
    only = group.exceptions[0]
    return _only_one(cast("BaseExceptionGroup[BaseException]", only)) if isinstance(only, BaseExceptionGroup) else only
