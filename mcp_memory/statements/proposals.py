"""Decides whether a sentence of an assistant is its own proposal, which a person may agree to, or its own promise, and
not text that the assistant quotes, reports or has read.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial

from mcp_memory.capture.readers.message import Transcript
from mcp_memory.statements.candidate import Candidate, StatementKind, Voice
from mcp_memory.statements.cues import PROPOSAL, has_cue, patterns
from mcp_memory.statements.statement_rules import ANY_TIME, TENTATIVE
from mcp_memory.statements.user_sentences import UserSentence, assistant_sentences
from mcp_memory.text.conversation.own_words import MASK
from mcp_memory.text.dates.due import duty_start, future_days, in_english
from mcp_memory.text.language import word_tables
from mcp_memory.text.language.terms import REPEATED, content_words, coverage

HasRead = Callable[[str], bool]
"""Returns whether the assistant has read a statement in its session."""

LEAST_REPEATED = 2
"""The minimum number of content words of a repetition; fewer words occur in any text."""
SHORT_QUESTION, LONG_QUESTION = 5, 12
QUOTED_WORDS, UNQUOTED_WORDS = 4, 3
"""The least words of a quotation, and the least content words of the sentence around it. A sentence with fewer words of
its own is a quotation. So is a sentence that proposes nothing, if less than half of its words are its own."""

_has = partial(word_tables.has_cue, "mcp_memory.statements", "promises.toml")
_SENTENCE_ENDS = re.compile(r"[.!?…]+(?=\s|$)|\n\s*\n|[\n|•]")


def is_own_proposal(said: Sequence[UserSentence], at: int) -> bool:
    """Return whether the sentence at this place of a message proposes something, on its own or with a question after
    it, such as `Is that fine?`. The questions `OK?`, `More?` and `Continue?` only ask for a go-ahead."""
    view, found = said[at].view, patterns(PROPOSAL)
    is_short = said[at].is_question and len(view.split()) <= SHORT_QUESTION
    asks_about_another = is_short and (found["approves"].search(view) or len(content_words(view)) < LEAST_REPEATED)
    if asks_about_another or found["passing"].search(view) or not is_own(said, at):
        return False
    if has_cue(view, "proposes", "asks", "intends", part=PROPOSAL):
        return True
    if said[at].is_question:
        return not (asks_how_it_is(said[at]) or found["goes_on"].search(view))
    return is_put_to_the_person(said, at)


def asks_how_it_is(sentence: UserSentence) -> bool:
    """Return whether a question asks for a fact, and not for approval: `Is she done?`."""
    found = patterns(PROPOSAL)
    is_status = sentence.is_question and found["status"].search(sentence.view) is not None
    return is_status and not found["approves"].search(sentence.view)


def is_put_to_the_person(said: Sequence[UserSentence], at: int) -> bool:
    """Return whether the next sentence asks for approval of this sentence: `Does that work for you?`."""
    found = patterns(PROPOSAL)
    asked = [one.view for one in said[at + 1 : at + 2] if one.is_question and one.view.count(" ") < LONG_QUESTION]
    return any(found["approves"].search(view) and not found["goes_on"].search(view) for view in asked)


def is_own(said: Sequence[UserSentence], at: int) -> bool:
    """Return whether the assistant speaks for itself in this sentence. After a report it does so if the sentence
    contains `I` or asks whether to do something."""
    sentence, found = said[at], patterns(PROPOSAL)
    if found["reports"].search(sentence.view) or _is_quotation(sentence):
        return False
    reports = any(found["reports"].search(one.view) or one.view.rstrip().endswith(":") for one in said[:at])
    return not reports or found["own_voice"].search(sentence.view) is not None


def repeats(statement: str, texts: Iterable[str]) -> bool:
    """Return whether a text contains the statement, in a sentence or across a line break."""
    words = content_words(statement)
    if len(words) < LEAST_REPEATED:
        return False
    longest, plain = max(words, key=len), " ".join(statement.casefold().split()).rstrip(" .!?")
    for text in texts:
        folded = text.casefold()
        if longest not in folded and plain[:12] not in folded:
            continue
        if plain in " ".join(folded.split()):
            return True
        parts = [*_SENTENCE_ENDS.split(text), *_SENTENCE_ENDS.split(" ".join(text.split()))]
        if any(coverage(words, content_words(part)) >= REPEATED for part in parts):
            return True
    return False


def find_promises(messages: Transcript) -> Iterator[Candidate]:
    """Yield the agent's promises for a day after their own."""
    for message in messages:
        said = assistant_sentences(message.text) if message.is_assistants else ()
        for place, sentence in enumerate(said):
            if is_own(said, place) and promises_later(sentence, message.at or ANY_TIME):
                yield Candidate.from_message(
                    message, StatementKind.COMMITMENT, sentence.text, TENTATIVE, False, voice=Voice.PROMISED
                )


def promises_later(sentence: UserSentence, at: datetime = ANY_TIME) -> bool:
    """Return whether a sentence of an agent promises an act for a later day. Most of its plans are for the next
    minute: `I'll run the tests`."""
    view = sentence.view[duty_start(sentence.view) :]
    if sentence.is_question or _has("unsure", sentence.view):
        return False
    plain = in_english(view)
    match, day = next(future_days(plain, at), (None, at))
    before = plain[: match.start()] if match else ""
    is_later = day.date() > at.date() and not _has("other_day", before)
    return is_later and (_has("act", view) or (_has("any_act", view) and _has("deadline", before)))


def _is_quotation(sentence: UserSentence) -> bool:
    masked = [sentence.text[run.start() : run.end()] for run in re.finditer(f"{MASK}+", sentence.view)]
    own = content_words(sentence.view.replace(MASK, " "))
    longest = max((len(quote.split()) for quote in masked), default=0)
    proposes = has_cue(sentence.view, "proposes", part=PROPOSAL)
    return longest >= QUOTED_WORDS and (len(own) < UNQUOTED_WORDS or (not proposes and len(own) < longest))
