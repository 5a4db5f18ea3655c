"""Resolves agreements: to a proposal of the assistant, or to its question that you answer in a few words."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log1p

from mcp_memory.statements.cues import AGREEMENT, PROPOSAL, has_cue, patterns
from mcp_memory.statements.proposals import (
    asks_for_a_go_ahead,
    is_own,
    is_own_proposal,
    is_put_to_the_person,
)
from mcp_memory.statements.spoken import SpokenSentence
from mcp_memory.statements.user_sentences import UserSentence, assistant_sentences
from mcp_memory.text.language.clauses import capitalized
from mcp_memory.text.language.terms import content_words

MOST_SENTENCES = 4
"""The number of sentences at the end of an answer that may contain a proposal."""
MOST_WORDS = 12
"""The most words of an agreement; a longer agreement is a statement of its own."""
MOST_ANSWER_WORDS = 14
MOST_ASKING_WORDS = 5
"""The most words of a question about the sentence before it: "Is that fine?"."""
MOST_PICK_WORDS = 8
LEAST_CONTENT_WORDS = 4
LEAST_ASKED = 2
"""The minimum number of content words in a question that a bare yes can answer: "Shall I use SQLite for the cache?",
not "Soll der weg?"."""
_BUT = re.compile(r"\b(?:but|except|aber|außer|mais|sauf|pero|salvo)\b.*[^\s.!]", re.IGNORECASE)
"""Matches a condition or change that you add to your agreement."""
ANTECEDENT = 2
"""The number of last sentences that may name the referent of `it` or `the one`."""

AGREED, LEANS = 0.5, 0.3
"""The likelihoods from which you agreed, or perhaps agreed."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """An agreement. `sure`: you explicitly repeat the proposal; a bare yes may only mean to go on."""

    statement: str
    quote: str
    sure: bool
    offered: str
    """The assistant's sentence."""
    plain: bool = False
    """The sentence is phrased as a proposal, not as the assistant's next step, so only the rules decide."""


@dataclass(frozen=True, slots=True)
class Offer:
    """The sentence that a short answer may agree to: the last sentence, or the sentence before a short question about
    it."""

    sentence: UserSentence
    is_asked_about: bool
    context: str


def offer(sentence: UserSentence, assistant: str) -> Offer | None:
    said = assistant_sentences(assistant)
    if sentence.is_question or len(sentence.view.split()) > MOST_ANSWER_WORDS or not said:
        return None
    asks = _asks_about_the_last(said)
    at = len(said) - (2 if asks else 1)
    if not is_own_proposal(said, at):
        return None
    return Offer(said[at], asks, _context(said))


def _asks_about_the_last(said: Sequence[UserSentence]) -> bool:
    return len(said) > 1 and said[-1].is_question and len(said[-1].view.split()) <= MOST_ASKING_WORDS


def offer_features(sentence: UserSentence, made: Offer, by_rule: Agreement | None) -> list[float]:
    """Compute the classifier's features of an offer, in addition to the two sentences."""
    words = len(made.sentence.view.split())
    return [
        float(made.is_asked_about), float(made.sentence.is_question), log1p(len(sentence.view.split())), words / 20,
        float(by_rule is not None), float(by_rule is not None and by_rule.sure),
    ]  # fmt: skip


def agreed_to(sentence: UserSentence, made: Offer, likely: float, by_rule: Agreement | None) -> Agreement | None:
    if by_rule and by_rule.sure and by_rule.plain:
        return by_rule
    if likely < LEANS or patterns(AGREEMENT)["refuses"].match(sentence.view):
        return None
    return _taken_up(sentence, made.sentence, made.context, sure=likely >= AGREED)


def agreement(sentence: UserSentence, assistant: str) -> Agreement | None:
    """Return the statement that a sentence explicitly agrees to, given the message that it answers; None without an
    agreement."""
    view, found = sentence.view, patterns(AGREEMENT)
    if sentence.is_question or len(view.split()) > MOST_WORDS:
        return None
    manner = found["manner"].match(view)
    said = assistant_sentences(assistant)
    last = range(max(0, len(said) - MOST_SENTENCES), len(said))
    proposals = [at for at in last if is_own_proposal(said, at) and not found["chore"].search(said[at].view)]
    if not proposals or found["refuses"].match(view):
        return None
    points_back = len(proposals) > 1 and found["points_back"].search(said[proposals[-1]].view)
    at = proposals[-2 if points_back else -1]
    proposal, is_asked_for = said[at], is_put_to_the_person(said, at)
    words = content_words(sentence.text)
    repeats = words & content_words(proposal.text)
    if not manner and not found["yes"].match(view) and not (words and repeats == words and len(view.split()) < 4):
        return None
    is_plain = found["plainly"].search(proposal.view) is not None
    is_question = proposal.is_question and patterns(PROPOSAL)["asks"].match(proposal.view) is not None
    asks = is_asked_for or is_question or (is_plain and said[-1].is_question)
    is_asked = asks and len(content_words(proposal.text)) >= LEAST_ASKED and not found["at_once"].search(proposal.view)
    if not manner and not repeats and not is_plain and not is_asked:
        return None
    found_sure = bool(manner or repeats or is_asked)
    taken_up = _taken_up(sentence, proposal, proposal.text, sure=found_sure)
    is_joint = found["jointly"].search(proposal.view) and (proposal.is_question or is_asked_for)
    return taken_up and replace(taken_up, plain=bool(is_plain or is_joint))


