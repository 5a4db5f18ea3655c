"""Doing: one step of a job on the vault's files, an atomic call that may be made twice; and taking it back."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from mcp_memory.engine.compaction.steps import Move, Step, Write
from mcp_memory.engine.filing import Filing
from mcp_memory.engine.notes import NoteFile
from mcp_memory.engine.vault import Vault
from mcp_memory.errors import AlreadyExists, NotFound, PreconditionFailed
from mcp_memory.models import NotePath
from mcp_memory.topics.page import etag_of


@dataclass(frozen=True, slots=True)
class Touched:
    """What a step did: files that are there now, and places that are free."""

    files: tuple[NoteFile, ...] = ()
    gone: tuple[NotePath, ...] = ()


def do(step: Step, vault: Vault) -> Touched:
    """Raises what the vault raises; a step that was done before does nothing."""
    filing = vault.filing
    match step:
        case Move():
            return Touched((filing.move(step.source, step.target, step.id),), (step.source,))
        case Write():
            return Touched((_write(step.path, step.text, step.before, filing, vault),))


def undo(step: Step, vault: Vault) -> Touched:
    """Raises what the vault raises: NotFound or PreconditionFailed where somebody changed it since."""
    filing = vault.filing
    match step:
        case Move():
            return Touched((_moved_back(step, vault),), (step.target,))
        case Write():
            if step.before is not None:
                return Touched((_write(step.path, step.before, step.text, filing, vault),))
            with suppress(NotFound):  # it was taken back before
                filing.remove_page(step.path, etag_of(step.text.encode()))
            return Touched(gone=(step.path,))


def _moved_back(step: Move, vault: Vault) -> NoteFile:
    """Under another name where a later note has its old one."""
    stem, dot, ending = step.source.rpartition(".")
    for tail in ("", "-2", "-3", f"-{step.id.lower()}"):
        with suppress(AlreadyExists):
            return vault.filing.move(step.target, NotePath(f"{stem}{tail}{dot}{ending}"), step.id)
    raise AlreadyExists(f"{step.source} is taken", hint=f"{step.target} stays where it is")


def _write(path: NotePath, text: str, before: str | None, filing: Filing, vault: Vault) -> NoteFile:
    data = text.encode()
    try:
        return filing.write_page(path, data, None if before is None else etag_of(before.encode()))
    except (AlreadyExists, PreconditionFailed, NotFound):
        file = vault.read(path)
        if file.record.etag != etag_of(data):
            raise
        return file
