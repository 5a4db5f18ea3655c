"""Checks what a language model answers about a session, and keeps only what the session's words support. Pure."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, timedelta
from enum import StrEnum
from typing import Any, cast

from mcp_memory.comparison.comparison import Comparison
from mcp_memory.comparison.other_value import NoteText
from mcp_memory.extraction.reading.evidence import (
    MOST_QUOTES,
    WORDS,
    Quotations,
    SessionWords,
    in_one_line,
    plain,
    subject_in,
)
from mcp_memory.extraction.reading.figures import WRITTEN_DATE, numbers, spoken_numbers
from mcp_memory.extraction.reading.lesson_form import WAYS, find_lesson
from mcp_memory.extraction.reading.reading_prompt import ID_CHARS, ReadingPrompt, ShownNote
from mcp_memory.statements.candidate import StatementKind
from mcp_memory.text.conversation.own_words import lowered, masked
from mcp_memory.text.conversation.relayed_words import relays
from mcp_memory.text.dates.due import in_english
from mcp_memory.text.language.denials import DENIES, INSTEAD, denies
from mcp_memory.text.language.facts import FactKind, facts
from mcp_memory.text.language.sentences import statement_of
from mcp_memory.text.language.terms import REPEATED, content_words, coverage, telling_words, words
from mcp_memory.text.language.word_lists import language_of
from mcp_memory.text.markdown.inline_text import is_harmless
from mcp_memory.text.parsed_values import json_within, list_at, text_at, value_at

MOST_STATEMENTS, MOST_WHEN = 20, 3
MOST_TEXT_CHARS, MOST_WHEN_CHARS = 500, 80
MOST_CHANGES = 8
"""The most older notes that one part of a session may replace or end."""
LEAST_QUOTED, LEAST_SHARED = 0.25, 2
"""The minimum share of a statement's content words in the quotations and the replaced note, or their number with
figures: the statement is about them."""
LEAST_SAID = 0.5
"""The minimum share of a statement's content words that were said in the session or stand in the notes shown with it.
An abstractive summary takes two thirds of its words from the text (Narayan et al. 2018, table 2); dates that were
resolved, and the words that join several sentences, are missing here, too."""
_LINKS = re.compile(r"\]\(|\[\[|(?<!\w)#private", re.IGNORECASE)
LEAST_DENIED = 0.66
"""The minimum share of a denied clause's content words in a statement that asserts the same."""
_CLAUSE_END = re.compile(r"[,:.](?!\d)|[;!?\n()]|\b(?:but|sondern|aber|mais|sino|pero)\b", re.IGNORECASE)
_NOT_CHOSEN = re.compile(rf"(?:{INSTEAD.pattern})(?:[^,;:.()]|[,:.](?=\d))*", re.IGNORECASE)
"""Matches the thing that another takes the place of, which the text only names."""
_OR_NOT = re.compile(r"\b(?:or not|oder nicht|ou (?:non|pas)|o no)\b", re.IGNORECASE)
_IN_PARENTHESES = re.compile(r"\([^()]*\)")
"""Matches what held before, as the instructions ask for it."""
_PER = re.compile(r"(?<=\d )[a-z]+/[a-z]+\b")
"""Matches a unit, such as `requests/min`."""
_BEHIND_DAY = r"(?:st|nd|rd|th)?(?![\w:/%]|[.,]\d)"
LONGEST_AHEAD = timedelta(days=3 * 365)


class Verdict(StrEnum):
    """The action to take on a statement."""

    STORE = "store"
    REPLACE = "replace"
    PROPOSE = "propose"
    END = "end"
    """The note that it is `of` no longer holds, or its duty is done."""


