"""Finds the words of a session that support a statement: the person's own, or the agent's that the person agreed to.
Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from mcp_memory.capture.readers.message import Transcript, TranscriptMessage
from mcp_memory.statements.candidate import Voice
from mcp_memory.statements.cues import AGREEMENT, PROPOSAL, patterns
from mcp_memory.statements.user_sentences import UserSentence, assistant_sentences, user_sentences
from mcp_memory.text.conversation.own_words import INLINE_CODE, MASK, lowered, own_words, pasted_from, pasted_words
from mcp_memory.text.conversation.relayed_words import relays
from mcp_memory.text.escape_invisible import visible
from mcp_memory.text.language.denials import denies
from mcp_memory.text.language.terms import content_words, coverage
from mcp_memory.text.language.word_tables import read_cues
from mcp_memory.text.markdown.inline_text import is_harmless

LEAST_QUOTE_CHARS, MOST_QUOTE_CHARS, MOST_QUOTES = 4, 600, 5
_PUNCTUATION = '.,;:!?¿¡…()"“”«»-–•*+'
WORDS = read_cues("mcp_memory.extraction.reading", "words.toml")
_PLACEHOLDER = re.compile(
    r"(?<![\w`<>/])[\w./=-]*(?:[./_=-]<[a-z][\w-]*>|<[a-z][\w-]*>[./_=-])[\w./<>=-]*(?<![.])"
    r"|(?<= )<[A-Z][a-z]\w*>"
)
"""Matches a name with a place to fill in, such as `forecast_<group>_<date>`, or a component such as `<Teleport>`, which
is code in Markdown."""
LEAST_UNQUOTED = 0.5
"""The least share of a quotation's content words that the person didn't put in quotation marks."""


@dataclass(frozen=True)
class Quotations:
    """Quotations and the messages that they stand in; the first message is the person's. `around`: the sentences with
    the quotations, without pasted text unless the person adopts it. `voice`: UNSURE if they perhaps only ask or
    repeat something."""

    quotes: tuple[str, ...]
    messages: tuple[TranscriptMessage, ...]
    voice: Voice
    around: str

    @property
    def is_certain(self) -> bool:
        return self.voice is not Voice.UNSURE

    @property
    def text(self) -> str:
        return "\n> ".join(self.quotes)


@dataclass(frozen=True)
class _PersonsMessage:
    message: TranscriptMessage

    @cached_property
    def text(self) -> str:
        return self.message.text.replace("\r\n", "\n").replace("\r", "\n")

    @cached_property
    def own(self) -> str:
        return own_words(self.text)

    @cached_property
    def sentences(self) -> Sequence[UserSentence]:
        return user_sentences(self.text)

    def sentences_with(self, quote: str) -> Sequence[UserSentence]:
        return _sentences_with(quote, self.sentences)

    def states(self, quote: str) -> bool:
        """Return whether the quotation is made of the person's statements: none of its sentences is a question or
        perhaps pasted, and most of it isn't quoted."""
        return _are_statements(quote, self.sentences_with(quote))

    def adopts(self, quote: str, agreed: str) -> Voice | None:
        """Return AGREED if the words `agreed`, typed outside of pasted texts, take up a quotation from one: they say
        yes, that it lasts, or accept a thing in it. UNSURE if they give it as background, accept another thing, or may
        belong to the pasted text; None for other words, questions and refusals."""
        typed = assistant_sentences(self.own[: pasted_from(self.text, self.own)])  # they may name the other author
        found = _sentences_with(agreed, typed)
        says_yes = any(_says_yes(one.view) or patterns(PROPOSAL)["lasting"].search(one.view) for one in found)
        is_background = any(WORDS["for_information"].search(one.view) for one in found)
        if not (says_yes or is_background) or any(one.is_question or denies(one.view) for one in found):
            return None
        doubtful = {one.text for one in self.sentences if not _is_typed(one) and not relays(one.view)}
        view = lowered(agreed)
        names_nothing = WORDS["obeys"].search(view) or not WORDS["accepts"].search(view)
        is_about_it = names_nothing or content_words(agreed) & content_words(quote)
        is_sure = says_yes and is_about_it and doubtful.isdisjoint(one.text for one in found)
        return Voice.AGREED if is_sure else Voice.UNSURE


