"""Finds your statements in a session: by the rules, by the classifier, and by your agreements and retractions."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from mcp_memory.capture.readers.message import Transcript
from mcp_memory.statements.agreements import (
    Agreement,
    find_agreement,
    is_answer,
    is_retraction,
    last_said,
    last_sentences,
    leans_on_it,
    retraction_chars,
)
from mcp_memory.statements.candidate import Candidate, Reversal, StatementKind, Voice, make_title
from mcp_memory.statements.classifier import (
    ONCE,
    PERSONAL,
    PROPOSED,
    SentenceModel,
    States,
    in_context,
    likelihood,
    likelihoods,
)
from mcp_memory.statements.corrections import corrected
from mcp_memory.statements.cues import (
    AGREEMENT,
    EXPLAINS,
    REVIEW,
    VALUE_FIRST,
    explains,
    features,
    has_cue,
    is_not_to_be_kept,
    is_task,
    is_vetoed,
    is_worth_proposing,
    leaves_open,
    reason_features,
    stands_alone,
)
from mcp_memory.statements.language import is_personal
from mcp_memory.statements.proposals import HasRead
from mcp_memory.statements.reversals import with_reversal
from mcp_memory.statements.spoken import SpokenSentence, spoken_sentences
from mcp_memory.statements.statement_rules import REQUESTED, Statement, classify, opening_chars
from mcp_memory.statements.user_sentences import UserSentence, assistant_sentences
from mcp_memory.text.conversation.own_words import lowered
from mcp_memory.text.language.sentences import as_sentence
from mcp_memory.text.language.terms import content_words

CORRECTED_WITHIN = 2
"""The number of your messages after a statement in which you may correct it without naming it."""
LIKELY, LEANING, UNCLEAR = 0.88, 0.45, 0.4
"""The scores of sentences that the classifier accepts, or proposes, and of those that are unclear on their own."""
RANKED, MOST_UNSURE = 0.3, 0.8
"""The most that the classifier's likelihood adds to the score of a proposal, and the highest score of a proposal."""
PRONOUN = re.compile(r"(?:and |und |et |y )?(?:he|she|they|it|er|sie|il(?! faut| y a)|elle|ils|elles|él|ella|ellos)\b")
_ASKS_OR_COUNTS = re.compile(r"[?\d]")
_LABEL = re.compile(r"(?:preference|decision|lesson|fix|fact|workflow)(?= ?:)")  # `Lesson: …` names its kind
_NAMES_NOTHING = re.compile(r"\s*(?:$|[,.;:!…–—-])")
"""Matches the rest of a retraction without a noun: `scrap it, we …`, not `drop that column`."""


@dataclass(frozen=True)
class _Judged(SpokenSentence):
    """A sentence with the results of rules and classifier. `agreed` is the statement that it agrees to. `personal`: it
    applies to you in every project. `leans`: it is unclear without the message that it answers. `repeats`: that message
    only repeats text that the assistant has read."""

    rule: Statement | None
    once: float
    kept: float
    personal: bool
    leans: bool
    agreed: Agreement | None
    repeats: bool
    states: States | None

    @property
    def is_ruled(self) -> bool:
        return self.rule is not None and (self.rule.outright or self.rule.kind is StatementKind.COMMITMENT)

    @property
    def is_statement(self) -> bool:
        return self.is_ruled or self.once >= ONCE

    @property
    def can_be_meant(self) -> bool:
        """Return whether a pronoun in the next sentence may refer to something in this sentence."""
        return not is_vetoed(self.sentence) and not has_cue(self.sentence.view, "hedge", "reaction")


def find_statements(messages: Transcript, model: SentenceModel | None, has_read: HasRead) -> Iterator[Candidate]:
    """Yield the statements in order. `has_read` prevents agreement to text that the assistant only repeats."""
    spoken = _judged(list(spoken_sentences(messages)), model, has_read)
    latest: Candidate | None = None
    reasons = _reasons(spoken)
    turns = {offset: turn for turn, offset in enumerate(dict.fromkeys(one.message.offset for one in spoken))}
    for number, one in enumerate(spoken):
        if number in reasons.values():
            continue
        why = spoken[reasons[number]].sentence.text if number in reasons else ""
        before = spoken[number - 1] if -1 in one.beside else None
        if latest and turns[one.message.offset] > turns[latest.offset] + CORRECTED_WITHIN:
            latest = None
        last = spoken[number - 1] if number else None
        is_next = latest is not None and turns[one.message.offset] == turns[latest.offset] + 1
        found = _taken_back(one, last, latest) or _corrected(one, latest, is_next=is_next) or _agreed(one, why)
        found = found or _stated(one, why, before, reason_first=reasons.get(number, number) < number)
        if has_cue(one.sentence.view, "widens", part=AGREEMENT):  # `Remember that for every repo`
            found = latest and _candidate(one, StatementKind.PREFERENCE, latest.score, latest.text, latest)
        if (found := with_reversal(one, found)) and (found.score >= REQUESTED or "[redacted: " not in found.statement):
            yield (latest := found)


