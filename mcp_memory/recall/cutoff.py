"""Decide which passages an answer shows. Pure functions on values.

An answer ends where the scores of its passages drop, even if the budget has room for more. A prompt gets a person's own
notes and logs first. Imported notes and read-only sources appear if the prompt names them, or if none of the person's
own notes answers. In a project, notes without a project appear if they fit as well as the project's own."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from mcp_memory.comparison.comparison import Comparison
from mcp_memory.comparison.other_value import NoteText
from mcp_memory.models import NoteRecord, Passage
from mcp_memory.recall.config import PhaseConfig
from mcp_memory.search.confidence import place_of
from mcp_memory.search.ranking import RankedChunk, RankedList
from mcp_memory.search.thresholds import LIKELY, POINTED, POINTED_BESIDE, UNSURE
from mcp_memory.text.language.identifiers import names_known
from mcp_memory.text.language.terms import fold, words
from mcp_memory.text.language.word_lists import STOP_WORDS
from mcp_memory.text.tokens import CHARS_PER_TOKEN
from mcp_memory.vault.succession.entry_marks import note_of

FEWEST_TOKENS = 500
"""The tokens that a question's answer may fill with passages above `FEWEST_SHARE` of the best score."""
FEWEST_SHARE = 0.4
"""The share of the best score that a passage needs within `FEWEST_TOKENS`; otherwise short notes of agents would fill
these tokens regardless of their content. Measured on notes of eleven people (`agents` and `agents_held_out` in
`tests/eval/topics`): 4 notes are shown instead of 8, with 915 of 930 answers instead of 916."""

MOST_WEAK = 5
"""The most passages if probably none answers and all are about as near. It keeps .930 instead of .946 of a developer's
evidence. Without it, a question without an answer got 700 tokens."""

STATEMENT_CHARS = 300
"""The most characters of a statement."""

FITS, LOG_FITS, FITS_ALONE = 1.0, 0.2, 0.1
"""The least relevance of a passage without a project in a project's prompt: for notes, for log entries, and if the
project has no passage. The first two are shares of the project's best, the third is absolute. A log entry without a
project is as often about the project as not. Measured on seven people: 43 % of the shown passages belong instead of 40
%. 73 % of the prompts get all of theirs instead of 74 %, and 88 % any, as before. With any one person excluded, the
other six choose 1 for notes each time, and .2 for logs five times of seven."""

PREFERENCE_FITS = 0.3
"""The share for a preference without a project, which is meant for all projects. Measured with
`tests/eval/changes` and a week of another person: it adds one more note to the prompts of two people with projects, and
both notes belong."""

ANSWERED = LIKELY
"""The relevance from which the person's own passage answers a prompt."""

ANSWERED_ELSEWHERE = 0.5
"""The confidence from which foreign passages answer a prompt."""

NAMED = 0.25
"""The least confidence of an answer from which passages with a prompt's exact names (`uint8_t`) are shown. Measured on
625 prompts of seven people that need no memory: 1 gets a passage, and 7 would with .15. Most of the prompts with names
ask what the names mean, or are commands."""

UNNAMED = 0.7
"""The least relevance of a foreign passage that the prompt doesn't name; its answer needs a confidence of
`ANSWERED_ELSEWHERE`. Generic prompts are close to manuals: of 625 that need no memory, 200 imported documents answer 1,
instead of 19 with the thresholds for own notes."""

TITLE_WORDS = 2
"""The fewest words of a title that names a source: `Ansible` may be any playbook."""


def for_prompt(ranked: Sequence[RankedChunk], phase: PhaseConfig) -> list[RankedChunk]:
    """Return the passages that probably help with a prompt."""
    best = max((chunk.relevance for chunk in ranked), default=0.0)
    least = max(phase.least_relevance, phase.least_share * best)
    return [chunk for chunk in ranked if chunk.relevance >= least]


def told_once(ranked: Sequence[RankedChunk]) -> list[RankedChunk]:
    """Skip a short passage if another note of its project has all its words and the same facts. An agent's note often
    repeats what you said in a session. If both have the same words, the better one stays."""

    def is_said_by(at: int, other: int) -> bool:
        one, two = ranked[at].passage, ranked[other].passage
        if one.shown_id == two.shown_id or note_of(one).project != note_of(two).project:
            return False
        first, second = NoteText(one.chunk.text), NoteText(two.chunk.text)
        return Comparison(second, first).adds_nothing and (other < at or not Comparison(first, second).adds_nothing)

    places = range(len(ranked))
    return [
        ranked[at]
        for at in places
        if len(ranked[at].passage.chunk.text) > STATEMENT_CHARS or not any(is_said_by(at, other) for other in places)
    ]


