"""Answers questions from claims: everything about a subject, hits in a search, and requests of people, whose decisions
are written into the notes.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from itertools import product

from mcp_memory.core.core import Core
from mcp_memory.core.requests import CLAIMS, ReviewRequest, SearchRequest
from mcp_memory.core.serializers import Payload, ReviewItem
from mcp_memory.core.verbs.forgetting import forget_note
from mcp_memory.core.verbs.searching import search_notes
from mcp_memory.core.verbs.storing import index_written
from mcp_memory.curation.claims.claim import Claim, Evidence, Subject
from mcp_memory.curation.claims.claim_base import ClaimBase
from mcp_memory.errors import InvalidInput, NotFound
from mcp_memory.models import Etag, Filters, Hit, NotePath, NoteRecord, NoteState, SearchResult
from mcp_memory.recall.excerpts import Excerpt
from mcp_memory.recall.topic_page import TopicPage
from mcp_memory.runtime.threads import in_thread
from mcp_memory.text.escape_invisible import visible_in
from mcp_memory.text.language.terms import content_words
from mcp_memory.topics.page import page_id
from mcp_memory.vault.journals.change_journal import current_caller

MOST_SEARCHED = 100
"""The number of passages searched; most passages yield a claim."""
LEAST_TOLD = 2
"""The fewest claims that replace notes in an answer."""
CLAIMS_CALL = f'Claims by words: memory_search path="{CLAIMS}"'
CLAIM, CONFIRM, DROP = "claim", "confirm", "drop"


@dataclass(frozen=True)
class ClaimsRequest:
    """The claims about one `subject` or all, seen from this project ('*' = all), with the disputed ones."""

    subject: str | None = None
    _: KW_ONLY
    project: str | None = None


@dataclass(frozen=True)
class ClaimAnswers:
    """Answers from the index, with plain JSON values. A page is never changed: it follows the notes."""

    core: Core
    base: ClaimBase
    prefix = f"{CLAIM}-"
    kinds = (CLAIM,)

    async def search(self, request: SearchRequest) -> SearchResult:
        """Search the notes, and answer with their claims: first those about the subject that the query names."""
        limit = max(request.limit, min(MOST_SEARCHED, 5 * request.limit))
        found = await search_notes(self.core, replace(request, limit=limit, path=None, include_archived=False))
        filters = self._filters(request.project)
        hits = await in_thread(self._hits, found, request.query, filters, what="reading claims")
        note = found.note if hits else "no claim has any of these words; search without path looks at all notes"
        return replace(found, hits=tuple(hits[: request.limit]), note=note)

    async def claims(self, request: ClaimsRequest) -> Payload:
        """Return the claims about one subject or all. Raises NotFound."""
        filters = self._filters(request.project)
        known = await in_thread(self.base.subjects, filters, what="reading claims")
        if name := request.subject:
            found = _called(known, content_words(name))
            if found is None:
                raise NotFound(
                    f"nothing is known about {name[:60]!r}",
                    hint="mcp-memory wiki get lists the subjects, and mcp-memory wiki search WORDS searches the claims",
                )
            known = [found]
        return visible_in({"subjects": [one.facts for one in known]})

    async def waiting(self, limit: int | None = None) -> Sequence[ReviewItem]:  # noqa: ARG002 -- there are none
        """Return nothing: you may decide about any claim, but needn't."""
        return ()

    async def decide(self, request: ReviewRequest) -> Sequence[Payload]:
        """Confirm or drop claims, of which an item names a note or entry. Raises InvalidInput, NotFound, and the errors
        of changing a note."""
        if request.choice not in (CONFIRM, DROP):
            raise InvalidInput(f"unknown choice {request.choice[:40]!r}", hint=f"{CONFIRM} or {DROP}")
        return [await self._decide(item.removeprefix(self.prefix), request.choice) for item in request.items]

    async def _decide(self, target: str, choice: str) -> Payload:
        claims = await in_thread(self.base.claims, Filters(), what="looking for the claim")
        found = [one for one in claims if one.holds and any(each.note.id.endswith(target) for each in one.evidence)]
        if not found:
            raise NotFound(
                f"no claim rests on {target[:60]}", hint="mcp-memory wiki search WORDS lists claims with ids"
            )
        claim = found[-1]
        by, latest = current_caller(), claim.latest.note
        notes = {one.note.id: one.note for one in claim.evidence}
        for note in notes.values() if choice == DROP else [latest]:
            entry = note.id.partition("#")[2] or None
            if choice == DROP:
                await forget_note(self.core, note.path, entry, reason="its claim was dropped", by=by)
                continue
            file = await in_thread(self.core.vault.confirm, note.path, entry, by, what="changing the note")
            await index_written(self.core, file)
        return visible_in({"id": latest.id, "path": latest.path, "title": claim.text, "notes": list(notes)})

    def _filters(self, project: str | None) -> Filters:
        return replace(self.core.filters(project=project), private=self.core.config.recall.private_marks)

    # -- in threads --------------------------------------------------------------------------------------------

    def page_about(self, subject: frozenset[str], filters: Filters, *, projects: bool) -> TopicPage | None:
        """Return a page of the current claims about the subject named by these folded words, to replace the notes that
        make them."""
        known = [one for one in self.base.subjects(filters) if (one.folder == "projects") is projects]
        found = _called(known, subject)
        if found is None or len(found.holding) < LEAST_TOLD:
            return None
        told = found.holding
        path = NotePath(f"{CLAIMS}/{found.folder}/{found.name}")
        note = NoteRecord(path, page_id(path), Etag(""), "", found.name, "page", NoteState.SUMMARY)
        text = "\n".join(f"- {_line(one)}" for one in told)
        latest = frozenset(one.latest.note.path for one in told)
        repeats = frozenset(one.note.path for claim in told for one in claim.evidence if not one.note.is_log) - latest
        excerpt = Excerpt(note, 1, len(told), text, about=f"{len(told)} claims about {found.name}, the latest first")
        return TopicPage(latest, repeats, excerpt, CLAIMS_CALL, frozenset() if projects else subject)

    def _hits(self, found: SearchResult, query: str, filters: Filters) -> list[Hit]:
        """Return the claims about the subject that the query names, and then those in the search's hits."""
        asked = content_words(query)
        named = [one for one in self.base.subjects(filters) if content_words(one.name) <= asked]
        about = max(named, key=lambda one: len(content_words(one.name)), default=None)
        first = sorted(about.holding, key=lambda one: -len(asked & content_words(one.text))) if about else []
        hits = {one.text: _hit(one, one.latest, 1.0) for one in first}
        for hit, claim in product(found.hits, [one for one in self.base.claims(filters) if one.holds]):
            for one in claim.evidence:
                if one.note.id == hit.id and hit.start_line <= one.line <= hit.end_line:
                    hits.setdefault(claim.text, _hit(claim, one, hit.score))
        return list(hits.values())


def _called(subjects: Sequence[Subject], words: frozenset[str]) -> Subject | None:
    """Return the subject of this name, or with a part of it; if there are several, the subject with the most claims."""
    whole = [one for one in subjects if content_words(one.name) == words]
    longer = [one for one in subjects if one.folder != "projects" and words and words < content_words(one.name)]
    return max(whole or longer, key=lambda one: len(one.claims), default=None)


def _hit(claim: Claim, one: Evidence, score: float) -> Hit:
    note = one.note
    return Hit(
        note.id, note.path, one.line, one.line, "", note.title, note.kind, note.day, score, _line(claim), note.project
    )


def _line(claim: Claim) -> str:
    """Format a claim as a line. The evidence is given by path and line, so that it can be recalled."""
    before = [f"earlier: {one.text} ({one.note.path}:{one.line})" for one in claim.earlier[:1]]
    place = f"{claim.latest.note.path}:{claim.latest.line}"
    return f"{claim.text} ({'; '.join([claim.certainty, place, *before])})"