def _judged(spoken: Sequence[SpokenSentence], model: SentenceModel | None, has_read: HasRead) -> list[_Judged]:
    states = in_context(spoken, model.states) if model else None
    adapted = model.states_in_context(spoken) if model and states is not None else None
    found: list[_Judged] = []
    for number, one in enumerate(spoken):
        around = states[number] if states is not None else None
        rule = None if is_not_to_be_kept(one.sentence) else classify(one.sentence)
        own = around[: around.size // 4] if around is not None else None  # without its context
        once = kept = 0.0
        personal, leans = rule is not None and is_personal(rule.kind, one.sentence.text), leans_on_it(one)
        agreed: Agreement | None = None
        if not is_vetoed(one.sentence):
            seen = features(one, rule.score if rule else 0.0)
            once, kept = likelihoods(one.sentence, seen, around, adapted[number] if adapted is not None else None)
            if own is not None:
                personal = likelihood("person", [*seen, float(personal)], own, view=one.sentence.view) >= PERSONAL
            agreed = find_agreement(one)
            says_more = agreed is not None and not agreed.sure and once >= ONCE
            if agreed and (says_more or has_read(agreed.offered)):
                agreed = None
        place = (one.message, one.sentence, one.assistant, one.place, one.said)
        repeats = leans and any(has_read(said) for said in last_sentences(one.assistant))
        found.append(_Judged(*place, rule, once, kept, personal, leans, agreed, repeats, own))
    return found


def _reasons(spoken: Sequence[_Judged]) -> dict[int, int]:
    """Map statements to the neighbours that best explain them. A sentence with a reason is never a reason."""
    likely: list[tuple[float, int, int]] = []
    for number, one in enumerate(spoken):
        for step in reversed(one.beside):
            at, other = number + step, spoken[number + step]
            if _takes_reason(one) and _may_explain(other, one):
                share = _likely_reason(one, other, is_behind=step > 0)
                if share >= EXPLAINS:
                    likely.append((share, number, at))
    found: dict[int, int] = {}
    for _, number, at in sorted(likely, key=lambda each: -each[0]):
        if number not in found and at not in found and not {number, at} & {*found.values()}:
            found[number] = at
    return found


def _takes_reason(one: _Judged) -> bool:
    """Return whether a sentence becomes a candidate that quotes its reason."""
    found = None if is_retraction(one.sentence) else _agreed(one, "") or _stated(one, "", None)
    return found is not None and found.kind is not StatementKind.COMMITMENT


def _may_explain(other: _Judged, one: _Judged) -> bool:
    """Return whether a sentence may be a reason for a statement that is more important."""
    view = other.sentence.view
    is_other = other.is_ruled or is_retraction(other.sentence) or other.agreed or VALUE_FIRST.match(view)
    is_other = is_other or has_cue(view, "widens", part=AGREEMENT) or has_cue(view, "cause", part=REVIEW)
    return not is_other and (not other.is_statement or other.once < one.once)


def _likely_reason(one: _Judged, other: _Judged, *, is_behind: bool) -> float:
    if is_behind and has_cue(other.sentence.view, "limits_it", part=AGREEMENT):
        return 1.0
    if one.states is None or other.states is None:
        return EXPLAINS * explains(one.sentence, other.sentence, is_behind=is_behind)
    seen = reason_features(one.sentence, other.sentence, is_behind=is_behind)
    return likelihood("reason", seen, other.states, one.states)


def _taken_back(one: _Judged, before: _Judged | None, latest: Candidate | None) -> Candidate | None:
    """Return the candidate that a retraction replaces: the latest statement, if it names it (`scrap the buffer`), or if
    nothing else was said in between that it may mean (`scrap that`)."""
    text = one.sentence.text
    if latest is None or not is_retraction(one.sentence):
        return None
    rest = text[retraction_chars(one.sentence) :]
    if _NAMES_NOTHING.match(rest):
        is_meant = before is not None and _was_just_said(latest, before, one.assistant)
    else:
        is_meant = bool(content_words(rest) & content_words(latest.statement))
    if not is_meant:
        return None
    old, now = latest.text.partition("\n")[0], as_sentence(rest.strip(" ,.;:!…–—-"))
    score = LIKELY if latest.outright else min(latest.score, MOST_UNSURE)
    taken_back = f"No longer: {old} {now}".strip() + f"\n\n> {text}"
    return replace(_candidate(one, StatementKind.DECISION, score, taken_back, latest), reverses=Reversal("", now))


def _was_just_said(latest: Candidate, before: _Judged, assistant: str) -> bool:
    """Return whether the candidate is the last thing said: no question, suggestion or task, nor another proposal."""
    view = before.sentence.view
    if latest.offset != before.message.offset or has_cue(view, "hedge"):
        return False
    if latest.said != before.sentence.text and (is_vetoed(before.sentence) or is_task(view)):
        return False
    offers = any(one.is_question for one in assistant_sentences(assistant))
    return not offers or bool(content_words(assistant) & content_words(latest.statement))


def _corrected(one: _Judged, latest: Candidate | None, *, is_next: bool) -> Candidate | None:
    """Return the latest statement with the value that this sentence corrects. If it doesn't name the old value, the
    assistant's message between them must be about the statement, too, or about no other value."""
    if latest is None:
        return None
    is_here = one.message.offset == latest.offset
    is_about_it = is_here or content_words(one.assistant) & content_words(latest.statement)
    is_about_it = is_about_it or (is_next and one.place == 0 and not _ASKS_OR_COUNTS.search(one.assistant))
    found = corrected(one.sentence, latest.statement, names_old=not is_about_it)
    if not found and is_here and latest.instead_of and VALUE_FIRST.match(one.sentence.view):  # `and 401 not 400`
        found = f"{latest.statement} {_clean(one.sentence)}", latest.outright
    if not found:
        return None
    score = latest.score if found[1] else min(latest.score, MOST_UNSURE)
    return _candidate(one, latest.kind, score, f"{found[0]}\n\n> {one.sentence.text}", latest)


def _agreed(one: _Judged, reason: str) -> Candidate | None:
    if one.agreed is None:
        return None
    score = LIKELY if one.agreed.sure else LEANING
    text = f"{one.agreed.statement}\n\n{one.agreed.quote} {reason}".strip()
    return _candidate(one, StatementKind.DECISION, score, text, voice=Voice.AGREED)


def _stated(one: _Judged, reason: str, before: _Judged | None, *, reason_first: bool = False) -> Candidate | None:
    rule, view, kind = one.rule, one.sentence.view, _kind(one)
    is_asked_for = rule is not None and (one.states is None or rule.score >= REQUESTED)
    is_asked_for |= one.kept > 0 and has_cue(view, "cause", "taste", part=REVIEW)
    if not (one.once >= ONCE or one.kept >= PROPOSED or is_asked_for or kind is StatementKind.COMMITMENT):
        return None
    score = max(LIKELY if one.once >= ONCE else LEANING, rule.score if rule else 0.0)
    if kind is StatementKind.COMMITMENT:
        return _candidate(one, kind, score, one.sentence.text)
    opening = rule.prefix_chars if rule else 0
    text, quote = _clean(one.sentence, opening), ""
    follows = before is not None and before.can_be_meant and PRONOUN.match(view) is not None
    if before and follows:
        text, reason = f"{_clean(before.sentence)} {text}", "" if before.sentence.text == reason else reason
    answers = is_answer(one.sentence, one.assistant)
    is_about_it = answers and content_words(one.sentence.text) & content_words(one.answered)
    is_whole = is_about_it and stands_alone(view, is_explained=False)
    if one.leans and not one.repeats and not is_whole and (said := last_said(one.assistant)):
        quote = f"\n\n> Assistant: {said}\n> {one.sentence.text}"
    own = view[max(opening, opening_chars(one.sentence)) :]
    is_plain = rule is not None and not leaves_open(own)
    is_clear = is_plain or (not quote and stands_alone(own, is_explained=follows))
    if score < LIKELY or not is_clear or not one.is_typed or has_cue(lowered(reason), "limits_it", part=AGREEMENT):
        asks_to_last = rule is not None and rule.kind is StatementKind.PREFERENCE
        if not (asks_to_last or answers or is_worth_proposing(view)):
            return None
        least = max(LEANING, rule.score if rule else 0.0) if is_clear else UNCLEAR
        score = round(min(least + RANKED * one.kept, MOST_UNSURE), 2)
    order = [as_sentence(reason), text] if reason_first else [text, as_sentence(reason)]  # as you said it
    return _candidate(one, kind, score, " ".join(filter(None, order)) + quote, title=text)


def _kind(one: _Judged) -> StatementKind:
    label = _LABEL.match(one.sentence.view, opening_chars(one.sentence))
    ruled = StatementKind(label[0]) if label else one.rule and one.rule.kind
    if ruled and (label or ruled in {StatementKind.COMMITMENT, StatementKind.LESSON}):
        return ruled
    if one.personal or has_cue(one.sentence.view, "taste", part=REVIEW):
        return StatementKind.PREFERENCE
    if ruled and ruled is not StatementKind.PREFERENCE:
        return ruled
    is_decided = ruled or has_cue(one.sentence.view, "agreed", "change", "norm")
    return StatementKind.DECISION if is_decided else StatementKind.FACT


def _candidate(
    one: _Judged, kind: StatementKind, score: float, text: str, instead_of: Candidate | None = None,
    voice: Voice = Voice.SAID, title: str = "",
) -> Candidate:  # fmt: skip
    is_mine = one.is_typed and not (one.repeats and one.leans)
    said, title = one.sentence.text, make_title((title or text).partition("\n")[0])
    is_outright = score >= LIKELY and is_mine
    voice = voice if is_mine else Voice.UNSURE
    return Candidate.from_message(one.message, kind, text, score, is_outright, title, said, instead_of, voice)


def _clean(sentence: UserSentence, opening: int = 0) -> str:
    said = sentence.text[max(opening, opening_chars(sentence)) :]
    return as_sentence(said.rstrip(" ?") if sentence.is_question else said)