def _taken_up(sentence: UserSentence, proposal: UserSentence, context: str, *, sure: bool) -> Agreement | None:
    lead = patterns(AGREEMENT)["lead"].match(proposal.view)
    statement = proposal.text[lead.end() if lead else 0 :].strip(" ¿?.!…")
    if not content_words(statement):
        return None
    statement += f", {but[0]}" if (but := _BUT.search(sentence.text)) else ""
    quote = f"> Assistant: {context}\n> {sentence.text}"
    return Agreement(f"{capitalized(statement)}.", quote, sure, proposal.text)


def choice(sentence: UserSentence, assistant: str) -> Agreement | None:
    """Return the option of the assistant that a short answer picks, by number or by name."""
    head, found = re.split(r"[,;.:]", sentence.view)[0], patterns(AGREEMENT)
    if sentence.is_question or len(head.split()) > MOST_PICK_WORDS:
        return None
    every = assistant_sentences(assistant)
    for at in range(len(every) - 1, max(-1, len(every) - 1 - MOST_SENTENCES), -1):
        said = every[at]
        if not is_own(every, at):
            continue
        listed = found["listed"].split(said.text)[1:]
        offered = listed if len(listed) > 1 else found["either"].split(said.text)
        if len(offered) < 2 or found["order"].search(said.view):
            continue
        named = content_words(found["picks"].sub(" ", head))
        by_name = [one for one in offered if named and named <= content_words(one)]
        by_number = [one for one, name in zip(offered, ("first", "second", "third"), strict=False)
                     if found[name].search(head)]  # fmt: skip
        if len(picked := by_name or by_number) != 1:
            continue
        statement = picked[0].strip(" ,;?.!")
        lead = found["lead"].match(statement.lower())
        statement = f"{said.text} {sentence.text}" if said.is_question else statement[lead.end() if lead else 0 :]
        quote = f"> Assistant: {said.text}\n> {sentence.text}"
        return Agreement(f"{capitalized(statement).rstrip('.')}.", quote, True, said.text)
    return None


def last_said(assistant: str) -> str:
    """Return the sentences that name the referents of your sentence; empty if the assistant only reports them."""
    said = assistant_sentences(assistant)
    last = range(max(0, len(said) - ANTECEDENT), len(said))
    return " ".join(said[at].text for at in last) if all(is_own(said, at) for at in last) else ""


def last_sentences(assistant: str) -> list[str]:
    """Return the last sentences of a message, which a short answer may be about."""
    return [one.text for one in assistant_sentences(assistant)[-ANTECEDENT:]]


def _context(said: Sequence[UserSentence]) -> str:
    """Return the sentences before the end of a message that give context, without reported ones."""
    last = range(max(0, len(said) - ANTECEDENT - 1), len(said))
    return " ".join(said[at].text for at in last if is_own(said, at))


def leans_on_it(one: SpokenSentence) -> bool:
    """Return, by rule, whether a sentence is unclear without the message that it answers: it contains `it`, `that` or
    `the one`, is short, or answers a question in a few words."""
    if not one.assistant:
        return False
    is_short = len(content_words(one.sentence.text)) < LEAST_CONTENT_WORDS
    points = patterns(AGREEMENT)["points"].match(one.sentence.view) is not None
    return is_short or points or answered_question(one.sentence, one.assistant) is not None


def answered_question(sentence: UserSentence, assistant: str) -> str | None:
    """Return the question that makes a short answer clear; None if the answer is a whole sentence."""
    is_whole = has_cue(sentence.view, "stative", "relation", "change")
    if is_whole or sentence.is_question or len(sentence.view.split()) > MOST_ANSWER_WORDS:
        return None
    said = assistant_sentences(assistant)
    if not said or not said[-1].is_question or asks_for_a_go_ahead(said[-1]) or not is_own(said, len(said) - 1):
        return None
    is_short = len(said[-1].view.split()) <= MOST_ASKING_WORDS // 2
    if is_short and not (len(said) > 1 and is_own(said, len(said) - 2)):
        return None
    return " ".join(one.text for one in said[-2 if is_short else -1 :])


def is_mere_agreement(sentence: UserSentence) -> bool:
    """Return whether a sentence is only a yes."""
    found = [patterns(AGREEMENT)[name].match(sentence.view) for name in ("manner", "yes")]
    return any(match and not content_words(sentence.text[match.end() :]) for match in found)


def is_retraction(sentence: UserSentence) -> bool:
    return not sentence.is_question and patterns(AGREEMENT)["retracts"].match(sentence.view) is not None