@dataclass(frozen=True)
class ReadStatement:
    """A statement that the session supports. `of`: the note that it replaces, perhaps replaces or ends; an end has no
    text of its own. `project`: another project that it is about. `doubt`: why it is a proposal."""

    verdict: Verdict
    kind: StatementKind
    text: str
    evidence: Quotations
    of: ShownNote | None = None
    is_wide: bool = False
    project: str | None = None
    until: date | None = None
    due: date | None = None
    when: tuple[str, ...] = ()
    subject: str = ""
    doubt: str = ""
    refutes: bool = False
    """The note that it is `of` is wrong, and not only said better."""

    @property
    def older(self) -> ShownNote | None:
        """The note of an earlier session that this changes, perhaps by the proposal that it replaces."""
        of = self.of.instead_of if self.of and self.of.waits else self.of
        return of if of and not of.is_made_here else None

    def refines(self, older: ShownNote) -> bool:
        """Return whether this gives no other day, value or denial than an older note, though perhaps more."""
        before, now = statement_of(older.text), _IN_PARENTHESES.sub(" ", self.text)
        has_values = numbers(before) <= numbers(now) and denies(masked(before)) == denies(masked(now))
        return has_values and not self.due and not Comparison(NoteText(before), NoteText(now)).other_value


@dataclass(frozen=True)
class SessionReading:
    """The findings of a model in a part of a session. `wrong`: notes made from the session, and proposals, that
    shouldn't stay. `refused`: the words of statements that the session doesn't support."""

    statements: Sequence[ReadStatement]
    wrong: Sequence[ShownNote]
    refused: Sequence[str]


def check_answer(answer: str, asked: ReadingPrompt) -> SessionReading | None:
    """Return what an answer says and the session supports; None for an answer of another form."""
    given = json_within(answer)
    if not isinstance(value_at(given, "notes"), list):
        return None
    items = [cast("Mapping[str, Any]", item) for item in list_at(given, "notes") if isinstance(item, dict)]
    support = _Support(asked)
    found = [support.statement(item) for item in items[:MOST_STATEMENTS]]
    changing = [one for one in found if one and one.of and not one.of.is_made_here]
    kept = [None if one in changing[MOST_CHANGES:] else one for one in found]
    refused = [f"{item.get('text')} {item.get('quote')}" for item, one in zip(items, kept, strict=False) if not one]
    named = {str(note_id)[-ID_CHARS:] for note_id in list_at(given, "wrong")}
    wrong = [note for note in asked.notes if note.short_id in named]
    decided = [replace(one, refutes=one.of in wrong) for one in kept if one]
    changed = [one.of for one in decided]
    left = [note for note in wrong if note not in changed and (note.is_made_here or note.waits)]
    return SessionReading(decided, left, refused)


