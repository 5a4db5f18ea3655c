"""Opens a vault with its engine: runs its tasks, and closes everything in the right order."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import cast

import anyio
from anyio.abc import TaskGroup

from mcp_memory.capture.session_reader import CapturedMessages
from mcp_memory.core.core import Clock, Core, EngineConfig
from mcp_memory.core.opening import open_core
from mcp_memory.embedders.base import Progress
from mcp_memory.engine.engine import Engine
from mcp_memory.engine.features import build_features
from mcp_memory.errors import McpMemoryError
from mcp_memory.runtime.threads import in_thread
from mcp_memory.vault.marker import write_readme


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
    core.background.capture.service.listeners.append(partial(_take_back, core))
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
