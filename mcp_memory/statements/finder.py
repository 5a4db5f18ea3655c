"""Finds your statements in a session: by the rules, by the classifier, and by your agreements and retractions."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mcp_memory.capture.readers.message import TranscriptMessage
from mcp_memory.statements.agreements import (
    Agreement,
    Offer,
    agreed_to,
    agreement,
    answered_question,
    choice,
    is_mere_agreement,
    is_retraction,
    last_said,
    last_sentences,
    leans_on_it,
    offer,
    offer_features,
)
from mcp_memory.statements.candidate import Candidate, StatementKind, Voice, make_title
from mcp_memory.statements.classifier import (
    LEANS_ON_IT,
    ONCE,
    PERSONAL,
    PROPOSED,
    SentenceModel,
    States,
    answered_states,
    in_context,
    likelihood,
    likelihoods,
    own_states,
)
from mcp_memory.statements.cues import features, has_cue, is_joke, is_vetoed
from mcp_memory.statements.language import is_personal
from mcp_memory.statements.proposals import HasRead
from mcp_memory.statements.reasons import EXPLAINS, PLAINLY, explains, reason_features
from mcp_memory.statements.spoken import SpokenSentence, spoken_sentences
from mcp_memory.statements.statement_rules import Statement, classify, opening_chars
from mcp_memory.statements.user_sentences import UserSentence
from mcp_memory.text.language.clauses import capitalized
from mcp_memory.text.language.terms import content_words

LIKELY, LEANING = 0.88, 0.45
"""The scores of sentences that the classifier accepts, or proposes."""
_PRONOUN = re.compile(r"(?:and |und |et |y )?(?:he|she|they|it|er|sie|il(?! faut| y a)|elle|ils|elles|él|ella|ellos)\b")
_BARE = re.compile(r"(?:\W*\w+\W+){0,4}(?:that|it|this|das|es|ça|ce|eso|said)\W*", re.IGNORECASE)

_THAT = re.compile(r"\b(?:that|it|this|das|es|ça|cela|eso|lo)\s*[,.;:!–—-]")
"""Matches a retracted `it` or `that` without another noun: `scrap it, we …`, not `drop that column`."""


@dataclass(frozen=True, slots=True)
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
        outright = self.rule is not None and self.rule.outright and not is_joke(self.sentence)
        return outright or (self.rule is not None and self.rule.kind is StatementKind.COMMITMENT)

    @property
    def is_statement(self) -> bool:
        return self.is_ruled or self.once >= ONCE

    @property
    def can_be_meant(self) -> bool:
        """Return whether a pronoun in the next sentence may refer to something in this sentence."""
        return not is_vetoed(self.sentence) and not has_cue(self.sentence.view, "hedge", "reaction")


def find_statements(
    messages: Sequence[TranscriptMessage], model: SentenceModel | None, has_read: HasRead
) -> Iterator[Candidate]:
    """Yield the statements in order. `has_read` prevents agreement to text that the assistant only repeats."""
    spoken = _judged(list(spoken_sentences(messages)), model, has_read)
    latest: Candidate | None = None
    reasons = _reasons(spoken)
    explaining = {*reasons.values()}
    for number, one in enumerate(spoken):
        if number in explaining:
            continue
        why = spoken[reasons[number]].sentence.text if number in reasons else ""
        before = spoken[number - 1] if -1 in one.beside else None
        if found := _taken_back(one, latest) or _agreed(one, why) or _stated(one, why, before):
            latest = found
            yield found


def _judged(spoken: Sequence[SpokenSentence], model: SentenceModel | None, has_read: HasRead) -> list[_Judged]:
    offers = [offer(one.sentence, one.assistant) if one.assistant else None for one in spoken]
    offered_texts = [made.sentence.text for made in offers if made]
    states = in_context(spoken, model.states) if model else None
    adapted = model.states_in_context(spoken) if model and states is not None else None
    offered_states = model.states(offered_texts) if model and offered_texts else None
    of_offers = iter(() if offered_states is None else offered_states)
    found: list[_Judged] = []
    for number, (one, made) in enumerate(zip(spoken, offers, strict=True)):
        around, rule = states[number] if states is not None else None, classify(one.sentence)
        own = own_states(around) if around is not None else None
        offered = next(of_offers, None) if made else None
        once = kept = 0.0
        personal = rule is not None and is_personal(rule.kind, one.sentence.text)
        leans = leans_on_it(one)
        agreed: Agreement | None = None
        if not is_vetoed(one.sentence):
            seen = features(one, rule.score if rule else 0.0)
            once, kept = likelihoods(one.sentence, seen, around, adapted[number] if adapted is not None else None)
            if own is not None and around is not None:
                personal = likelihood("person", [*seen, float(personal)], own, view=one.sentence.view) >= PERSONAL
                if one.answered:
                    leans = likelihood("leans", [*seen, float(leans)], own, answered_states(around)) >= LEANS_ON_IT
            elif rule is None:
                view = one.sentence.view
                personal = has_cue(view, "prefer") and has_cue(view, "i", "you", "about_me")
            agreed = _agreement(one, made, own, offered)
            says_more = agreed is not None and not agreed.sure and once >= ONCE
            if agreed and (says_more or has_read(agreed.offered)):
                agreed = None
        place = (one.message, one.sentence, one.assistant, one.place, one.said)
        repeats = leans and any(has_read(said) for said in last_sentences(one.assistant))
        found.append(_Judged(*place, rule, once, kept, personal, leans, agreed, repeats, own))
    return found


def _agreement(one: SpokenSentence, made: Offer | None, own: States | None, offered: States | None) -> Agreement | None:
    hedges = has_cue(one.sentence.view, "hedge") and not is_mere_agreement(one.sentence)  # `me parece bien`
    if not one.assistant or hedges:
        return None
    if picked := choice(one.sentence, one.assistant):
        return picked
    by_rule = agreement(one.sentence, one.assistant)
    if made is None or own is None or offered is None:
        return by_rule
    likely = likelihood("agreement", offer_features(one.sentence, made, by_rule), own, offered)
    return agreed_to(one.sentence, made, likely, by_rule)


def _reasons(spoken: Sequence[_Judged]) -> dict[int, int]:
    """Map statements to the neighbours that best explain them. A neighbour that is a statement itself must explain
    plainly; a sentence with a reason is never a reason."""
    likely: list[tuple[float, int, int]] = []
    for number, one in enumerate(spoken):
        for step in reversed(one.beside):
            at, other = number + step, spoken[number + step]
            if _takes_reason(one) and _may_explain(other, one):
                share = _likely_reason(one, other, is_behind=step > 0)
                is_apart = other.is_statement or other.sentence.line != one.sentence.line
                if share >= (PLAINLY if is_apart else EXPLAINS):
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
    """Return whether a sentence may be a reason: neither a question nor an equally important statement of its own."""
    if other.is_ruled or other.sentence.is_question or is_retraction(other.sentence) or other.agreed:
        return False
    return not other.is_statement or other.once < one.once


def _likely_reason(one: _Judged, other: _Judged, *, is_behind: bool) -> float:
    if one.states is None or other.states is None:
        return EXPLAINS * explains(one.sentence, other.sentence, is_behind=is_behind)
    seen = reason_features(one.sentence, other.sentence, is_behind=is_behind)
    return likelihood("reason", seen, other.states, one.states)


def _taken_back(one: _Judged, latest: Candidate | None) -> Candidate | None:
    """Return the candidate that `Scrap that` retracts: the latest statement."""
    text = one.sentence.text
    if latest is None or not is_retraction(one.sentence):
        return None
    is_bare = _BARE.fullmatch(text) is not None
    names_it = is_bare or _THAT.search(one.sentence.view)
    if not names_it and not content_words(text) & content_words(latest.text):
        return None
    old = latest.text.partition("\n")[0]
    statement = f"No longer: {old}" if is_bare else f"{_clean(one.sentence)} Instead of: {old}"
    return _candidate(one, StatementKind.DECISION, LIKELY, f"{statement}\n\n> {text}", latest)


def _agreed(one: _Judged, reason: str) -> Candidate | None:
    if one.agreed is None:
        return None
    score = LIKELY if one.agreed.sure else LEANING
    text = f"{one.agreed.statement}\n\n{one.agreed.quote} {reason}".strip()
    return _candidate(one, StatementKind.DECISION, score, text, voice=Voice.AGREED)


def _stated(one: _Judged, reason: str, before: _Judged | None) -> Candidate | None:
    rule, view = one.rule, one.sentence.view
    if is_mere_agreement(one.sentence):
        return None
    if rule and one.is_ruled:
        kind, score = _kind(one), rule.score
    elif one.once >= ONCE:
        kind, score = _kind(one), LIKELY
    elif one.kept >= PROPOSED or (rule and one.kept):
        kind, score = _kind(one), max(LEANING, rule.score if rule else 0.0)
    else:
        return None
    if kind is StatementKind.COMMITMENT:
        return _candidate(one, kind, score, one.sentence.text)
    text = _clean(one.sentence, rule.prefix_chars if rule else 0)
    if before and before.can_be_meant and _PRONOUN.match(view):
        text, reason = f"{_clean(before.sentence)} {text}", "" if before.sentence.text == reason else reason
    quote = ""
    if one.leans:
        if (question := answered_question(one.sentence, one.assistant)) and not one.repeats:
            text = f"{question} {text}"
        elif (said := last_said(one.assistant)) and not one.repeats:
            quote = f"\n\n> Assistant: {said}\n> {one.sentence.text}"
    return _candidate(one, kind, score, f"{text} {_sentence(reason)}".strip() + quote)


def _kind(one: _Judged) -> StatementKind:
    ruled = one.rule.kind if one.rule else None
    if ruled is StatementKind.COMMITMENT or ruled is StatementKind.LESSON:
        return ruled
    if one.personal:
        return StatementKind.PREFERENCE
    if ruled and ruled is not StatementKind.PREFERENCE:
        return ruled
    is_decided = ruled or has_cue(one.sentence.view, "agreed", "change", "norm")
    return StatementKind.DECISION if is_decided else StatementKind.FACT


def _candidate(
    one: _Judged, kind: StatementKind, score: float, text: str, instead_of: Candidate | None = None,
    voice: Voice = Voice.SAID,
) -> Candidate:  # fmt: skip
    is_mine = one.is_typed and not (one.repeats and one.leans)
    said, title = one.sentence.text, make_title(text.partition("\n")[0])
    is_outright = score >= LIKELY and is_mine
    voice = voice if is_mine else Voice.UNSURE
    return Candidate.from_message(one.message, kind, text, score, is_outright, title, said, instead_of, voice)


def _clean(sentence: UserSentence, opening: int = 0) -> str:
    return _sentence(sentence.text[max(opening, opening_chars(sentence)) :])


def _sentence(text: str) -> str:
    """Add a capital letter and a full stop."""
    plain = capitalized(" ".join(text.split()))
    return f"{plain}." if plain and (plain[-1].isalnum() or plain[-1] in "`\"')") else plain
