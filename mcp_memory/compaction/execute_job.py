"""Applies a job's steps to the vault's files, finishes jobs that a crash left, and takes steps back.

Each step is one atomic call that can be repeated without harm. A job runs between two lines of the journal.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import PurePosixPath

from mcp_memory.compaction.journal import (
    JobEntry,
    JobOutcome,
    MoveStep,
    RelinkStep,
    RemoveStep,
    RunJournal,
    Step,
    WriteStep,
)
from mcp_memory.errors import AlreadyExists, DeadlineExceeded, NotFound, PathRefused, PreconditionFailed, Refused
from mcp_memory.index.base import Index
from mcp_memory.models import Etag, NotePath
from mcp_memory.text.markdown import frontmatter
from mcp_memory.text.markdown.link_targets import Redirect
from mcp_memory.topics.page import PAGE, PROPOSAL, with_related_section, without_stale_flag
from mcp_memory.topics.plan import is_topic_name
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.vault import Vault
from mcp_memory.vault.withheld_pages import quotes_forgotten


@dataclass(frozen=True, slots=True)
class TouchedNotes:
    """What a step did: files that are there now, and places that are free."""

    files: tuple[NoteFile, ...] = ()
    removed: tuple[NotePath, ...] = ()


def apply_step(step: Step, vault: Vault) -> TouchedNotes:
    """Raises what the vault raises; a step that was done before does nothing."""
    match step:
        case MoveStep():
            return TouchedNotes((vault.filing.move(step.source, step.target, step.id),), (step.source,))
        case RelinkStep():
            return TouchedNotes((vault.filing.relink(step.path, step.before, step.after, step.redirects),))
        case WriteStep():
            return TouchedNotes((_write(step.path, step.text, step.before, vault),))
        case RemoveStep():
            return _removed(step.path, step.text, vault)


def revert_step(step: Step, vault: Vault) -> TouchedNotes:
    """Raises what the vault raises: NotFound or PreconditionFailed where somebody changed it since."""
    match step:
        case MoveStep():
            return TouchedNotes((_moved_back(step, vault),), (step.target,))
        case RelinkStep():
            back = _reversed(step.redirects)
            return TouchedNotes((vault.filing.relink(step.path, step.after, step.before, back),))
        case WriteStep():
            if step.before is None:
                return _removed(step.path, step.text, vault)
            return TouchedNotes((_write(step.path, step.before, step.text, vault),))
        case RemoveStep():
            return TouchedNotes((_write(step.path, step.text, None, vault),))


def _moved_back(step: MoveStep, vault: Vault) -> NoteFile:
    """Under another name where a later note has its old one."""
    stem, dot, ending = step.source.rpartition(".")
    is_page = step.source.endswith((f"/{PAGE}", f"/{PROPOSAL}"))  # under any other name it would be a note
    for tail in ("",) if is_page else ("", "-2", "-3", f"-{step.id.lower()}"):
        with suppress(AlreadyExists):
            return vault.filing.move(step.target, NotePath(f"{stem}{tail}{dot}{ending}"), step.id)
    raise AlreadyExists(f"{step.source} is taken", hint=f"{step.target} stays where it is")


def _write(path: NotePath, text: str, before: str | None, vault: Vault) -> NoteFile:
    file = _read(path, vault)
    if file and file.text == text:
        return file
    if before is None:
        return vault.filing.write_page(path, text.encode(), None)
    return vault.filing.write_page(path, text.encode(), _expected(path, file, before, vault))


def _removed(path: NotePath, text: str, vault: Vault) -> TouchedNotes:
    if file := _read(path, vault):
        vault.filing.remove_page(path, _expected(path, file, text, vault))
    return TouchedNotes(removed=(path,))


def _expected(path: NotePath, file: NoteFile | None, text: str, vault: Vault) -> Etag:
    """The etag of a page that says this, whether or not it is marked as stale by now, and whatever topics a later run
    has listed on it."""
    if file is None:
        raise NotFound(f"{path} is gone")
    if without_stale_flag(file.text) == without_stale_flag(text):
        return file.record.etag
    if not vault.filing.is_as_we_wrote(file):
        raise PreconditionFailed(f"{path} was changed by somebody else", hint="it stays as it is")
    if with_related_section(without_stale_flag(file.text), "") != with_related_section(without_stale_flag(text), ""):
        raise PreconditionFailed(f"{path} was written anew by a later run", hint="it stays as it is")
    return file.record.etag


def _read(path: NotePath, vault: Vault) -> NoteFile | None:
    try:
        return vault.read(path)
    except NotFound:
        return None


def _reversed(redirects: Sequence[Redirect]) -> list[Redirect]:
    back: list[Redirect] = []
    shift = 0
    for at, old, new in redirects:
        back.append((at + shift, new, old))
        shift += len(new) - len(old)
    return back


def pages_restored(steps: Iterable[Step]) -> dict[str, str]:
    """The pages that come back when these are taken back, by id."""
    texts = [step.text for step in steps if isinstance(step, RemoveStep)]
    return {str(frontmatter.parse(text).meta.get("id")): text for text in texts}


def undo_step(step: Step, vault: Vault, index: Index, pages: Mapping[str, str]) -> TouchedNotes:
    """`pages`: those that come back with it, by id. Reads files and the index.

    Raises Refused for a page that told of a forgotten note, and as `undo`.
    """
    if isinstance(step, WriteStep | RemoveStep):
        text = step.before if isinstance(step, WriteStep) else step.text
        if text and quotes_forgotten(text, vault, index, pages):
            raise Refused(f"{step.path} told of a note that is forgotten by now: it stays as it is")
    return revert_step(step, vault)


OnStep = Callable[[TouchedNotes], None]
"""Is told what each step did, so that answers follow at once."""

SKIPPED_ERRORS = (NotFound, PreconditionFailed, Refused, AlreadyExists, PathRefused)
"""Somebody was faster: what they did stands, and the rest of the job goes on."""

log = logging.getLogger(__name__)


def run_job(vault: Vault, journal: RunJournal, run: str, entry: JobEntry, tell: OnStep) -> None:
    """Synchronous. Raises NotFound or another of `PASSED_OVER` where a source of the first step is not what it was: the
    job is given up then. Raises StorageFailed where the disk says no: how far the job came is not known, and `finish`
    does the rest."""
    journal.begin_job(run, entry)
    try:
        _take(vault, entry, 0, tell)
    except SKIPPED_ERRORS:
        journal.end_job(run, entry.key, JobOutcome.ABORTED)
        raise
    _go_on(vault, journal, run, entry, 1, tell)


def finish_jobs(vault: Vault, journal: RunJournal, tell: OnStep) -> int:
    """Do the rest of every job that was begun; how many there were. Raises StorageFailed."""
    unfinished = journal.unfinished_jobs()
    for run, entry in unfinished:
        _go_on(vault, journal, run, entry, 0, tell)
    return len(unfinished)


@contextmanager
def stoppable(tell: OnStep) -> Generator[OnStep]:
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


def remove_empty_folders(vault: Vault, folders: set[str]) -> None:
    """Those that hold nothing, the deepest first."""
    for folder in sorted(folders, key=lambda each: (-each.count("/"), each)):
        vault.filing.remove_folder(NotePath(folder))


def remove_vacant_topics(vault: Vault, root: str) -> None:
    """Folders of topics that we made, below `root`, and that hold nothing any more, whoever took it out."""
    listing = vault.list()
    full = {f"{above}" for path in listing.files for above in PurePosixPath(path).parents}
    vacant = {folder for folder in listing.folders if folder.startswith(f"{root}/") and folder not in full}
    remove_empty_folders(vault, {folder for folder in vacant if vault.filing.made_by_us(NotePath(f"{folder}/{PAGE}"))})


def folders_vacated(entry: JobEntry) -> set[str]:
    """The topics' folders that its notes came from, or lost a page."""
    left = {step.source.rpartition("/")[0] for step in entry.steps if isinstance(step, MoveStep)}
    left |= {step.path.rpartition("/")[0] for step in entry.steps if isinstance(step, RemoveStep)}
    return {folder for folder in left if is_topic_name(folder.rpartition("/")[2])}


def folders_entered(entry: JobEntry) -> set[str]:
    """The folders that its notes and pages went to, and those above them, below that of all topics."""
    reached: set[str] = set()
    for step in entry.steps:
        folder = (step.target if isinstance(step, MoveStep) else step.path).rpartition("/")[0]
        while is_topic_name(folder.rpartition("/")[2]):
            reached.add(folder)
            folder = folder.rpartition("/")[0]
    return reached


def _go_on(vault: Vault, journal: RunJournal, run: str, entry: JobEntry, first: int, tell: OnStep) -> None:
    for at in range(first, len(entry.steps)):
        try:
            _take(vault, entry, at, tell)
        except SKIPPED_ERRORS as error:
            log.warning("compaction: a step was passed over: %s", error.code)
    remove_empty_folders(vault, folders_vacated(entry))
    journal.end_job(run, entry.key, JobOutcome.DONE)


def _take(vault: Vault, entry: JobEntry, at: int, tell: OnStep) -> None:
    tell(apply_step(entry.steps[at], vault))
