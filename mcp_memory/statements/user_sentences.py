"""Extracts from a message the sentences that are its author's own words.

If in doubt, a sentence is skipped, since the user's words are stored without review.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from mcp_memory.statements.language import matches
from mcp_memory.text.conversation.own_words import MASK, handed_from, masked, own_words, pasted_from
from mcp_memory.text.conversation.relayed_words import asks_whether_it_is_true, foreign_until, relays

MAX_CHARS = 4000
"""The most characters of a typed message; nothing of a longer message is stored without review."""
MAX_READ_CHARS = 20_000
"""The most characters read; the rest is a pasted page or log."""
MAX_SENTENCE_CHARS = 600


@dataclass(frozen=True)
class UserSentence:
    """A sentence. `text` is verbatim; `view` has the same length, in lower case, with quotations and code masked.
    `may_be_pasted`: the sentence follows the apparent start of a page, or is in a line that relays another person's
    words. `is_likely_typed`: only because of a heading, a colon, or relayed words that end before it.
    `is_below_quotation`: only because of a quotation that another line introduces. `line` is the index of its line
    among your own lines of the message."""

    text: str
    view: str
    is_question: bool
    may_be_pasted: bool = False
    line: int = 0
    is_likely_typed: bool = False
    is_below_quotation: bool = False

    @property
    def unquoted(self) -> str:
        """The text with quotations and code masked."""
        return "".join(MASK if masked == MASK else c for c, masked in zip(self.text, self.view, strict=True))


def user_sentences(message: str) -> Sequence[UserSentence]:
    """Return the sentences of a user's message in order, up to a line that introduces another author's words."""
    return _own_sentences(message, partial(matches, "introduces"))


@lru_cache(maxsize=8)
def assistant_sentences(message: str) -> Sequence[UserSentence]:
    """Return the sentences of an assistant's message in order."""
    return _own_sentences(message, lambda _: False)


def _own_sentences(message: str, stops_at: Callable[[str], bool]) -> Sequence[UserSentence]:
    message = message[:MAX_READ_CHARS].replace("\r\n", "\n").replace("\r", "\n")
    kept = own_words(message)
    view = masked(kept)
    pasted_at, handed_at = pasted_from(message, kept), handed_from(message, kept)
    found: list[UserSentence] = []
    above: int | None = None
    relayed_to = foreign_to = 0
    quoted_at = len(message)
    for start, end in _sentences(view, kept):
        seen = view[start:end]
        seen = "k".ljust(len(seen)) if _THUMBS.fullmatch(seen) else seen
        if stops_at(seen):
            if message[end:].lstrip().startswith(">"):
                # The text below the quotation may be yours, or the other author's.
                pasted_at = handed_at = quoted_at = min(pasted_at, end)
                continue
            # A quotation in this sentence is masked already; the words after its colon aren't the user's either.
            break
        if relays(seen):
            relayed_to = kept.find("\n", start) if "\n" in kept[start:] else len(kept)
            foreign_to = foreign_until(seen, start, end, relayed_to)
        sentence = kept[start:end]
        text, begin = sentence.strip(), len(sentence) - len(sentence.lstrip())
        if len(text) <= MAX_SENTENCE_CHARS and any(c.isalnum() for c in seen):
            is_question = seen.rstrip(" \"'”’)*_").endswith("?")
            text_view = seen[begin : begin + len(text)]  # use the text's bounds: a quotation may begin with spaces
            line = message.count("\n", 0, start + begin)
            above = line if above is None else above
            may_be_pasted = start >= pasted_at or start < relayed_to
            likely = foreign_to <= start < handed_at, max(foreign_to, quoted_at) <= start and quoted_at == handed_at
            found.append(UserSentence(text, text_view, is_question, may_be_pasted, line - above, *likely))
    return _without_certainty(found)


def _without_certainty(found: list[UserSentence]) -> list[UserSentence]:
    """Treat sentences as perhaps pasted if their line goes on to ask whether they are true."""
    asked = {one.line: at for at, one in enumerate(found) if one.is_question and asks_whether_it_is_true(one.view)}
    doubted = partial(replace, may_be_pasted=True, is_likely_typed=False, is_below_quotation=False)
    return [doubted(one) if at < asked.get(one.line, 0) else one for at, one in enumerate(found)]


def _sentences(view: str, text: str) -> Iterator[tuple[int, int]]:
    for line in re.finditer(r"[^\n]+", view):
        marker = _MARKER.match(line[0])
        begin = line.start() + (marker.end() if marker else 0)
        found = _END.finditer(view, begin, line.end())
        ends = {end.end() for end in found if not _ORDINAL.search(text, max(begin, end.start() - 9), end.end() + 2)}
        ends |= {end.end() for end in _QUOTED_END.finditer(text, begin, line.end()) if view[end.end() - 1] == MASK}
        for end in sorted(ends):
            yield begin, end
            begin = end
        if begin < line.end():
            yield begin, line.end()


_MARKER = re.compile(r"\s*(?:[-*+•]\s+(?:\[[ xX]\]\s+)?|[0-9]{1,3}[.)]\s+)?")
_END = re.compile(
    r"(?<!\b[^\W\d_])(?<!\b(?:dr|mr|ms|st|nr|vs|ca|sr))(?<!\b(?:mrs|mme|sra|dra|dña|pág|núm|ggf|bzw))"
    r"(?<!\b(?:feb|apr|aug|sep|okt|oct|nov|dez|dec|déc|dic))(?<!\b(?:prof|incl|inkl|evtl|srta|avda))"
    r"(?<![.!?…])(?!\.\.|…)[.!?…]+[\"'”’)\]*_▪]*(?=\s)(?!\s+[a-z]{1,3}\.)"
    r"(?!(?<=\d\.)\s+(?:(?:januar|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember)\b"
    r"|(?:jan|feb|apr|aug|sept?|okt|nov|dez)\.))"
    r"(?!(?<=\.\d\.\))|(?<=\.\d\d\.\)))"
)
"""Matches the end of a sentence, except after an abbreviation or a single letter, within a date or after its brackets:
Prof. Li, z. B., 1. Mai, (bis 5.12.). `...` may not end a sentence."""
_THUMBS = re.compile(
    r"\s*(?:[👍👌✅🆗🙌💯🫡🤝][\U0001f3fb-\U0001f3ff\ufe0f]?\s*){1,5}"
    r"(?:thanks|thank you|thx|danke|merci|gracias)?[.!]*\s*"
)
_ORDINAL = re.compile(
    r"(?:\b(?i:am|vom|zum|bis|ab|den|der|dem|seit|nr\.?|no\.|núm\.) |\d\.)\d{1,2}\. [a-zäöü]$"
    r"|\b(?i:im|die|das|beim) \d{1,2}\. \w$"
)
"""Matches a German day or ordinal within a sentence: `am 11. an Bo`, `vom 21.12. bis 4.1.`, `im 2. Stock`, `Nr. 1.
vom Maler`."""
_QUOTED_END = re.compile(r"[.!?…][\"”“»«](?=\s+[A-ZÄÖÜÉÀ¿¡])")
"""Matches the end of a quotation that ends a sentence, too."""