class _Support:
    """The words of a part of a session, which support a statement or don't."""

    def __init__(self, asked: ReadingPrompt) -> None:
        self._notes = {note.short_id: note for note in asked.notes}
        self._projects = asked.projects
        self._words = SessionWords(asked.messages, asked.fresh_from)
        self._names = "\n".join([self._words.said, asked.about, *(f"{one.subject} {one.text}" for one in asked.notes)])
        days = {message.at.date() for message in asked.messages if message.at}
        self._given = {str(day.year + more) for day in days for more in range(-2, 4)}
        near = (day + timedelta(more) for day in days for more in range(-7, 15))  # `Friday 18`
        named = (f"(?i:{day:%A})[.,]? (?:(?:the|den|dem|le|el) )?{day.day}{_BEHIND_DAY}" for day in near)
        self._date = re.compile("|".join([*named, WRITTEN_DATE.pattern]))
        self._given |= numbers(" ".join([asked.about.rpartition(", ")[2], *asked.projects]))

    def statement(self, item: Mapping[str, Any]) -> ReadStatement | None:
        """Return an item as a statement, a proposal if it isn't certain; None if it has no support."""
        with suppress(ValueError):
            verdict = Verdict(text_at(item, "do"))
            kind = StatementKind.FACT if verdict is Verdict.END else StatementKind(text_at(item, "kind"))
            given = list_at(item, "quote") or [text_at(item, "quote")]
            quotes = [in_one_line(str(quote)) for quote in given[:MOST_QUOTES]]
            worded = {name: in_one_line(text_at(item, name)) for name in ("text", "agreed", "error", *WAYS)}
            lesson, exact = None, worded["right_way"] if kind in {StatementKind.LESSON, StatementKind.FIX} else ""
            if exact:
                lesson = find_lesson(self._words, worded, quotes, item.get("proof"))
            evidence = lesson.evidence if lesson else None if exact else self._words.find(quotes, worded["agreed"])
            of = None if verdict is Verdict.STORE else self._notes.get(text_at(item, "of")[-ID_CHARS:])
            if evidence is None or (of is None and verdict in {Verdict.REPLACE, Verdict.END}):
                return None
            if verdict is Verdict.END and of:
                return self._end(evidence, of)
            text = "\n".join(worded[name] for name in ("text", *(WAYS if lesson else ())))
            is_said = self._is_said(text, exact or text, evidence, of)
            if is_said is None:
                return None
            text = lesson.text if lesson else text
            said_at = evidence.messages[0].at
            until, due = (_day(item, name, said_at.date() if said_at else None) for name in ("until", "due"))
            doubts = {
                "perhaps a question, or somebody else's words": evidence.is_certain or _is_fuller(evidence, of),
                "the quoted words perhaps deny it": _agree(text, evidence, of),
            }
            doubts = ({lesson.doubt: not lesson.doubt} if lesson else doubts) | {
                "the reader isn't sure": verdict is not Verdict.PROPOSE,
                "the duty has no day": kind is not StatementKind.COMMITMENT or due is not None,
                "it says more than the quoted words": is_said,
            }
            doubt = next((why for why, is_right in doubts.items() if not is_right), "")
            phrases = (in_one_line(str(phrase)) for phrase in list_at(item, "when")[:MOST_WHEN])
            when = tuple(phrase for phrase in phrases if 0 < len(phrase) <= MOST_WHEN_CHARS)
            named = text_at(item, "project")
            project = named if named in self._projects else None
            verdict = Verdict.PROPOSE if doubt else verdict
            return ReadStatement(
                verdict, kind, text, evidence, of, item.get("everywhere") is True, project, until, due, when,
                subject_in(text_at(item, "subject"), self._names), doubt,
            )  # fmt: skip
        return None

    def _end(self, evidence: Quotations, of: ShownNote) -> ReadStatement | None:
        """Return the end of a note, if a plain statement of the person names a word of the note. `sent it, done` may
        name it in the words before."""
        is_duty = of.kind == StatementKind.COMMITMENT
        about = self._words.before(evidence.messages[0]) if is_duty else evidence.text
        if not evidence.is_certain or not telling_words(about) & telling_words(of.text):
            return None
        return ReadStatement(Verdict.END, StatementKind.FACT, "", evidence, of)

    def _is_said(self, text: str, exact: str, evidence: Quotations, of: ShownNote | None) -> bool | None:
        """Return True if the quotations or the replaced note say what the statement says, and have the names and
        numbers of its part `exact`. False if words around them do, such as a text that the person answers; None
        otherwise."""
        lines = list(map(_words_of, text.split("\n")))
        words = set[str]().union(*lines)
        shared = content_words(text) & content_words(evidence.text)
        is_long = any(len(line) > MOST_TEXT_CHARS for line in text.split("\n"))
        if is_long or not words or not shared or not is_harmless(text) or _LINKS.search(text):
            return None
        before = of.text if of else ""
        here = f"\n{self._words.before(evidence.messages[0])}" if evidence.around else ""
        names, given = f"{self._names}\n{evidence.around}", f"{evidence.text}\n{before}"
        said = f"{self._words.said}\n{evidence.around}\n{given}"
        known, support = content_words(names), content_words(given)
        least = LEAST_QUOTED if words & shared else LEAST_SAID
        is_about_it = coverage(words, support) >= least or len(words & shared and shared) >= LEAST_SHARED
        is_said = all(coverage(line, known) >= LEAST_SAID for line in lines if line)
        if not is_said or not self._has(exact, names + here, said + here):
            return None
        around = "\n".join([*(message.text for message in evidence.messages), evidence.around, before])
        figures = self._figures(_IN_PARENTHESES.sub(" ", exact))  # what held before may have been said elsewhere
        is_about_it = is_about_it and figures <= spoken_numbers(around) | self._given
        return is_about_it and self._has(exact, f"{names}\n{around}", said, "name")

    def _has(self, text: str, names: str, said: str, also: FactKind = "identifier") -> bool:
        """Return whether texts have the identifiers, or also the names, and the numbers of a statement. In German, any
        noun looks like a name."""
        kinds = {"identifier"} if language_of(words(text)) == "de" else {"identifier", also}
        found = [fact.key for fact in facts(_PER.sub(" ", text)) if fact.kind in kinds and not fact.key[0].isdigit()]
        said_names = plain(names)
        unsaid = [name for name in found if any(plain(part) not in said_names for part in name.split("/"))]
        are_dates = all(map(WRITTEN_DATE.fullmatch, map(in_english, unsaid)))
        return are_dates and self._figures(text) <= spoken_numbers(said) | self._given

    def _figures(self, text: str) -> set[str]:
        """Return the numbers of a statement, except in written dates."""
        return numbers(self._date.sub(" ", in_english(text)))


