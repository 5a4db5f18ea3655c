"""Answers questions from claims: everything about a subject, hits in a search, and requests of people, whose decisions
are written into the notes.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY, asdict, dataclass, replace

from mcp_memory.core.core import Core
from mcp_memory.core.requests import CLAIMS, NoArguments, ReviewRequest, SearchRequest
from mcp_memory.core.serializers import Choice, Payload, ReviewItem, reference
from mcp_memory.core.verbs.forgetting import forget_note
from mcp_memory.core.verbs.searching import search_notes
from mcp_memory.core.verbs.storing import index_written
from mcp_memory.curation.claims.claim import Claim, Subject
from mcp_memory.curation.claims.claim_base import ClaimBase, find_unsure, list_problems
from mcp_memory.errors import InvalidInput, NotFound
from mcp_memory.models import Etag, Filters, Hit, NotePath, NoteRecord, NoteState, SearchResult
from mcp_memory.recall.excerpts import Excerpt, shortened
from mcp_memory.recall.topic_page import TopicPage
from mcp_memory.runtime.threads import in_thread
from mcp_memory.text.escape_invisible import visible_in
from mcp_memory.text.language.terms import content_words
from mcp_memory.topics.page import page_id
from mcp_memory.vault.journals.change_journal import current_caller

MENTIONS = "mentions"
"""Replaces the folder of a subject that is only a group of words from claims."""

MOST_SEARCHED = 100
"""The number of passages searched; most passages yield a claim."""
CLAIMS_S = 60.0
CLAIM, CONFIRM, DROP = "claim", "confirm", "drop"
_CHOICES = (
    Choice("c", CONFIRM, "[c]onfirm", "confirm: you checked it, and it is right; its note records that"),
    Choice("d", DROP, "[d]rop", "drop: it is wrong; its notes are forgotten, and restore brings them back"),
)


@dataclass(frozen=True)
class ClaimAnswers:
    """Answers from the index, for worker threads."""

    base: ClaimBase

    def find(self, name: str, filters: Filters) -> Subject:
        """Return the subject of this name, or else all claims with these words in them or in the titles of their notes.
        Raises NotFound, which lists the known subjects."""
        known, words = self.base.subjects(filters), content_words(name)
        if found := _called(known, words):
            return found
        about = [(one, content_words(f"{one.latest.note.title} {one.text}")) for one in self.base.claims(filters)]
        if claims := [one for one, told in about if words and words <= told]:
            return Subject(MENTIONS, " ".join(name.split()), claims)
        few = ", ".join(one.name for one in known[:12]) or "none yet: a name counts from three notes on"
        raise NotFound(f"nothing is known about {name[:60]!r}", hint=f"subjects: {few}")

    def page_about(self, subject: frozenset[str], filters: Filters, *, projects: bool) -> TopicPage | None:
        """Return a page of the current claims about the subject named by these folded words, to replace the notes that
        make them."""
        known = [one for one in self.base.subjects(filters) if (one.folder == "projects") is projects]
        found = _called(known, subject)
        told = [one for one in found.claims if one.holds] if found else []
        if not found or not told:
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

    def hits(self, found: SearchResult, limit: int, filters: Filters) -> SearchResult:
        """Return the search's hits as claims without duplicates, each with its confidence and first day."""
        by_id: dict[str, list[Claim]] = {}
        for claim in self.base.claims(filters):
            for one in claim.evidence if claim.holds else ():
                by_id.setdefault(one.note.id, []).append(claim)
        hits, seen = list[Hit](), set[str]()
        for hit in found.hits:
            for claim in by_id.get(hit.id, ()):
                lines = [one.line for one in claim.evidence if one.note.id == hit.id]
                if claim.text not in seen and any(hit.start_line <= line <= hit.end_line for line in lines):
                    seen.add(claim.text)
                    at = lines[0]
                    hits.append(replace(hit, snippet=_line(claim), start_line=at, end_line=at, is_whole=False))
        note = found.note if hits else "no claim has any of these words; search without path looks at all notes"
        return replace(found, hits=tuple(hits[:limit]), note=note)

    def claim_of(self, note_id: str) -> Claim:
        """Return the current claim that is supported by a note or log entry, given the end of its id. A note with
        several statements gives the claim of the first. Raises NotFound."""
        for claim in reversed(self.base.claims(Filters())):
            if claim.holds and any(one.note.id.endswith(note_id) for one in claim.evidence):
                return claim
        raise NotFound(f"no claim rests on {note_id[:60]}", hint="mcp-memory wiki search WORDS lists claims with ids")


def _called(subjects: Sequence[Subject], words: frozenset[str]) -> Subject | None:
    """Return the subject of this name; if there are several, the subject with the most claims."""
    found = (one for one in subjects if words and content_words(one.name) == words)
    return max(found, key=lambda one: len(one.claims), default=None)


def _line(claim: Claim) -> str:
    """Format a claim as a line. The evidence is given by path and line, so that it can be recalled."""
    others = [shortened(one.note.id) or one.note.id for one in claim.evidence[1:4]]
    against = [f"against an older one: {one.text} ({one.note.path}:{one.line})" for one in claim.contradicts[:1]]
    also = [f"also {', '.join(others)}"] if others else []
    place = f"{claim.latest.note.path}:{claim.latest.line}"
    return f"{claim.text} ({'; '.join([claim.in_short, place, *also, *against])})"


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
        """Return the uncertain claims."""
        unsure = await in_thread(find_unsure, self._answers.base, deadline_s=CLAIMS_S, what="reading claims")
        return list(map(_item, unsure))

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


def _item(claim: Claim) -> ReviewItem:
    note = claim.latest.note
    return ReviewItem(
        id=f"{CLAIM}-{note.id}",
        what=CLAIM,
        text=claim.text,
        why=f"{claim.confidence:.0%} sure: {claim.why}, {claim.since}",
        choices=_CHOICES,
        path=note.path,
        title=claim.text,
        kind=CLAIM,
        project=claim.project,
        notes=[reference("rests on", one.note.id, one.note) for one in claim.evidence],
    )