def likely_and_unsure(
    ranked: RankedList, fit: Sequence[RankedChunk], known: Callable[[Passage], bool] | None, ask_below: float = 0.0
) -> tuple[list[RankedChunk], list[RankedChunk]]:
    """Split the passages that fit a prompt into those to show, and those of other notes that a line may point to, none
    of which the reader has (`known`). Passages under `ask_below` aren't shown, either."""
    least = (
        max(LIKELY, ask_below) if ranked.signs.wanting is not None else 0.0
    )  # without vectors, relevance is only an order
    likely = [chunk for chunk in fit if chunk.relevance >= least]
    shown = {chunk.passage.shown_id for chunk in likely}
    unsure = [one for one in fit if one.passage.shown_id not in shown and not (known and known(one.passage))]
    if likely:
        return likely, [chunk for chunk in unsure if chunk.relevance >= POINTED_BESIDE]
    return [], unsure if any(chunk.relevance >= POINTED for chunk in unsure) else []


def for_question(ranked: Sequence[RankedChunk], phase: PhaseConfig, *, is_weak: bool = False) -> list[RankedChunk]:
    """Return the passages within reach of the best, and further passages up to `FEWEST_TOKENS`: later ones rarely have
    what a question asks for."""
    ranked = ranked[:MOST_WEAK] if is_weak else ranked
    best = ranked[0].score if ranked else 0.0
    least, fewest = phase.least_share * best, min(phase.least_share, FEWEST_SHARE) * best
    before = accumulate((len(chunk.passage.chunk.text) for chunk in ranked), initial=0)
    room = FEWEST_TOKENS * CHARS_PER_TOKEN
    pairs = zip(ranked, before, strict=False)
    return [chunk for chunk, chars in pairs if chunk.score >= (fewest if chars < room else least)]


@dataclass(frozen=True)
class PromptBars:
    """The bars that a prompt's passages must clear; `project` is the prompt's."""

    phase: PhaseConfig
    project: str | None = None

    def answering(self, ranked: RankedList) -> list[RankedChunk]:
        """Return the passages above the bars, best first; for an unsure answer, the passages with the exact names of
        the prompt."""
        # In a search without vectors, the hits say too little about a prompt, so the bar for a question applies.
        least = self.phase.least_confidence
        least = least if ranked.signs.wanting is not None else min(least, UNSURE)
        if ranked.confidence < min(least, NAMED):
            return []
        relevant = for_prompt(ranked.passages, self.phase)
        return relevant if ranked.confidence >= least else [chunk for chunk in relevant if chunk.relevance == 1.0]

    def fitting(self, told: Sequence[RankedChunk], prompt: str) -> list[RankedChunk]:
        """Return the project's passages, and the others that fit as well."""
        if self.project is None:
            # Skip other projects' passages if the prompt names a single project, unless they fit as well as the best
            # passage of that project. Measured on five people: .5 to .8 % more of the shown notes belong, and as many
            # prompts as before get any or all of theirs.
            asked = _folded(prompt)
            projects = [note_of(chunk.passage).project for chunk in told]
            named = {project for project in projects if project and _folded(project) in asked}
            pairs = list(zip(told, projects, strict=True))
            best = max((chunk.relevance for chunk, project in pairs if project in named), default=0.0)
            return [chunk for chunk, project in pairs if project in {None, *named} or chunk.relevance >= best]
        ours = {id(chunk): chunk.relevance for chunk in told if note_of(chunk.passage).project}
        best = max(ours.values(), default=None)

        def least(chunk: RankedChunk) -> float:
            if best is None:
                return FITS_ALONE
            note = chunk.passage.note
            return best * (LOG_FITS if note.is_log else PREFERENCE_FITS if note.kind == "preference" else FITS)

        return [chunk for chunk in told if id(chunk) in ours or chunk.relevance >= least(chunk)]


def with_foreign(
    prompt: str, bars: PromptBars, own: RankedList, told: Sequence[RankedChunk], foreign: RankedList
) -> tuple[RankedList, Sequence[RankedChunk]]:
    """Return the ranked list, own or foreign, that answers a prompt, and the passages to show of both, best first.
    `told` are the own passages chosen so far."""
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
    if foreign.confidence >= ANSWERED_ELSEWHERE and (fit := [chunk for chunk in others if chunk.relevance >= UNNAMED]):
        return foreign, [*fit, *told]
    return own, told


def _names(note: NoteRecord) -> Iterator[str]:
    """Yield the names of a note, folded as `_folded` does: its title and file name, if they are several words, and its
    collection."""
    folder, _, file = note.path.rpartition("/")
    for name in (note.title, file.removesuffix(".md")):
        if sum(word not in STOP_WORDS for word in words(name.replace("_", " "))) >= TITLE_WORDS:
            yield _folded(name)
    first, _, rest = f"{folder}/".partition("/")
    collection = first.removeprefix("@") if first.startswith("@") else rest.partition("/")[0]
    yield from (_folded(name) for name in (collection, collection.partition("-")[2]) if name)


def _folded(text: str) -> str:
    """Return the folded words, with a blank before and behind each."""
    return f" {' '.join(map(fold, words(text.replace('_', ' '))))} "


def _whole(passage: Passage) -> str:
    return f"{place_of(passage)} {passage.chunk.text}"
