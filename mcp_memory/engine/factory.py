"""Opens a vault: puts marker, index, vault and engine together, and closes them in the right order."""

import os
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime, tzinfo
from pathlib import Path
from typing import cast

import anyio

from mcp_memory.embedders.base import Progress
from mcp_memory.engine.config import EngineConfig
from mcp_memory.engine.engine import Engine
from mcp_memory.engine.parts import EngineParts
from mcp_memory.errors import ConfigInvalid, StorageFailed
from mcp_memory.git.committer import Committer, UncommittedFiles
from mcp_memory.git.write_observer import ObservedBackend
from mcp_memory.index import INDEXES
from mcp_memory.models import NotePath
from mcp_memory.runtime.local_timezone import LocalTimezone
from mcp_memory.runtime.os_errors import failed
from mcp_memory.runtime.private_files import make_private, sync_folder
from mcp_memory.runtime.threads import in_thread
from mcp_memory.storage import STORAGE, open_storage
from mcp_memory.storage.base import Prepared, StorageBackend
from mcp_memory.vault.config import TRANSCRIPTS, NoteKinds
from mcp_memory.vault.journals.note_journals import NoteJournals
from mcp_memory.vault.marker import MARKER, Marker, MarkerGuard, open_marker
from mcp_memory.vault.note_file import Layout
from mcp_memory.vault.note_store import NoteStore
from mcp_memory.vault.vault import Vault

Clock = Callable[[], datetime]


@asynccontextmanager
async def open_engine(
    config: EngineConfig, *, watch: bool = True, progress: Progress | None = None, clock: Clock | None = None
) -> AsyncGenerator[Engine]:
    """An engine with its tasks running; `watch=False` sweeps once. The caller holds the instance lock.

    Raises ConfigInvalid, StorageFailed or IndexUnavailable if the vault can't be opened."""
    now = clock or (lambda: datetime.now().astimezone())
    zone = clock().tzinfo if clock else LocalTimezone()
    assert zone is not None
    STORAGE.get(config.vault.storage)  # an unknown name leaves no trace in vault or state folder
    open_index = INDEXES.get(config.index.engine)
    with _naming_the_file(config.state):
        await in_thread(lambda: make_state_private(config.state), deadline_s=30, what="opening the state folder")
        marker = await in_thread(
            lambda: open_marker(config.root, config.state / "vault.toml"), deadline_s=30, what="opening the vault"
        )
        pending = UncommittedFiles(config.state / "uncommitted") if config.git.auto_commit else None
        vault = await in_thread(
            lambda: open_vault(config, marker, now, zone, pending), deadline_s=60, what="opening the vault"
        )
        index = await in_thread(lambda: open_index(config.state / "index"), deadline_s=60, what="opening the index")
    parts = EngineParts(config, marker, vault, index, now)
    try:
        async with anyio.create_task_group() as tasks:
            await parts.start(tasks, watch=watch, progress=progress)
            if pending is not None:
                if marker.made:
                    pending.add(NotePath(MARKER))
                committer = Committer(config.root, pending, vault, parts.health, config.git)
                tasks.start_soon(committer.run)
            try:
                yield Engine(parts)
            finally:
                tasks.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        raise _only_one(group) from group
    finally:
        with anyio.CancelScope(shield=True):
            await parts.close()


def _only_one(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The group's error if it holds just one: callers need not know of the task group."""
    if len(group.exceptions) != 1:
        return group
    only = group.exceptions[0]
    return _only_one(cast("BaseExceptionGroup[BaseException]", only)) if isinstance(only, BaseExceptionGroup) else only


@contextmanager
def _naming_the_file(state: Path) -> Generator[None]:
    """Turns an OSError that no room below has translated into StorageFailed, with the file's name and a remedy."""
    try:
        yield
    except OSError as error:
        raise failed(error, str(error.filename or state)) from error


def open_vault(
    config: EngineConfig, marker: Marker, clock: Clock, zone: tzinfo, pending: UncommittedFiles | None
) -> Vault:
    root = config.root.resolve()
    backend = open_storage(root, name=config.vault.storage, locks=config.state / "locks")
    guard = MarkerGuard(config.root, marker, config.state / "vault.toml", on_marked=lambda: backend.expect(MARKER))
    folders = {name: _source(name, folder) for name, folder in config.vault.sources.items()} | _transcripts(config)
    # Daily logs stay at the root if they are there already; otherwise they go into the managed folder.
    logs = f"{marker.home}/memory" if marker.home and not (config.root / "memory").is_dir() else "memory"
    prepared = _prepare(backend) if marker.present and marker.writable else Prepared()
    journals = NoteJournals(config.state, config.vault)
    notes = NoteStore(
        backend if pending is None else ObservedBackend(backend, pending.add),
        {name: open_storage(folder, read_only=True) for name, folder in folders.items()},
        layout=Layout(marker.home, zone, logs),
        kinds=NoteKinds(config.kinds),
        max_note_bytes=config.vault.max_note_bytes,
        clock=clock,
        tombstones=journals.tombstones,
        guard=guard,
        changes=journals.changes,
    )
    roots = {"": root, **{f"@{name}/": folder for name, folder in folders.items()}}
    vault = Vault(notes, journals, config.vault, roots, prepared)
    if marker.made:
        vault.write_readme()
    return vault


def _source(name: str, folder: str) -> Path:
    """Return the folder of a source. Raises ConfigInvalid for a path that can never be a folder; the listing reports a
    missing folder."""
    try:
        # Unlike a Path's, this expanduser never raises: an unknown user is a folder that is missing.
        return Path(os.path.expanduser(folder)).resolve()  # noqa: PTH111 -- raises nothing
    except (OSError, RuntimeError, ValueError) as error:
        raise ConfigInvalid(f"the source {name} has no usable path: {error}", hint="see [vault.sources]") from error


def _transcripts(config: EngineConfig) -> dict[str, Path]:
    """Return the folder of captured sessions, even if capturing has been turned off."""
    folder = config.state / TRANSCRIPTS
    if config.capture.enabled:
        folder.mkdir(mode=0o700, exist_ok=True)
    return {TRANSCRIPTS: folder.resolve()} if folder.is_dir() else {}


def make_state_private(state: Path) -> None:
    with _naming_the_file(state):
        for folder in (state, state / "undo", state / "recovery"):
            make_private(folder)
        sync_folder(state)


def _prepare(backend: StorageBackend) -> Prepared:
    try:
        return backend.prepare()
    except StorageFailed as error:
        return Prepared([error.message])
