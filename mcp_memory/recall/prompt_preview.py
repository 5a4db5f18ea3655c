"""Explains what a session would get with a prompt, and why other passages stay out. Pure functions on values."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from mcp_memory.models import Filters, Passage
from mcp_memory.recall.answer import RecalledText
from mcp_memory.recall.cutoff import PromptBars
from mcp_memory.search.filters import failed_filters
from mcp_memory.search.ranking import RankedChunk, RankedList
from mcp_memory.search.thresholds import LIKELY, UNSURE
from mcp_memory.text.tokens import count_tokens
from mcp_memory.vault.succession.entry_marks import note_of

MOST_CONSIDERED = 12
"""The most passages that are named with the reason why they stay out."""

_FILTERED = {"project": "it belongs to another project", "kinds": "agents don't get this kind with a prompt"}


@dataclass(frozen=True)
class Considered:
    """A passage, its probability of helping with the prompt, and why it is or isn't shown."""

    passage: Passage
    relevance: float
    why: str


@dataclass(frozen=True)
class PromptPreview:
    """The text that a session would get, which may be empty, the passages in it, and the best of the others."""

    text: str
    shown: tuple[Considered, ...]
    not_shown: tuple[Considered, ...]
    confidence: float
    degraded: str | None

    @property
    def tokens(self) -> int:
        return count_tokens(self.text)

    @classmethod
    def of(
        cls, recalled: RecalledText, bars: PromptBars, ranked: RankedList, wide: RankedList, wanted: Filters,
        contested: Collection[str],
    ) -> "PromptPreview":  # fmt: skip
        """Explain an answer. `ranked`: the passages of the person; `wide`: the best passages of all notes."""
        known = {chunk.passage.chunk_id: chunk.relevance for chunk in [*ranked.passages, *recalled.chunks]}
        named = [(one, "it probably helps") for one in recalled.passages]
        named += [(one, "it perhaps helps, so only its title is named") for one in recalled.unsure]
        shown = [Considered(one, known.get(one.chunk_id, 1.0), why) for one, why in named]
        seen = {one.passage.shown_id for one in shown}
        others = list[Considered]()
        for chunk in wide.passages:
            if chunk.passage.shown_id not in seen:
                seen.add(chunk.passage.shown_id)
                one = replace(chunk, relevance=known.get(chunk.passage.chunk_id, chunk.relevance))
                others.append(Considered(one.passage, one.relevance, why_not(one, bars, ranked, wanted, contested)))
        is_empty = not (recalled.assembly.excerpts or recalled.assembly.notices or recalled.assembly.lead)
        text = "" if is_empty else replace(recalled, frame=replace(recalled.frame, as_of=None)).text
        sure = ranked.confidence if recalled.confidence is None else recalled.confidence
        return cls(text, tuple(shown), tuple(others), round(sure, 3), recalled.degraded)


def unfiltered(wanted: Filters) -> Filters:
    """Return the filters without those that keep a note from a prompt; forgotten and retired notes stay out."""
    return replace(wanted, private=None, project=None, aliases=frozenset(), kinds=None, kinds_out=frozenset())


def why_not(
    chunk: RankedChunk, bars: PromptBars, ranked: RankedList, wanted: Filters, contested: Collection[str]
) -> str:
    """Return why a passage isn't shown with a prompt, the surest reason first."""
    note, phase, knows_meaning = note_of(chunk.passage), bars.phase, ranked.signs.wanting is not None
    least = phase.least_confidence if knows_meaning else min(phase.least_confidence, UNSURE)
    if wanted.private and wanted.private.cover(note):
        return "it is private: agents get it only if they ask"
    if any(map(note.is_muted_in, wanted.names)):
        return "it is muted here"
    if failed := failed_filters(note, wanted):
        return "; ".join(_FILTERED.get(name, f"the filter {name} excludes it") for name in failed)
    if chunk.passage.shown_id in contested:
        return "another note contradicts it, and you haven't decided"
    if ranked.confidence < least and chunk.relevance < 1.0:
        return f"the prompt probably needs no memory: confidence {ranked.confidence:.2f} of {least:.2f}"
    best = max((one.relevance for one in ranked.passages), default=0.0)
    needed = max(phase.least_relevance, phase.least_share * best, LIKELY if knows_meaning else 0.0)
    if chunk.relevance < needed:
        return f"it is less likely to help than a passage needs: {chunk.relevance:.2f} of {needed:.2f}"
    if note.is_foreign:
        return "it was imported, and the prompt doesn't name it"
    if note.project != bars.project:
        return "it fits less well than the project's own notes"
    return "another passage says the same, or there was no room for it"
