"""Answers questions from claims: everything about a subject, hits in a search, and a person's decisions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mcp_memory.core.requests import CLAIMS
from mcp_memory.curation.claims.claim import Claim, Subject
from mcp_memory.curation.claims.claim_base import ClaimBase
from mcp_memory.errors import NotFound
from mcp_memory.models import Etag, Filters, Hit, NotePath, NoteRecord, NoteState, SearchResult
from mcp_memory.recall.excerpts import Excerpt, shortened
from mcp_memory.recall.topic_page import TopicPage
from mcp_memory.text.language.terms import content_words
from mcp_memory.topics.page import page_id

MENTIONS = "mentions"
"""Replaces the folder of a subject that is only a group of words from claims."""

MOST_SEARCHED = 100
"""The number of passages searched; most passages yield a claim."""


@dataclass(frozen=True, slots=True)
class ClaimAnswers:
    """Answers from the index, for worker threads."""

    base: ClaimBase

    def find(self, name: str, filters: Filters) -> Subject:
        """Return the subject of this name, or else all claims with these words in them or in the titles of their notes.
        Raises NotFound, which lists the known subjects."""
        known, words = self.base.subjects(filters), content_words(name)
        if found := _called(known, words):
            return found
        if claims := [one for one in self.base.claims(filters) if words and words <= _words(one)]:
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
                    hits.append(replace(hit, snippet=_line(claim), start_line=lines[0], end_line=lines[0]))
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


def _words(claim: Claim) -> frozenset[str]:
    return content_words(f"{claim.latest.note.title} {claim.text}")


def _line(claim: Claim) -> str:
    """Format a claim as a line. The evidence is given by path and line, so that it can be recalled."""
    others = [shortened(one.note.id) or one.note.id for one in claim.evidence[1:4]]
    against = [f"against an older one: {one.text} ({one.note.path}:{one.line})" for one in claim.contradicts[:1]]
    also = [f"also {', '.join(others)}"] if others else []
    place = f"{claim.latest.note.path}:{claim.latest.line}"
    return f"{claim.text} ({'; '.join([claim.in_short, place, *also, *against])})"
