"""Lists the questions that memory could not answer, each with the nearest note, until a newer note answers it."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from mcp_memory.client.credentials import PERSON
from mcp_memory.core.core import Core
from mcp_memory.core.feature import Feature, Operation, ReviewItem
from mcp_memory.core.requests import AppendRequest, ReviewRequest
from mcp_memory.core.serializers import Payload, receipt_payload
from mcp_memory.core.verbs.storing import append
from mcp_memory.errors import InvalidInput, NotFound
from mcp_memory.gaps.requests import GapsRequest
from mcp_memory.models import NoteId, NotePath
from mcp_memory.recall.note_list import date_of
from mcp_memory.runtime.threads import in_thread
from mcp_memory.search.filters import ANY_PROJECT
from mcp_memory.text.escape_invisible import visible_in
from mcp_memory.usage.knowledge_gaps import Gap

FILLED = 0.6
"""The cosine above which a passage of a newer note is taken as the answer. In `tests/eval/developer`, 61 of 186
questions are that near to a passage with their answer (bundled model). Of the 34 questions without an answer, 5 are
that near to any passage. So some answered gaps stay listed, and few close unanswered."""

NEAR = 0.25
"""The cosine above which the nearest note is named, since it roughly shows what was asked. The 16 of these questions
with weak answers have a passage at .25 to .38; unrelated passages are at .1."""

ASKED = 2
"""The number of times from which a question is worth a person's answer in a review."""

MOST_NEWER = 20
GAPS_S = 60.0


GAP = "gap-"
"""The prefix of a gap's id in lists that also have ids of notes."""


def build(core: Core) -> Feature:
    gaps = GapOperations(core)
    return Feature(operations={"gaps": Operation(GapsRequest, gaps.gaps)}, reviewer=gaps)


class GapOperations:
    """Answers requests about gaps with plain JSON values."""

    prefix = GAP

    def __init__(self, core: Core) -> None:
        self._core = core

    async def gaps(self, request: GapsRequest) -> Payload:
        """Close the gaps that notes have filled, and list the others."""
        read = partial(in_thread, self._core.recall.uses.read_gaps, deadline_s=GAPS_S, what="reading gaps")
        if request.target is None:
            if request.text is not None:
                raise InvalidInput("which gap does the text answer?", hint="mcp-memory gaps lists their ids")
            wanted = None if request.project == ANY_PROJECT else request.project
            known = [gap for gap in await read() if wanted is None or gap.project in (wanted, None)]
            return visible_in(await in_thread(partial(self._list, known), deadline_s=GAPS_S, what="looking at gaps"))
        gap = await self._find(request.target)
        if not (request.text or "").strip():
            raise InvalidInput("no answer", hint=f'mcp-memory gaps --answer {gap.id} "the answer"')
        text = f"{gap.question}\n\n{request.text}" if gap.question else request.text or ""  # "Mrs. Olsen does" needs it
        receipt = await append(self._core, AppendRequest(text, kind="fact", project=gap.project, source=PERSON))
        await in_thread(partial(self._core.recall.uses.close_gaps, [gap.id]), deadline_s=GAPS_S, what="closing the gap")
        return {"closed": [gap.id], "stored": receipt_payload(receipt)}

    async def _find(self, target: str) -> Gap:
        known = await in_thread(self._core.recall.uses.read_gaps, deadline_s=GAPS_S, what="reading gaps")
        for gap in known:
            if gap.id == target.lower().removeprefix(GAP):
                return gap
        raise NotFound(f"no gap {target[:20]!r}", hint="mcp-memory gaps lists their ids")

    async def waiting(self) -> Sequence[ReviewItem]:
        """Return the gaps that were asked more than once and whose words are kept."""
        known = await in_thread(self._core.recall.uses.read_gaps, deadline_s=GAPS_S, what="reading gaps")
        asked = [gap for gap in known if gap.question and gap.times >= ASKED]
        listed = await in_thread(partial(self._list, asked), deadline_s=GAPS_S, what="looking at gaps")
        return [
            ReviewItem(
                NoteId(f"{GAP}{one['id']}"), NotePath(""), "", "unanswered", one["question"], one["question"], 0.0,
                active=False, created=one["last"], source=f"asked {one['times']} times", project=one["project"],
                derived_from=[f"nearest: {one['nearest']['title']}"] if one["nearest"] else [],
            )
            for one in visible_in(listed)["gaps"]
        ]  # fmt: skip

    async def review(self, request: ReviewRequest) -> Payload:
        """Store the content as the answer, or drop the question."""
        gap = await self._find(request.target)
        title = gap.question or request.target
        if request.verb == "drop":
            close = partial(self._core.recall.uses.close_gaps, [gap.id])
            await in_thread(close, deadline_s=GAPS_S, what="closing the gap")
            return {"id": request.target, "path": "no longer listed", "title": title, "kind": "unanswered"}
        if request.verb != "accept":
            raise InvalidInput(f"a question can't be {request.verb[:40]!r}", hint="accept with an answer, or drop")
        stored = (await self.gaps(GapsRequest(target=gap.id, text=request.content)))["stored"]
        return {"id": stored["id"], "path": stored["path"], "title": title, "kind": "fact"}

    def _list(self, known: list[Gap]) -> Payload:
        shown, closed = list[Payload](), list[str]()
        for gap in known:
            nearest, filled = self._look(gap)
            if filled:
                closed.append(gap.id)
                continue
            what = f"a fact about {gap.project}" if gap.project else "a fact"
            shown.append({
                "id": gap.id, "project": gap.project, "times": gap.times, "sessions": gap.sessions,
                "first": gap.first.date().isoformat(), "last": gap.last.date().isoformat(), "nearest": nearest,
                "question": gap.question,
                "fill": f"{what} that answers it" + (f", or more in “{nearest['title']}”" if nearest else ""),
            })  # fmt: skip
        self._core.recall.uses.close_gaps(closed)
        return {"gaps": shown, "closed": closed}

    def _look(self, gap: Gap) -> tuple[Payload | None, bool]:
        """Return the nearest note, if any is near, and whether a newer note answers the question. Private notes are
        treated as absent."""
        model = self._core.search.model.at_hand
        if model is None or model.fingerprint != gap.model:
            return None, False
        filters = replace(self._core.filters(project=gap.project), private=self._core.config.recall.private_marks)
        rows = self._core.index.dense(gap.vector, MOST_NEWER, filters)
        passages = self._core.index.get(rows.ids.tolist())
        scored = zip(rows.ids.tolist(), rows.scores.tolist(), strict=True)
        found = [(score, passages[chunk].note) for chunk, score in scored if chunk in passages]
        filled = any(score >= FILLED and date_of(note) > gap.last for score, note in found)
        if not found or found[0][0] < NEAR:
            return None, filled
        score, note = found[0]
        return {"id": note.id, "title": note.title, "path": note.path, "cosine": round(score, 2)}, filled
