"""Applies the steps of a job to the vault's files, finishes interrupted jobs, and undoes steps.

Each step is an atomic call that can be repeated safely. A job runs between two lines of the journal.
"""

import logging
import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import PurePosixPath
from typing import NamedTuple

from mcp_memory.errors import AlreadyExists, DeadlineExceeded, NotFound, PathRefused, PreconditionFailed, Refused
from mcp_memory.models import Etag, NoteId, NotePath
from mcp_memory.runs.journal import (
    JobEntry,
    MoveStep,
    RelinkStep,
    RemoveStep,
    RunJournal,
    Step,
    WriteStep,
)
from mcp_memory.runtime.health import give_way
from mcp_memory.text.markdown import frontmatter
from mcp_memory.text.markdown.link_targets import Redirect
from mcp_memory.topics.page import PAGE, is_topic_name, with_related_section, without_stale_flag
from mcp_memory.topics.page_parts import Parts
from mcp_memory.vault.journals.change_journal import acting
from mcp_memory.vault.journals.tombstones import Caller
from mcp_memory.vault.new_note import name_tails
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.vault import Vault


class TouchedNotes(NamedTuple):
    """The result of a step: the files written, and the paths freed."""

    files: tuple[NoteFile, ...] = ()
    removed: tuple[NotePath, ...] = ()


def apply_step(step: Step, vault: Vault) -> TouchedNotes:
    """Apply a step; does nothing the second time. Raises the errors of the vault."""
    match step:
        case MoveStep():
            return TouchedNotes((vault.filing.move(step.source, step.target, step.id),), (step.source,))
        case RelinkStep():
            return TouchedNotes((_relink(step, vault),))
        case WriteStep():
            return TouchedNotes((_write(step.path, step.text, step.before, vault, step.parts),))
        case RemoveStep():
            return _remove(step.path, step.text, vault)


def undo_step(step: Step, vault: Vault, quotes_forgotten: Callable[[str], bool]) -> TouchedNotes:
    """Undo a step. Raises the errors of the vault: NotFound or PreconditionFailed for a file that was changed since,
    and Refused for a page that quotes a forgotten note."""
    match step:
        case MoveStep():
            return TouchedNotes((_move_back(step, vault),), (step.target,))
        case RelinkStep():
            return TouchedNotes((_relink(_inverse(step), vault),))
        case WriteStep(before=None):
            return _remove(step.path, step.text, vault)
        case WriteStep():
            text, now, parts = step.before or "", step.text, _parts_before(step, vault)
        case RemoveStep():
            text, now, parts = step.text, None, None
    if quotes_forgotten(text):
        raise Refused(f"{step.path} quoted a note that is forgotten now: it stays as it is")
    return TouchedNotes((_write(step.path, text, now, vault, parts),))


def _inverse(step: RelinkStep) -> RelinkStep:
    back: list[Redirect] = []
    shift = 0
    for at, old, new in step.redirects:
        back.append((at + shift, new, old))
        shift += len(new) - len(old)
    return replace(step, before=step.after, after=step.before, redirects=back)


def pages_restored(steps: Iterable[Step]) -> dict[str, str]:
    """Return the pages that an undo of these steps restores, by id."""
    texts = [step.text for step in steps if isinstance(step, RemoveStep)]
    return {str(frontmatter.parse(text).meta.get("id")): text for text in texts}


def _relink(step: RelinkStep, vault: Vault) -> NoteFile:
    return vault.filing.relink(
        step.path, step.before, step.after, step.redirects, is_whole=step.is_whole, is_personal=step.is_personal
    )


def _move_back(step: MoveStep, vault: Vault) -> NoteFile:
    """Move a file back, under another name if a later note has the old name."""
    stem, dot, ending = step.source.rpartition(".")
    is_page = step.source.endswith(f"/{PAGE}")  # with any other name it would be a note
    for tail in ("",) if is_page else name_tails(step.id):
        with suppress(AlreadyExists):
            return vault.filing.move(step.target, NotePath(f"{stem}{tail}{dot}{ending}"), step.id)
    raise AlreadyExists(f"{step.source} is taken", hint=f"{step.target} stays where it is")


def _write(path: NotePath, text: str, before: str | None, vault: Vault, parts: Parts | None = None) -> NoteFile:
    file = vault.find(path)
    if file and file.text == text:
        return file
    expected = None if before is None else _expected_etag(path, file, before, vault)
    return vault.filing.write_page(path, text.encode(), expected, parts)


def _parts_before(step: WriteStep, vault: Vault) -> Parts | None:
    """Return the parts of the page that we had made before the step."""
    made = vault.ledger.parts(NoteId(str(frontmatter.parse(step.text).meta.get("id"))))
    while made and step.parts in made:
        del made[-1 - made[::-1].index(step.parts) :]
    return made[-1] if made else None


