"""Undoing: a step of a run taken back, unless that brought back what somebody has forgotten since."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mcp_memory.compaction.apply_step import TouchedNotes, undo
from mcp_memory.compaction.steps import RemoveStep, Step, WriteStep
from mcp_memory.errors import Refused
from mcp_memory.index.base import Index
from mcp_memory.text.markdown import frontmatter
from mcp_memory.vault.vault import Vault
from mcp_memory.vault.withheld_pages import quotes_forgotten


def returning(steps: Iterable[Step]) -> dict[str, str]:
    """The pages that come back when these are taken back, by id."""
    texts = [step.text for step in steps if isinstance(step, RemoveStep)]
    return {str(frontmatter.parse(text).meta.get("id")): text for text in texts}


def take_back(step: Step, vault: Vault, index: Index, pages: Mapping[str, str]) -> TouchedNotes:
    """`pages`: those that come back with it, by id. Reads files and the index.

    Raises Refused for a page that told of a forgotten note, and as `undo`.
    """
    if isinstance(step, WriteStep | RemoveStep):
        text = step.before if isinstance(step, WriteStep) else step.text
        if text and quotes_forgotten(text, vault, index, pages):
            raise Refused(f"{step.path} told of a note that is forgotten by now: it stays as it is")
    return undo(step, vault)
