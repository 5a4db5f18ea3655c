"""Doing: one step of a job on the vault's files, an atomic call that may be made twice; and taking it back."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from mcp_memory.compaction.steps import MoveStep, RelinkStep, RemoveStep, Step, WriteStep
from mcp_memory.errors import AlreadyExists, NotFound, PreconditionFailed
from mcp_memory.models import Etag, NotePath
from mcp_memory.text.markdown.link_targets import Redirect
from mcp_memory.topics.page import PAGE, PROPOSAL, unmarked, with_related
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.vault import Vault


@dataclass(frozen=True, slots=True)
class TouchedNotes:
    """What a step did: files that are there now, and places that are free."""

    files: tuple[NoteFile, ...] = ()
    gone: tuple[NotePath, ...] = ()


def do(step: Step, vault: Vault) -> TouchedNotes:
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


def undo(step: Step, vault: Vault) -> TouchedNotes:
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
    return TouchedNotes(gone=(path,))


def _expected(path: NotePath, file: NoteFile | None, text: str, vault: Vault) -> Etag:
    """The etag of a page that says this, whether or not it is marked as stale by now, and whatever topics a later run
    has listed on it."""
    if file is None:
        raise NotFound(f"{path} is gone")
    if unmarked(file.text) == unmarked(text):
        return file.record.etag
    if not vault.filing.is_as_we_wrote(file):
        raise PreconditionFailed(f"{path} was changed by somebody else", hint="it stays as it is")
    if with_related(unmarked(file.text), "") != with_related(unmarked(text), ""):
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