def _remove(path: NotePath, text: str, vault: Vault) -> TouchedNotes:
    if file := vault.find(path):
        vault.filing.remove_page(path, _expected_etag(path, file, text, vault))
    return TouchedNotes(removed=(path,))


def _expected_etag(path: NotePath, file: NoteFile | None, text: str, vault: Vault) -> Etag:
    """Return the etag of a page with this text, ignoring its stale mark and the related topics added by a later run."""
    if file is None:
        raise NotFound(f"{path} is gone")
    now, then = without_stale_flag(file.text), without_stale_flag(text)
    if now == then:
        return file.record.etag
    if not vault.filing.is_as_we_wrote(file):
        raise PreconditionFailed(f"{path} was changed by another program or by you", hint="it stays as it is")
    if with_related_section(now, "") != with_related_section(then, ""):
        raise PreconditionFailed(f"{path} was rewritten by a later run", hint="it stays as it is")
    return file.record.etag


OnStep = Callable[[TouchedNotes], None]
"""Called after each step, so that answers are up to date at once."""

SKIPPED_ERRORS = (NotFound, PreconditionFailed, Refused, AlreadyExists, PathRefused)
"""Errors for a file that changed in the meantime: the change stays, and the rest of the job continues."""

log = logging.getLogger(__name__)


def run_job(vault: Vault, journal: RunJournal, run: str, entry: JobEntry, on_step: OnStep) -> None:
    """Run a job synchronously. Raises one of `SKIPPED_ERRORS` if the source of the first step has changed: the job is
    given up. Raises StorageFailed if the disk fails; `finish_jobs` then does the rest."""
    journal.begin_job(run, entry)
    try:
        on_step(apply_step(entry.steps[0], vault))
    except SKIPPED_ERRORS:
        journal.end_job(run, entry.key, "aborted")
        raise
    _finish_job(vault, journal, run, entry, entry.steps[1:], on_step)


def finish_jobs(vault: Vault, journal: RunJournal, on_step: OnStep) -> int:
    """Finish every job that was begun; return their number. Raises StorageFailed."""
    unfinished = journal.unfinished_jobs()
    for run, entry in unfinished:
        with acting(Caller(run=run)):
            _finish_job(vault, journal, run, entry, entry.steps, on_step)
    return len(unfinished)


def _finish_job(
    vault: Vault, journal: RunJournal, run: str, entry: JobEntry, steps: Sequence[Step], on_step: OnStep
) -> None:
    for step in steps:
        give_way()
        try:
            on_step(apply_step(step, vault))
        except SKIPPED_ERRORS as error:
            log.warning("compaction: a step was skipped: %s", error.code)
    vacated = {step.source for step in entry.steps if isinstance(step, MoveStep)}
    vacated |= {step.path for step in entry.steps if isinstance(step, RemoveStep)}
    folders = {path.rpartition("/")[0] for path in vacated}
    remove_empty_folders(vault, {folder for folder in folders if is_topic_name(folder.rpartition("/")[2])})
    journal.end_job(run, entry.key, "done")


@contextmanager
def stoppable(on_step: OnStep) -> Generator[OnStep]:
    """Yield a callback that calls `on_step` within the block; after the block, it ends the job after the current step.
    A thread can't be stopped otherwise, and must not run beside the next job or while the engine closes."""
    ended = threading.Event()

    def call_or_stop(touched: TouchedNotes) -> None:
        if ended.is_set():
            raise DeadlineExceeded("the caller no longer waits for this job", hint="the next run finishes it")
        on_step(touched)

    try:
        yield call_or_stop
    finally:
        ended.set()


def remove_empty_folders(vault: Vault, folders: set[str]) -> None:
    """Remove the empty folders among these, deepest first."""
    for folder in sorted(folders, key=lambda path: (-path.count("/"), path)):
        vault.filing.remove_folder(NotePath(folder))


def remove_vacant_topics(vault: Vault, root: str) -> None:
    """Remove empty folders of our topics below `root`, whoever emptied them."""
    listing = vault.list()
    full = {f"{above}" for path in listing.files for above in PurePosixPath(path).parents}
    vacant = {folder for folder in listing.folders if folder.startswith(f"{root}/") and folder not in full}
    remove_empty_folders(vault, {folder for folder in vacant if vault.filing.made_by_us(NotePath(f"{folder}/{PAGE}"))})


def folders_entered(entry: JobEntry) -> set[str]:
    """Return the topic folders that received a job's notes and pages, and the folders above them."""
    reached: set[str] = set()
    for step in entry.steps:
        folder = (step.target if isinstance(step, MoveStep) else step.path).rpartition("/")[0]
        while is_topic_name(folder.rpartition("/")[2]):
            reached.add(folder)
            folder = folder.rpartition("/")[0]
    return reached