def _words_of(line: str) -> set[str]:
    return {word for word in content_words(line) if not word.isdigit()}


def _agree(text: str, evidence: Quotations, of: ShownNote | None) -> bool:
    """Return whether a statement has each condition of its quotations and asserts nothing that they deny. It may deny
    only what they, the sentences around them or the replaced note deny, or what they choose against."""
    quoted = _CLAUSE_END.split(_OR_NOT.sub(" ", evidence.text))
    conditions = map(content_words, filter(WORDS["condition"].search, map(lowered, quoted)))
    if any(coverage(condition, content_words(text)) < LEAST_DENIED for condition in conditions):
        return False
    text = _NOT_CHOSEN.sub(" ", text)
    said = [evidence.text, evidence.around, of.text if of else ""]
    denied_there = any(denies(one) or WORDS["turns_down"].search(one.lower()) for one in said)
    is_denial = denies(masked(text))
    if is_denial and not denied_there and not _chooses(text, quoted):
        return False
    clauses = _CLAUSE_END.split(_IN_PARENTHESES.sub(" ", text))
    asserted = content_words(
        "\n".join(one for one in clauses if not (denies(one) or WORDS["mistaken"].search(one.lower())))
    )
    kept = [_NOT_CHOSEN.sub(" ", clause) for clause in quoted]
    affirmed = content_words("\n".join(one for one in kept if not denies(one)))
    for clause in filter(_NOT_CHOSEN.search if is_denial else denies, quoted):
        left = _NOT_CHOSEN.search(clause)
        words = content_words(DENIES.sub(" ", left[0] if left else clause))
        denied = words - affirmed or (set[str]() if left else words)
        if denied and coverage(denied, asserted) >= LEAST_DENIED:
            return False
    return True


def _is_fuller(evidence: Quotations, of: ShownNote | None) -> bool:
    """Return whether words that the person typed, perhaps in quotation marks, have all that a stored note of the
    session says."""
    if of is None or of.waits or not of.is_made_here:
        return False
    is_typed = not any(line.endswith("?") or relays(lowered(line)) for line in evidence.around.split("\n"))
    return is_typed and coverage(content_words(of.text), content_words(evidence.text)) >= REPEATED


def _chooses(text: str, quoted: Sequence[str]) -> bool:
    """Return whether each denial begins a clause after a choice, `scrublet, not scDblFinder`, and names things from the
    quotations."""
    clauses, named = _CLAUSE_END.split(text), content_words("\n".join(quoted))
    denials = [clause for clause in clauses if denies(clause)]
    things = content_words(DENIES.sub(" ", "\n".join(denials)))
    return all(DENIES.match(clause.strip()) for clause in denials) and things <= named and clauses[0] not in denials


def _day(item: Mapping[str, Any], name: str, said: date | None) -> date | None:
    """Return a day that isn't before the statement; ValueError for anything else than a day or nothing."""
    text = text_at(item, name)
    day = date.fromisoformat(text) if text else None
    if day and said and not said <= day <= said + LONGEST_AHEAD:
        raise ValueError(name)
    return day
