"""Resolves agreements: to a proposal of the assistant, or to its question that you answer in a few words."""

import re
from dataclasses import dataclass

from mcp_memory.statements.cues import AGREEMENT, LEAST_TERMS, PROPOSAL, has_cue, is_limited, patterns
from mcp_memory.statements.proposals import (
    asks_how_it_is,
    is_own,
    is_own_proposal,
    is_put_to_the_person,
    promises_later,
)
from mcp_memory.statements.spoken import SpokenSentence
from mcp_memory.statements.user_sentences import UserSentence, assistant_sentences
from mcp_memory.text.conversation.own_words import lowered
from mcp_memory.text.language.denials import denies
from mcp_memory.text.language.sentences import capitalized
from mcp_memory.text.language.terms import content_words, telling_words

MOST_SENTENCES = 4
"""The number of sentences at the end of an answer that may contain a proposal."""
MOST_WORDS = 12
"""The most words of an agreement; a longer agreement is a statement of its own."""
MOST_ANSWER_WORDS = 14
MOST_PICK_WORDS = 8
LEAST_CONTENT_WORDS = 4
LEAST_ASKED = 2
"""The minimum number of content words in a question that a bare yes can answer: "Shall I use SQLite for the cache?",
not "Soll der weg?"."""
_BUT = re.compile(r"\b(?:but|except|aber|außer|mais|sauf|pero|salvo)\b.*[^\s.!]", re.IGNORECASE)
"""Matches a condition or change that you add to your agreement."""
_ORDINALS, _MARKS = ("first", "second", "third"), " ,;¿?.!…"
_BREAK = re.compile(r"(?<!^ok)(?<!^yes)(?<!^ja)(?<!^oui)(?<!^s[ií])(?<!^vale)[,;.:]")
"""Matches the end of the first clause of an answer."""
ANTECEDENT = 2
"""The number of last sentences that may name the referent of `it` or `the one`."""


@dataclass(frozen=True)
class Agreement:
    """An agreement. `sure`: you explicitly repeat the proposal; a bare yes may only mean to go on."""

    statement: str
    quote: str
    sure: bool
    offered: str
    """The assistant's sentence."""


def find_agreement(one: SpokenSentence) -> Agreement | None:
    """Return what a sentence agrees to or picks; None for a doubt."""
    view, text = one.sentence.view, one.sentence.text
    agreed = [patterns(AGREEMENT)[name].match(view) for name in ("manner", "yes")]
    is_mere = any(match and not content_words(text[match.end() :]) for match in agreed)  # `me parece bien`
    if not one.assistant or (has_cue(view, "hedge") and not is_mere):
        return None
    return choice(one.sentence, one.assistant) or agreement(one.sentence, one.assistant)


def agreement(sentence: UserSentence, assistant: str) -> Agreement | None:
    """Return the statement that a sentence explicitly agrees to, given the message that it answers; None without an
    agreement."""
    view, found = sentence.view, patterns(AGREEMENT)
    if sentence.is_question or len(view.split()) > MOST_WORDS:
        return None
    manner = found["manner"].match(view)
    said = assistant_sentences(assistant)
    last = [at for at in range(max(0, len(said) - MOST_SENTENCES), len(said)) if not promises_later(said[at])]
    proposals = [at for at in last if is_own_proposal(said, at) and not found["chore"].search(said[at].view)]
    if not proposals or found["refuses"].match(view) or asks_how_it_is(said[-1]):
        return None
    points_back = len(proposals) > 1 and found["points_back"].search(said[proposals[-1]].view)
    at = proposals[-2 if points_back else -1]
    proposal = said[at]
    if asks_how_it_is(proposal) or (denies(view) and not denies(proposal.view)):
        return None
    words = content_words(sentence.text)
    repeats = words & content_words(proposal.text)
    if not manner and not found["yes"].match(view) and not (words and repeats == words and len(view.split()) < 4):
        return None
    is_plain = found["plainly"].search(proposal.view)
    is_question = proposal.is_question and patterns(PROPOSAL)["asks"].match(proposal.view)
    asks = is_put_to_the_person(said, at) or is_question or (is_plain and said[-1].is_question)
    is_asked = asks and len(content_words(proposal.text)) >= LEAST_ASKED and not found["at_once"].search(proposal.view)
    if not (manner or repeats or is_plain or is_asked):
        return None
    but = _BUT.search(sentence.text)
    statement = f"{proposal.text.rstrip(_MARKS)}, {but[0]}" if but else proposal.text
    return _taken_up(sentence, proposal, statement, sure=not but and bool(manner or repeats or is_asked))