class SessionWords:
    """The words of a part of a session. A quotation must stand in a message at or after the offset `fresh_from`; those
    before it were read with an earlier part."""

    def __init__(self, messages: Transcript, fresh_from: int) -> None:
        self.messages = messages
        self.fresh_from = fresh_from
        self._persons = [_PersonsMessage(message) for message in messages if message.is_persons]
        self._agents = "\n".join(message.text for message in messages if message.is_assistants)
        self.said = "\n".join([*(one.own for one in self._persons), self._agents])
        """What the person and the agent said, without pasted texts and the output of tools."""

    def find(self, quotes: Sequence[str], agreed: str) -> Quotations | None:
        """Find all quotations, at least one. They must be the person's own words, beside which the agent's are left
        out unless the person agreed to them. A single one may also be from a text that the person pasted and adopts, or
        the agent's words if the person agreed to them right after it. Without an agreement, pasted words support only
        what was said elsewhere, too."""
        if not all(map(_is_quotable, (*quotes, f"{quotes[0]} ({agreed})"))):
            return None
        agents = [quote for quote in quotes if _has(self._agents, quote) and not self._persons_quote(quote)]
        quotes = [quote for quote in quotes if quote not in agents] or [agents.pop(0)]
        accepted = [one for quote in agents if (one := self._agents_quote(quote, agreed))]
        found = [(one, one.sentences_with(quote)) for quote in quotes if (one := self._persons_quote(quote))]
        is_certain = len(found) == len(quotes) and all(map(_are_statements, quotes, (one for _, one in found)))
        if len(quotes) == 1 and not is_certain:
            other = self._adopted_quote(quotes[0], agreed)
            if other or not found:
                return other or self._agents_quote(quotes[0], agreed)
        if len(found) < len(quotes):
            return None
        if not is_certain and self._persons_quote(agreed):
            quotes = [*quotes[:-1], f"{quotes[-1]} ({agreed})"]
        messages = (*(one.message for one, _ in found), *(message for one in accepted for message in one.messages))
        around = "\n".join(sentence.text for _, sentences in found for sentence in sentences)
        said = (quote for one in accepted for quote in one.quotes)
        return Quotations((*quotes, *said), messages, Voice.SAID if is_certain else Voice.UNSURE, around)

    def places(self, quote: str) -> Sequence[int]:
        """Return the places of the messages in which the person or the agent states a quotation."""
        return [
            at
            for at, one in enumerate(self.messages)
            if _is_quotable(quote)
            and (_has(one.text, quote) if one.is_assistants else one.is_persons and _PersonsMessage(one).states(quote))
        ]

    def before(self, message: TranscriptMessage) -> str:
        """Return the text of a message and of the two before it."""
        place = self.messages.index(message)
        return "\n".join(one.text for one in self.messages[max(0, place - 2) : place + 1])

    def _persons_quote(self, quote: str) -> _PersonsMessage | None:
        fresh = (one for one in self._persons if one.message.offset >= self.fresh_from)
        quoted = (one for one in fresh if _has(one.text, quote, one.sentences))
        return min(quoted, key=lambda one: not one.states(quote), default=None)

    def _adopted_quote(self, quote: str, agreed: str) -> Quotations | None:
        """Find a quotation in a pasted text that the person adopts, in the same message or in the next one."""
        for place, one in enumerate(self._persons):
            is_quoted = _has(pasted_words(one.text), quote) or (_has(one.text, quote) and not one.sentences_with(quote))
            for answer in self._persons[place : place + 2] if is_quoted else ():
                voice = answer.adopts(quote, agreed)
                if voice and answer.message.offset >= self.fresh_from:
                    text = f"{quote} ({agreed})"
                    return Quotations((text,), (answer.message, one.message), voice, text)
        return None

    def _agents_quote(self, quote: str, agreed: str) -> Quotations | None:
        for place, message in enumerate(self.messages):
            if not message.is_assistants or not _has(message.text, quote):
                continue
            after = next((one for one in self.messages[place + 1 :] if one.is_persons), None)
            if after and after.offset >= self.fresh_from and _agrees(_PersonsMessage(after), agreed, quote):
                text = f"{quote} ({agreed})"
                return Quotations((text,), (after, message), Voice.AGREED, text)
        return None


def _is_quotable(quote: str) -> bool:
    return LEAST_QUOTE_CHARS <= len(plain(quote)) <= MOST_QUOTE_CHARS and is_harmless(quote)


