"""Quotes your messages of a session, and what each of them answers. Pure."""

import re
from collections.abc import Iterator, Sequence
from functools import partial

from mcp_memory.capture.readers.message import Transcript, TranscriptMessage
from mcp_memory.statements.cues import is_not_to_be_kept
from mcp_memory.statements.user_sentences import UserSentence, user_sentences
from mcp_memory.text.language.sentences import sentences
from mcp_memory.text.language.word_tables import has_cue

MOST_ASKED, MOST_LEAD = 30, 12
"""The most words of a quoted question, and of the words before and after options."""
LEAST_OPTION = 4
"""The minimum number of words that an option keeps."""

_has = partial(has_cue, "mcp_memory.summaries", "cues.toml")
_OPTION = re.compile(
    r"^[ \t]*(?:[-*+•] +)?[*_]*\(?([0-9]{1,2}|[A-Za-z])(?:[.):][*_]*|[*_]+:?)\s+(?=\S)"
    r"|^ *\|[ *]*([0-9]{1,2}|[A-Z])[ |*]*\s+(?=\S)"
    r"|(?<!\S)[*_]*\(?([1-9]|[A-Ha-h])\)[*_]*\s+(?=\S)",
    re.MULTILINE,
)
"""Matches the label of an option: in a list, in a table, or within a sentence."""
_CODE = re.compile(r"^[ \t]*```.*?(?:^[ \t]*```|\Z)", re.MULTILINE | re.DOTALL)


def replies(messages: Transcript) -> Iterator[tuple[TranscriptMessage, list[UserSentence], str]]:
    """Yield each of your messages, its sentences without chat and without text that may be pasted, and the assistant's
    message before it; empty if the message before is yours."""
    answered = ""
    for message in messages:
        if message.is_persons:
            said = [
                one
                for one in user_sentences(message.text)
                if not (one.may_be_pasted or is_not_to_be_kept(one) or _has("chat", one.view.strip()))
            ]
            if said:
                yield message, said, answered
            answered = ""
        elif message.is_assistants:
            answered = message.text


def words_of(message: str, kept: Sequence[UserSentence]) -> str:
    """Return sentences of a message as one text, with the numbers of list items."""
    found, at = list[str](), 0
    for sentence in kept:
        said = re.compile(rf"(?:^ *[0-9]{{1,3}}[.)] +)?{re.escape(sentence.text)}", re.MULTILINE).search(message, at)
        at = said.end() if said else at
        found.append(said[0] if said else sentence.text)
    return " ".join(" ".join(found).split())


def quote(answered: str, most: int) -> str:
    """Return the end of a message in at most about `most` words: its options, or else its last question."""
    plain = _CODE.sub("", answered)
    labels = list(_OPTION.finditer(plain))
    if len(labels) > 1:
        found = _options(plain, labels, most)
    else:
        said = [one.text for one in sentences(plain)]
        asked = max((at for at, text in enumerate(said, 1) if text.endswith("?")), default=0)
        after = cut(" ".join(said[asked:]), min(MOST_LEAD, most // 3)) if asked else ""
        found = f"{_tail(said[:asked] or said, min(MOST_ASKED, most - len(after.split())))} {after}"
    return " ".join(found.replace("**", "").split())


def _options(text: str, labels: Sequence[re.Match[str]], most: int) -> str:
    """Return the options of a message with their labels, and the words before and after them."""
    listed, beside, after = list[str](), min(MOST_LEAD, most // 4), ""
    for label, end in zip(labels, [*(label.start() for label in labels[1:]), len(text)], strict=True):
        option, _, after = text[label.end() : end].partition("\n")
        words = cut(option.strip(" ,;.|"), max(LEAST_OPTION, (most - 2 * beside) // len(labels)))
        listed.append(f"{label[label.lastindex or 0]}: {words}")
    before = _tail([one.text for one in sentences(text[: labels[0].start()])], beside)
    return f"{before} {'; '.join(listed)}. {cut(after, beside)}"


def cut(text: str, most: int) -> str:
    """Return the first words of a text."""
    words = text.split()
    return " ".join(words if len(words) <= most else [*words[:most], "…"])


def _tail(said: Sequence[str], most: int) -> str:
    """Return the last sentences that have room, or else the end of the last sentence."""
    found = list[str]()
    for sentence in reversed(said):
        words = sentence.split()
        if found and len(found) + len(words) > most:
            break
        found = [*words, *found]
    return " ".join(found if len(found) <= most else ["…", *found[len(found) - most :]])