def _taken_up(sentence: UserSentence, proposal: UserSentence, statement: str, *, sure: bool) -> Agreement | None:
    """Return what was agreed to. A statement that leans on its context, or is half a question, isn't `sure`."""
    found = patterns(AGREEMENT)
    lead = found["lead"].match(lowered(statement))
    statement = statement[lead.end() if lead else 0 :].strip(_MARKS)
    if not content_words(statement) or proposal.text.endswith(":"):
        return None
    is_open = found["inverted"].match(lowered(statement)) or found["either"].search(proposal.text)
    if proposal.is_question and is_open:
        statement = f"{proposal.text} {capitalized(sentence.text.rstrip(_MARKS))}"
    sure = sure and not found["dangling"].search(lowered(statement))
    quote = f"> Assistant: {proposal.text}\n> {sentence.text}"
    return Agreement(f"{capitalized(statement)}.", quote, sure, proposal.text)


def choice(sentence: UserSentence, assistant: str) -> Agreement | None:
    """Return the option of the assistant that a short answer picks, by number or by name."""
    head, found = _BREAK.split(sentence.view)[0], patterns(AGREEMENT)
    if sentence.is_question or len(head.split()) > MOST_PICK_WORDS or denies(head) or _BUT.search(head):
        return None
    rest = found["picks"].sub(" ", head).strip(" ().,")
    every = assistant_sentences(assistant)
    for at in range(len(every) - 1, max(-1, len(every) - 1 - MOST_SENTENCES), -1):
        said = every[at]
        if not is_own(every, at):
            continue
        listed = found["listed"].split(said.text)  # each item after its label
        labels, offered = listed[1::2], listed[2::2]
        if len(offered) < 2:
            labels, offered = [], found["either"].split(said.text)
        numbered = [one for one, label in zip(offered, labels, strict=False) if label == rest or f"{label})" in head]
        numbered += [one for one, name in zip(offered, _ORDINALS, strict=False) if found[name].search(head)]
        named = content_words(rest) - {*labels}
        picked = [one for one in numbered or offered if named <= content_words(one)]
        if len(offered) < 2 or len(picked) != 1:
            continue
        if found["yours"].match(lowered(picked[0])):
            return None
        statement = f"{said.text} {sentence.text}" if said.is_question else picked[0]
        return _taken_up(sentence, said, statement, sure=len(telling_words(picked[0])) >= LEAST_TERMS)
    return None


def last_said(assistant: str) -> str:
    """Return the sentences that name the referents of your sentence; empty if the assistant only reports them."""
    said = assistant_sentences(assistant)
    are_own = all(is_own(said, at) for at in range(max(0, len(said) - ANTECEDENT), len(said)))
    return " ".join(last_sentences(assistant)) if are_own else ""


def last_sentences(assistant: str) -> list[str]:
    """Return the last sentences of a message, which a short answer may be about."""
    return [one.text for one in assistant_sentences(assistant)[-ANTECEDENT:]]


def leans_on_it(one: SpokenSentence) -> bool:
    """Return, by rule, whether a sentence is unclear without the message that it answers: it contains `it`, `that` or
    `the one`, is short, or answers a question in a few words."""
    if not one.assistant:
        return False
    is_short = len(content_words(one.sentence.text)) < LEAST_CONTENT_WORDS
    points = patterns(AGREEMENT)["points"].match(one.sentence.view)
    return is_short or points is not None or is_answer(one.sentence, one.assistant)


def is_answer(sentence: UserSentence, assistant: str) -> bool:
    """Return whether a sentence answers a question in a few words that aren't a whole sentence."""
    if has_cue(sentence.view, "stative", "relation", "change") or len(sentence.view.split()) > MOST_ANSWER_WORDS:
        return False
    said, goes_on = assistant_sentences(assistant), patterns(PROPOSAL)["goes_on"]
    return bool(said) and said[-1].is_question and not goes_on.search(said[-1].view) and is_own(said, len(said) - 1)


def is_retraction(sentence: UserSentence) -> bool:
    is_unsure = sentence.is_question or has_cue(sentence.view, "hedge") or is_limited(sentence.view)
    return not is_unsure and retraction_chars(sentence) > 0


def retraction_chars(sentence: UserSentence) -> int:
    """Return the length of the words at the beginning that retract something: `no, scrap that`."""
    retracts = patterns(AGREEMENT)["retracts"].match(sentence.view)
    return retracts.end() if retracts else 0
