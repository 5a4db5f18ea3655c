"""Answers requests about claims, and writes your decisions into their notes."""

from dataclasses import asdict, replace
from functools import partial

from mcp_memory.core.core import Core
from mcp_memory.core.requests import NoArguments, SearchRequest
from mcp_memory.core.serializers import Payload
from mcp_memory.core.verbs.forgetting import forget_note
from mcp_memory.core.verbs.searching import search_notes
from mcp_memory.core.verbs.written_notes import index_written
from mcp_memory.curation.claims.answers import MOST_SEARCHED, ClaimAnswers
from mcp_memory.curation.claims.problems import list_problems
from mcp_memory.curation.requests import ApplyRequest, ClaimsRequest
from mcp_memory.errors import InvalidInput
from mcp_memory.models import Filters, SearchResult
from mcp_memory.runtime.threads import in_thread
from mcp_memory.text.escape_invisible import visible_in
from mcp_memory.vault.journals.change_journal import current_caller

CLAIMS_S = 60.0
CONFIRM, DROP = "confirm", "drop"


class ClaimOperations:
    """Answers with plain JSON values. A page is never changed: it follows the notes."""

    def __init__(self, core: Core, answers: ClaimAnswers) -> None:
        self._core = core
        self._answers = answers

    async def search(self, request: SearchRequest) -> SearchResult:
        """Search the notes, and answer with their claims."""
        limit = max(request.limit, min(MOST_SEARCHED, 5 * request.limit))
        found = await search_notes(self._core, replace(request, limit=limit, path=None, include_archived=False))
        shown = partial(self._answers.hits, found, request.limit, self._filters(request.project))
        return await in_thread(shown, deadline_s=CLAIMS_S, what="reading claims")

    async def claims(self, request: ClaimsRequest) -> Payload:
        """Return the claims about one subject or all."""
        name, filters = request.subject, self._filters(request.project)

        def read() -> Payload:
            known = [self._answers.find(name, filters)] if name else self._answers.base.subjects(filters)
            return {"subjects": [one.facts for one in known]}

        return visible_in(await in_thread(read, deadline_s=CLAIMS_S, what="reading claims"))

    async def problems(self, _: NoArguments) -> Payload:
        """List the problems of claims and pages."""
        look = partial(list_problems, self._core.vault, self._core.index, self._answers.base)
        found = await in_thread(look, deadline_s=CLAIMS_S, what="looking at claims")
        return visible_in({"problems": list(map(asdict, found))})

    async def apply(self, request: ApplyRequest) -> Payload:
        """Confirm or drop a claim. Raises InvalidInput, NotFound, and the errors of changing a note."""
        verb = request.verb
        if verb not in (CONFIRM, DROP):
            raise InvalidInput(f"unknown verb {verb[:40]!r}", hint=f"{CONFIRM} or {DROP}")
        find = partial(self._answers.claim_of, request.target)
        claim = await in_thread(find, deadline_s=CLAIMS_S, what="looking for the claim")
        by = current_caller()
        evidence = {one.note.id: one.note for one in claim.evidence}.values()
        for note in evidence if verb == DROP else list(evidence)[:1]:
            entry = note.id.partition("#")[2] or None
            if verb == DROP:
                await forget_note(self._core, note.path, entry, reason="its claim was dropped", by=by)
                continue
            confirm = partial(self._core.vault.confirm, note.path, entry, by)
            file = await in_thread(confirm, deadline_s=CLAIMS_S, what="changing the note")
            await index_written(self._core, file)
        return visible_in({"verb": verb, "notes": [note.id for note in evidence], "claim": claim.text})

    def _filters(self, project: str | None) -> Filters:
        return replace(self._core.filters(project=project), private=self._core.config.recall.private_marks)
