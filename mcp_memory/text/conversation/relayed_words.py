"""Recognizes sentences that relay another person's words, in English, German, French and Spanish. Pure."""

from mcp_memory.text.language.word_tables import read_cues

_WORDS = read_cues("mcp_memory.text.conversation", "relayed_words.toml")


def relays(view: str) -> bool:
    """Return whether a sentence, as `masked` shows it, relays another person's words: `Bob just messaged me: …`."""
    head = _WORDS["head"].match(view)
    is_others = head and (_WORDS["relays"].search(head[0]) or _WORDS["source"].search(head[0]))
    if head and is_others and not _WORDS["says_itself"].search(head[0]):
        return True
    if _WORDS["chat_line"].match(view) or _WORDS["says_so_afterwards"].search(view):
        return True
    return _WORDS["relays_plainly"].match(view) is not None and not _WORDS["says_itself"].match(view)


def asks_whether_it_is_true(view: str) -> bool:
    """Return whether a question is about the truth of the text before it: `Is that right?`."""
    return _WORDS["is_it_true"].search(view) is not None


def foreign_until(view: str, start: int, end: int, line_end: int) -> int:
    """Return the place up to which a line perhaps consists of another's words, which it begins to relay at `start`. It
    is `end` for reported speech. It is `start` for words in quotation marks, a call, or the person's own decision."""
    is_report = not _WORDS["opens_speech"].search(view)
    if _WORDS["quotes"].search(view) or _WORDS["called"].search(view) or (is_report and _WORDS["decides"].search(view)):
        return start
    return end if is_report else line_end
