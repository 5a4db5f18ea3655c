"""Answers questions from claims: everything about a subject, hits in a search, and requests of people, whose decisions
are written into the notes.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import KW_ONLY, asdict, dataclass, replace

from mcp_memory.core.core import Core
from mcp_memory.core.requests import CLAIMS, NoArguments, ReviewRequest, SearchRequest
from mcp_memory.core.serializers import Payload, ReviewItem
from mcp_memory.core.verbs.forgetting import forget_note
from mcp_memory.core.verbs.searching import search_notes
from mcp_memory.core.verbs.storing import index_written
from mcp_memory.curation.claims.claim import Claim, Evidence, Subject
from mcp_memory.curation.claims.claim_base import ClaimBase, list_problems
from mcp_memory.errors import InvalidInput, NotFound
from mcp_memory.models import Etag, Filters, Hit, NotePath, NoteRecord, NoteState, SearchResult
from mcp_memory.recall.excerpts import Excerpt, shortened
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
CLAIMS_S = 60.0
CLAIM, CONFIRM, DROP = "claim", "confirm", "drop"


@dataclass(frozen=True)
class ClaimAnswers:
    """Answers from the index, for worker threads."""

    base: ClaimBase

    def find(self, name: str, filters: Filters) -> Subject:
        """Return the subject of this name. Raises NotFound, which lists the known subjects."""
        known = self.base.subjects(filters)
        if found := _called(known, content_words(name)):
            return found
        few = ", ".join(one.name for one in known[:12]) or "none yet"
        hint = f"subjects: {few}. To search the claims: mcp-memory wiki search WORDS"
        raise NotFound(f"nothing is known about {name[:60]!r}", hint=hint)

    def page_about(self, subject: frozenset[str], filters: Filters, *, projects: bool) -> TopicPage | None:
        """Return a page of the current claims about the subject named by these folded words, to replace the notes that
        make them."""
        known = [one for one in self.base.subjects(filters) if (one.folder == "projects") is projects]
        found = _called(known, subject)
        told = [one for one in found.claims if one.holds] if found else []
        if not found or len(told) < LEAST_TOLD:
            return None
        path = NotePath(f"{CLAIMS}/{found.folder}/{found.name}")
        note = NoteRecord(path, page_id(path), Etag(""), "", found.name, "page", NoteState.SUMMARY)
        text = "\n".join(f"- {_line(one)}" for one in told)
        about = f"{len(told)} claims about {found.name}, the latest first"
        latest = frozenset(one.latest.note.path for one in told)
        repeats = frozenset(one.note.path for claim in told for one in claim.evidence if not one.note.is_log) - latest
        call = f'Claims by words: memory_search path="{CLAIMS}"'
        name = frozenset[str]() if projects else subject
        return TopicPage(latest, repeats, Excerpt(note, 1, len(told), text, about=about), call, name)

    def hits(self, found: SearchResult, query: str, limit: int, filters: Filters) -> SearchResult:
        """Return claims without duplicates: first the claims about the subject that the query names, then those in the
        search's hits."""
        asked, by_id = content_words(query), defaultdict[str, list[Claim]](list)
        for claim in self.base.claims(filters):
            for note_id in {one.note.id for one in claim.evidence if claim.holds}:
                by_id[note_id].append(claim)
        named = [one for one in self.base.subjects(filters) if content_words(one.name) <= asked]
        about = max(named, key=lambda one: len(content_words(one.name)), default=None)
        rest = asked - content_words(about.name) if about else asked
        first = [one for one in about.claims if one.holds and rest <= content_words(one.text)] if about else []
        hits = {one.text: _hit(one, one.latest, 1.0) for one in first}
        for hit in found.hits:
            for claim in by_id[hit.id]:
                lines = [one for one in claim.evidence if one.note.id == hit.id]
                if any(hit.start_line <= one.line <= hit.end_line for one in lines):
                    hits.setdefault(claim.text, _hit(claim, lines[0], hit.score))
        note = found.note if hits else "no claim has any of these words; search without path looks at all notes"
        return replace(found, hits=tuple(hits.values())[:limit], note=note)

    def claim_of(self, note_id: str) -> Claim:
        """Return the current claim that is supported by a note or log entry, given the end of its id. A note with
        several statements gives the claim of the first. Raises NotFound."""
        for claim in reversed(self.base.claims(Filters())):
            if claim.holds and any(one.note.id.endswith(note_id) for one in claim.evidence):
                return claim
        raise NotFound(f"no claim rests on {note_id[:60]}", hint="mcp-memory wiki search WORDS lists claims with ids")


