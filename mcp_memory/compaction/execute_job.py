"""Carrying out: a job's steps, one by one, between two lines of the journal; and what a crash left, from there on."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import PurePosixPath

from mcp_memory.compaction.apply_step import TouchedNotes, do
from mcp_memory.compaction.journal import JobEntry, JobOutcome, RunJournal
from mcp_memory.compaction.steps import MoveStep, RemoveStep
from mcp_memory.errors import AlreadyExists, DeadlineExceeded, NotFound, PathRefused, PreconditionFailed, Refused
from mcp_memory.models import NotePath
from mcp_memory.topics.page import PAGE
from mcp_memory.topics.plan import is_topic_name
from mcp_memory.vault.vault import Vault

Tell = Callable[[TouchedNotes], None]
"""Is told what each step did, so that answers follow at once."""

PASSED_OVER = (NotFound, PreconditionFailed, Refused, AlreadyExists, PathRefused)
"""Somebody was faster: what they did stands, and the rest of the job goes on."""

log = logging.getLogger(__name__)


def carry_out(vault: Vault, journal: RunJournal, run: str, entry: JobEntry, tell: Tell) -> None:
    """Synchronous. Raises NotFound or another of `PASSED_OVER` where a source of the first step is not what it was: the
    job is given up then. Raises StorageFailed where the disk says no: how far the job came is not known, and `finish`
    does the rest."""
    journal.announce(run, entry)
    try:
        _take(vault, entry, 0, tell)
    except PASSED_OVER:
        journal.end(run, entry.key, JobOutcome.ABORTED)
        raise
    _go_on(vault, journal, run, entry, 1, tell)


def finish(vault: Vault, journal: RunJournal, tell: Tell) -> int:
    """Do the rest of every job that was begun; how many there were. Raises StorageFailed."""
    unfinished = journal.unfinished()
    for run, entry in unfinished:
        _go_on(vault, journal, run, entry, 0, tell)
    return len(unfinished)


@contextmanager
def stoppable(tell: Tell) -> Generator[Tell]:
    """A `tell` that ends its job, after the step that is under way, once nobody is there any more who waits for it: a
    thread cannot be stopped, and must not file on beside the next job or while the engine closes."""
    left = threading.Event()

    def tell_or_stop(touched: TouchedNotes) -> None:
        if left.is_set():
            raise DeadlineExceeded("nobody waits for this job any more", hint="the next run finishes it")
        tell(touched)

    try:
        yield tell_or_stop
    finally:
        left.set()


def remove_empty(vault: Vault, folders: set[str]) -> None:
    """Those that hold nothing, the deepest first."""
    for folder in sorted(folders, key=lambda each: (-each.count("/"), each)):
        vault.filing.remove_folder(NotePath(folder))


def remove_vacant(vault: Vault, root: str) -> None:
    """Folders of topics that we made, below `root`, and that hold nothing any more, whoever took it out."""
    listing = vault.list()
    full = {f"{above}" for path in listing.files for above in PurePosixPath(path).parents}
    vacant = {folder for folder in listing.folders if folder.startswith(f"{root}/") and folder not in full}
    remove_empty(vault, {folder for folder in vacant if vault.filing.made_by_us(NotePath(f"{folder}/{PAGE}"))})


def folders_left(entry: JobEntry) -> set[str]:
    """The topics' folders that its notes came from, or lost a page."""
    left = {step.source.rpartition("/")[0] for step in entry.steps if isinstance(step, MoveStep)}
    left |= {step.path.rpartition("/")[0] for step in entry.steps if isinstance(step, RemoveStep)}
    return {folder for folder in left if is_topic_name(folder.rpartition("/")[2])}


def folders_reached(entry: JobEntry) -> set[str]:
    """The folders that its notes and pages went to, and those above them, below that of all topics."""
    reached: set[str] = set()
    for step in entry.steps:
        folder = (step.target if isinstance(step, MoveStep) else step.path).rpartition("/")[0]
        while is_topic_name(folder.rpartition("/")[2]):
            reached.add(folder)
            folder = folder.rpartition("/")[0]
    return reached


def _go_on(vault: Vault, journal: RunJournal, run: str, entry: JobEntry, first: int, tell: Tell) -> None:
    for at in range(first, len(entry.steps)):
        try:
            _take(vault, entry, at, tell)
        except PASSED_OVER as error:
            log.warning("compaction: a step was passed over: %s", error.code)
    remove_empty(vault, folders_left(entry))
    journal.end(run, entry.key, JobOutcome.DONE)


def _take(vault: Vault, entry: JobEntry, at: int, tell: Tell) -> None:
    tell(do(entry.steps[at], vault))
