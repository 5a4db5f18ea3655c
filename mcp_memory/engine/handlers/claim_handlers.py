"""Answers what is asked of claims, and writes what you decide into their notes."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING

from mcp_memory.curation.claims.problems import list_problems
from mcp_memory.engine import requests
from mcp_memory.engine.serializers import Payload
from mcp_memory.engine.verbs.forgetting import forget_note
from mcp_memory.engine.verbs.written_notes import index_written
from mcp_memory.errors import InvalidInput
from mcp_memory.extraction.conflict_review import BOTH, KEEP
from mcp_memory.runtime.threads import in_thread
from mcp_memory.text.escape_invisible import visible_in
from mcp_memory.vault.journals.change_journal import current_caller

if TYPE_CHECKING:
    from mcp_memory.engine.parts import EngineParts

CLAIMS_S = 60.0
CONFIRM, DROP = "confirm", "drop"


async def claims(parts: EngineParts, request: requests.ClaimsRequest) -> Payload:
    name = request.subject
    filters = replace(parts.filters(project=request.project), private=parts.config.recall.private_marks)

    def read() -> Payload:
        known = [parts.claims.find(name, filters)] if name else parts.claims.base.subjects(filters)
        return {"subjects": [one.facts for one in known]}

    return visible_in(await in_thread(read, deadline_s=CLAIMS_S, what="reading claims"))


async def claim_problems(parts: EngineParts, _: requests.NoArguments) -> Payload:
    look = partial(list_problems, parts.vault, parts.index, parts.claims.base)
    found = await in_thread(look, deadline_s=CLAIMS_S, what="looking at claims")
    return visible_in({"problems": list(map(asdict, found))})


async def apply(parts: EngineParts, request: requests.ApplyRequest) -> Payload:
    """A page is never changed: it follows the notes."""
    verb = request.verb
    if verb in (KEEP, BOTH):
        full_id = parts.note_lookup.full_id
        target, other = await full_id(request.target), request.other and await full_id(request.other)
        decided = await parts.conflict_review.decide(verb, target, other)
        return visible_in({"verb": verb, "notes": [one["newer"] for one in decided], "claim": None})
    if verb not in (CONFIRM, DROP):
        raise InvalidInput(f"unknown verb {verb[:40]!r}", hint=f"{CONFIRM}, {DROP}, {KEEP} or {BOTH}")
    find = partial(parts.claims.claim_of, request.target)
    claim = await in_thread(find, deadline_s=CLAIMS_S, what="looking for the claim")
    by = current_caller()
    evidence = {one.note.id: one.note for one in claim.evidence}.values()
    for note in evidence if verb == DROP else list(evidence)[:1]:
        entry = note.id.partition("#")[2] or None
        if verb == DROP:
            await forget_note(parts, note.path, entry, reason="its claim was dropped", by=by)
            continue
        confirm = partial(parts.vault.confirm, note.path, entry, by)
        file = await in_thread(confirm, deadline_s=CLAIMS_S, what="changing the note")
        await index_written(parts, file)
    return visible_in({"verb": verb, "notes": [note.id for note in evidence], "claim": claim.text})