def _called(subjects: Sequence[Subject], words: frozenset[str]) -> Subject | None:
    """Return the subject of this name, or the person with a part of it; if there are several, the subject with the most
    claims."""
    whole = [one for one in subjects if content_words(one.name) == words]
    people = [one for one in subjects if one.folder == "people" and words and words < content_words(one.name)]
    return max(whole or people, key=lambda one: len(one.claims), default=None)


def _hit(claim: Claim, one: Evidence, score: float) -> Hit:
    note = one.note
    return Hit(
        note.id, note.path, one.line, one.line, "", note.title, note.kind, note.day, score, _line(claim), note.project
    )


def _line(claim: Claim) -> str:
    """Format a claim as a line. The evidence is given by path and line, so that it can be recalled."""
    others = [shortened(one.note.id) or one.note.id for one in claim.evidence[1:4]]
    also = [f"also {', '.join(others)}"] if others else []
    before = [f"before: {one.text} ({one.note.path}:{one.line})" for one in claim.replaces[:1]]
    place = f"{claim.latest.note.path}:{claim.latest.line}"
    return f"{claim.text} ({'; '.join([claim.certainty, place, *also, *before])})"


@dataclass(frozen=True)
class ClaimsRequest:
    """The claims about one `subject` or all, seen from this project ('*' = all), with the disputed ones."""

    subject: str | None = None
    _: KW_ONLY
    project: str | None = None


class ClaimOperations:
    """Answers with plain JSON values. A page is never changed: it follows the notes."""

    prefix = f"{CLAIM}-"
    kinds = (CLAIM,)

    def __init__(self, core: Core, answers: ClaimAnswers) -> None:
        self._core = core
        self._answers = answers

    async def search(self, request: SearchRequest) -> SearchResult:
        """Search the notes, and answer with their claims."""
        limit = max(request.limit, min(MOST_SEARCHED, 5 * request.limit))
        found = await search_notes(self._core, replace(request, limit=limit, path=None, include_archived=False))
        return await in_thread(
            self._answers.hits,
            found,
            request.query,
            request.limit,
            self._filters(request.project),
            deadline_s=CLAIMS_S,
            what="reading claims",
        )

    async def claims(self, request: ClaimsRequest) -> Payload:
        """Return the claims about one subject or all."""
        name, filters = request.subject, self._filters(request.project)

        def read() -> Payload:
            known = [self._answers.find(name, filters)] if name else self._answers.base.subjects(filters)
            return {"subjects": [one.facts for one in known]}

        return visible_in(await in_thread(read, deadline_s=CLAIMS_S, what="reading claims"))

    async def problems(self, _: NoArguments) -> Payload:
        """List the problems of claims and pages."""
        found = await in_thread(
            list_problems,
            self._core.vault,
            self._core.index,
            self._answers.base,
            deadline_s=CLAIMS_S,
            what="looking at claims",
        )
        return visible_in({"problems": list(map(asdict, found))})

    async def waiting(self) -> Sequence[ReviewItem]:
        """Return nothing: you may decide about any claim, but needn't."""
        return ()

    async def decide(self, request: ReviewRequest) -> Sequence[Payload]:
        """Confirm or drop claims, of which an item names a note or entry. Raises InvalidInput, NotFound, and the errors
        of changing a note."""
        if request.choice not in (CONFIRM, DROP):
            raise InvalidInput(f"unknown choice {request.choice[:40]!r}", hint=f"{CONFIRM} or {DROP}")
        return [await self._decide(item.removeprefix(self.prefix), request.choice) for item in request.items]

    async def _decide(self, target: str, choice: str) -> Payload:
        claim = await in_thread(self._answers.claim_of, target, deadline_s=CLAIMS_S, what="looking for the claim")
        by = current_caller()
        evidence = {one.note.id: one.note for one in claim.evidence}.values()
        for note in evidence if choice == DROP else list(evidence)[:1]:
            entry = note.id.partition("#")[2] or None
            if choice == DROP:
                await forget_note(self._core, note.path, entry, reason="its claim was dropped", by=by)
                continue
            file = await in_thread(
                self._core.vault.confirm, note.path, entry, by, deadline_s=CLAIMS_S, what="changing the note"
            )
            await index_written(self._core, file)
        ids, latest = [note.id for note in evidence], claim.latest.note
        return visible_in({"id": latest.id, "path": latest.path, "title": claim.text, "notes": ids})

    def _filters(self, project: str | None) -> Filters:
        return replace(self._core.filters(project=project), private=self._core.config.recall.private_marks)
