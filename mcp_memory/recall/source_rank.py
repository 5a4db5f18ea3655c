"""Decides whose words a prompt is told. Pure functions on values.

A person's own notes and logs come first. What was imported, and what a read-only source holds, is told where the prompt
names it, or where nothing of one's own answers. Of a prompt's project, what has no project is told where it fits as
well as the project's own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mcp_memory.models import NoteRecord, Passage
from mcp_memory.recall.config import PhaseConfig
from mcp_memory.recall.cutoff import for_prompt
from mcp_memory.search.confidence import place_of
from mcp_memory.search.confidence_config import UNSURE
from mcp_memory.search.ranking import RankedChunk, RankedList
from mcp_memory.text.language.identifiers import names_known
from mcp_memory.text.language.terms import STOP_WORDS, fold, words
from mcp_memory.vault.succession.entry_marks import note_of

FITS, LOG_FITS, FITS_ALONE = 1.0, 0.2, 0.1
"""The least relevance of a passage without a project in a project's prompt: as a share of the project's best (a log
entry without a project is as often about it as not), and where none of the project is told. Of the passages told with
the prompts of seven people 43 % belong instead of 40 %, 73 % of the prompts get all of theirs instead of 74 %, 88 % any
as before. By the sum of the first two and any one person left out, the other six choose 1 for notes each time, .2 for
logs five times of seven, and .1 six times."""

PREFERENCE_FITS = 0.3
"""The same of a preference without a project, which is meant for every one. It lets one more note each into the prompts
of two people with projects (`tests/eval/changes`, and a week by somebody else), and both belong."""

ANSWERED = 0.5
"""From this relevance on a passage of one's own answers a prompt."""

NAMED = 0.25
"""The least confidence of an answer of which passages with the exact names of a prompt (`uint8_t`) are told. One of 625
prompts of seven people that want no memory is told something by it, with .15 seven are; most of those that hold names
ask what the names mean, or are commands."""

UNNAMED = 0.7
"""The least relevance of a foreign passage that no prompt names; its answer needs a confidence of `ANSWERED`. Generic
prompts are close to manuals: of 625 prompts of seven people that want no memory, 200 imported documents answer 19
above the bars for one's own notes, and one above these, while 17 of 18 questions about those documents stay above."""

TITLE_WORDS = 2
"""A title of fewer words is no name: `Ansible` may be any playbook."""


@dataclass(frozen=True, slots=True)
class PromptBars:
    """What a prompt's passages must clear; `project` is that of the prompt."""

    phase: PhaseConfig
    project: str | None = None

    def answering(self, ranked: RankedList) -> list[RankedChunk]:
        """The passages above the bars, best first; of an unsure answer those with the exact names of the prompt."""
        # Without a prompt's meaning, the hits say too little about it: then the bar is that of a question.
        least = self.phase.least_confidence
        least = least if ranked.signs.wanting is not None else min(least, UNSURE)
        if ranked.confidence < min(least, NAMED):
            return []
        relevant = for_prompt(ranked.passages, self.phase)
        return relevant if ranked.confidence >= least else [chunk for chunk in relevant if chunk.relevance == 1.0]

    def fitting(self, told: Sequence[RankedChunk], prompt: str) -> list[RankedChunk]:
        """Those of the project, and others that fit as well."""
        if self.project is None:
            return _of_named_projects(told, prompt)
        ours = {id(chunk): chunk.relevance for chunk in told if note_of(chunk.passage).project}
        best = max(ours.values(), default=None)

        def least(chunk: RankedChunk) -> float:
            if best is None:
                return FITS_ALONE
            note = chunk.passage.note
            return best * (LOG_FITS if note.is_log else PREFERENCE_FITS if note.kind == "preference" else FITS)

        return [chunk for chunk in told if id(chunk) in ours or chunk.relevance >= least(chunk)]


def _of_named_projects(told: Sequence[RankedChunk], prompt: str) -> list[RankedChunk]:
    """If a prompt without a project names one that some passage is of, those of others only where they fit as well as
    its best. Of the notes told to five people with prompts like that, .5 to .8 % more belong; as many prompts as before
    get any or all of theirs."""
    asked = _folded(prompt)
    projects = [note_of(chunk.passage).project for chunk in told]
    named = {project for project in projects if project and _folded(project) in asked}
    pairs = list(zip(told, projects, strict=True))
    best = max((chunk.relevance for chunk, project in pairs if project in named), default=0.0)
    return [chunk for chunk, project in pairs if project in {None, *named} or chunk.relevance >= best]


def with_foreign(
    prompt: str, bars: PromptBars, own: RankedList, told: Sequence[RankedChunk], foreign: RankedList
) -> tuple[RankedList, Sequence[RankedChunk]]:
    """The class that answers a prompt, of whose own passages these are `told`; and what is told of both, best first."""
    others = bars.fitting(bars.answering(foreign), prompt)
    asked, known = _folded(prompt), names_known(prompt, " ".join(_whole(chunk.passage) for chunk in told))
    named = [
        chunk
        for chunk in others
        if any(name in asked for name in _names(chunk.passage.note))
        or names_known(prompt, _whole(chunk.passage)) > known
    ]
    if named or any(chunk.relevance >= ANSWERED for chunk in told):
        return own if told else foreign, [*told, *named]
    if foreign.confidence >= ANSWERED and (fit := [chunk for chunk in others if chunk.relevance >= UNNAMED]):
        return foreign, [*fit, *told]
    return own, told


def _names(note: NoteRecord) -> Iterator[str]:
    """Its title and file name, if they are several words, and its collection, folded as `_folded` does."""
    folder, _, file = note.path.rpartition("/")
    yield from (_folded(name) for name in (note.title, file.removesuffix(".md")) if _is_name(name))
    first, _, rest = f"{folder}/".partition("/")
    collection = first.removeprefix("@") if first.startswith("@") else rest.partition("/")[0]
    yield from (_folded(name) for name in (collection, collection.partition("-")[2]) if name)


def _is_name(text: str) -> bool:
    return sum(word not in STOP_WORDS for word in words(text.replace("_", " "))) >= TITLE_WORDS


def _folded(text: str) -> str:
    """The folded words, with a blank before and behind each."""
    return f" {' '.join(map(fold, words(text.replace('_', ' '))))} "


def _whole(passage: Passage) -> str:
    return f"{place_of(passage)} {passage.chunk.text}"