def _sentences_with(quote: str, sentences: Sequence[UserSentence]) -> Sequence[UserSentence]:
    """Return the sentences that a quotation is made of, unless most of it is in quotation marks."""
    wanted = _words(WORDS["listed"].sub("", quote))
    own = [(word, sentence) for sentence in sentences for word in _words(sentence.text)]
    found: list[list[UserSentence]] = []
    for at in range(len(own) - len(wanted) + 1):
        if wanted and [word for word, _ in own[at : at + len(wanted)]] == wanted:
            touched = list(dict.fromkeys(sentence for _, sentence in own[at : at + len(wanted)]))
            unquoted = [part for one in touched for part in (one.unquoted, *INLINE_CODE.findall(one.text))]
            if coverage(content_words(quote), content_words(" ".join(unquoted).replace(MASK, " "))) >= LEAST_UNQUOTED:
                found.append(touched)
    return max(found, key=lambda one: _are_statements(quote, one), default=())


def _are_statements(quote: str, sentences: Sequence[UserSentence]) -> bool:
    text = plain(" ".join(one.text for one in sentences))
    return bool(sentences) and all(
        _is_typed(one) and not (one.is_question and (one is not sentences[-1] or _is_asked(quote, one, text)))
        for one in sentences
    )


def _is_typed(one: UserSentence) -> bool:
    """Return whether the person typed a sentence. Below a quotation, it must answer or be about the quotation's author:
    otherwise it may go on with it."""
    answers = one.is_below_quotation and (_answers(one.view) or WORDS["about_somebody"].search(one.view))
    return not one.may_be_pasted or one.is_likely_typed or bool(answers)


def _answers(view: str) -> bool:
    yes = patterns(AGREEMENT)["yes"]
    return bool(yes.match(view) or yes.match(view.rpartition(", ")[2]) or WORDS["accepts"].search(view))


def _is_asked(quote: str, question: UserSentence, text: str) -> bool:
    """Return whether a question asks what a quotation that ends in it says, rather than going on to ask for something.
    `text`: the quotation's sentences."""
    _, _, rest = text.partition(plain(quote))
    asks = (patterns(PROPOSAL)[name].match(question.view) for name in ("asks", "status", "which"))
    return any(asks) or not WORDS["goes_on_to_ask"].match(rest)


def _agrees(answer: _PersonsMessage, agreed: str, quote: str) -> bool:
    """Return whether the sentences with the words `agreed` accept what the agent said, by a yes or by repeating it. No
    other sentence of the answer may refuse it or set a condition."""
    if not plain(agreed) or not answer.states(agreed):
        return False
    limited = [one for one in answer.sentences_with(agreed) if WORDS["condition"].search(one.view)]
    if any(patterns(AGREEMENT)["refuses"].match(one.view) for one in answer.sentences if one not in limited):
        return False
    says_yes = any(_says_yes(one.view) for one in answer.sentences)
    return says_yes or bool(content_words(agreed) & content_words(quote))


def _says_yes(view: str) -> bool:
    view = WORDS["numbered"].sub("", view)  # 1-3 yes
    return bool(_answers(view) or patterns(AGREEMENT)["manner"].match(view))


def _has(text: str, quote: str, sentences: Sequence[UserSentence] = ()) -> bool:
    """Return whether a text has a quotation. A single word must be one of the sentences: any text has common words."""
    words = _words(quote)
    is_whole = len(words) > 1 or words in [_words(sentence.text) for sentence in sentences]
    return is_whole and plain(quote) in plain(text)


def plain(text: str) -> str:
    """Return a text as quotations are compared: in lower case, without emphasis, with single spaces."""
    return " ".join(lowered(text).replace("*", "").replace("`", "").split()).strip(' ."“”')


def in_one_line(text: str) -> str:
    return _PLACEHOLDER.sub(r"`\g<0>`", " ".join(visible(text).split()))


def _words(text: str) -> list[str]:
    bare = (word.strip(_PUNCTUATION) for word in plain(text).split())
    return [word for word in bare if word]


def subject_in(given: str, said: str) -> str:
    """Return a subject of at most four words that were said; empty for any other."""
    is_short = re.fullmatch(r"[^\W_]+(?:[ -]\w+){0,3}", given)
    return given if is_short and content_words(given) <= content_words(said) else ""
