"""Lists problems of claims and their pages, each with the command that resolves it."""

from collections.abc import Mapping
from dataclasses import dataclass

from mcp_memory.curation.claims.claim import UNSURE, Claim
from mcp_memory.curation.claims.claim_base import ClaimBase
from mcp_memory.index.base import Index
from mcp_memory.models import Filters, NoteId, NotePath, NoteState, etag_of
from mcp_memory.recall.excerpts import shortened
from mcp_memory.topics.page import CONTENTS, ENTITIES
from mcp_memory.vault.vault import Vault
from mcp_memory.vault.withheld_pages import quotes_forgotten

MOST_PAGES, MOST_UNSURE = 5000, 20


@dataclass(frozen=True, slots=True)
class ClaimProblem:
    """A problem. `kind` is an open `conflict`; an `orphan`, which is a page that may contain forgotten text; a `stale`
    page, which you edited or which is due; or an `unsure` claim. `path` is the place to look at; `notes` are the quoted
    notes."""

    kind: str
    text: str
    path: NotePath
    why: str
    remedy: str
    notes: tuple[NoteId, ...] = ()


def find_unsure(base: ClaimBase) -> list[Claim]:
    """Return the uncertain claims, each text once."""
    unsure: dict[str, Claim] = {}
    for subject in base.subjects(Filters()):
        for one in subject.claims:
            if one.holds and one.confidence < UNSURE and len(unsure) < MOST_UNSURE:
                unsure.setdefault(one.text, one)
    return list(unsure.values())


def list_problems(
    vault: Vault, index: Index, base: ClaimBase, made: Mapping[NotePath, bytes] | None = None
) -> list[ClaimProblem]:
    """List the problems of all notes that may be shown. `made` are pages about to be written. Reads files and the
    index. Raises IndexUnavailable, StorageFailed."""
    found = list[ClaimProblem]()
    for one in base.claims(Filters()):
        if one.refuted_by and one.conflict:
            newer = one.refuted_by.note.id
            why = f"{one.conflict.why}; a newer note says: {one.refuted_by.text}"
            remedy = f"mcp-memory review --keep {shortened(newer) or newer}"
            found.append(
                ClaimProblem("conflict", one.text, one.latest.note.path, why, remedy, (one.latest.note.id, newer))
            )
    for one in find_unsure(base):
        note = one.latest.note
        remedy = f"mcp-memory wiki apply confirm {shortened(note.id) or note.id}"
        why = f"{one.confidence:.0%} sure: {one.why}, {one.since}"
        found.append(ClaimProblem("unsure", one.text, note.path, why, remedy, (note.id,)))
    in_home = vault.layout.in_home
    for page in index.notes(Filters(states=frozenset({NoteState.SUMMARY})), limit=MOST_PAGES):
        if page.path == in_home(CONTENTS) or page.path.startswith(f"{in_home(ENTITIES)}/"):
            is_ours, due = vault.filing.is_as_written(page), (made or {}).get(page.path)
            is_orphan = (not is_ours or made is None) and quotes_forgotten(vault.read(page.path).text, vault, index)
            if is_orphan:
                why = "rests on a note that is forgotten or gone"
                found.append(ClaimProblem("orphan", _name(page.path), page.path, why, _REMEDY[is_ours]))
            elif not is_ours and due is not None and etag_of(due) != page.etag:
                why = "you changed it, so it isn't kept up to date"
                found.append(ClaimProblem("stale", _name(page.path), page.path, why, _REMEDY[False]))
        elif page.meta.get("stale"):
            why = "its notes have changed since"
            found.append(ClaimProblem("stale", _name(page.path), page.path, why, "mcp-memory topics compact"))
    return sorted(found, key=lambda one: one.kind)


_REMEDY = {True: "mcp-memory topics organize", False: "delete it, then mcp-memory topics organize makes it anew"}


def _name(path: str) -> str:
    """The page's name without a title, because the title of a topic's page may quote a forgotten note."""
    return path
