"""Cleans up a language model's answer for use as a summary, or rejects it. Pure.

A model may return nothing, an error page, a refusal, far too much text, or text that an instruction in a note asked
for. Faulty formatting (a fence around everything, headings, a greeting) is removed. Any other flaw rejects the answer,
and the extractive summary is used.
"""

import re
from enum import StrEnum
from itertools import takewhile

from mcp_memory.summarizers.base import LEAST_TITLE_WORDS, MOST_TITLE_CHARS, MOST_TITLE_WORDS, LlmReply, Prompt, Summary
from mcp_memory.text.escape_invisible import visible
from mcp_memory.text.language.terms import content_words, coverage, words
from mcp_memory.text.markdown.blocks import scan
from mcp_memory.text.tokens import count_tokens

LEAST_SHARED = 0.2
"""The minimum share of an answer's meaningful words that come from its sources. Even abstractive summaries take two
thirds of all their words from the text (Narayan et al. 2018, "Don't Give Me the Details, Just the Summary!", table 2).
A refusal, an error page or an answer to something else shares almost none, in any language."""
LEAST_CHARS = 3
MOST_NAME_WORDS = 6
"""The most words in the name of a topic; the prompt asks for five."""


class AnswerFlaw(StrEnum):
    """The reason why an answer can't be used; follows the model's name in a sentence."""

    EMPTY = "answered with nothing"
    TOO_LONG = "answered with more than asked for, twice"
    HTML = "answered with HTML"
    REFUSED = "refused"
    MARKED = "repeated the marks around the notes"
    ASTRAY = "added a link that is in no note"
    UNRELATED = "answered with something unrelated to the notes"


def judge(reply: LlmReply, prompt: Prompt, by: str) -> Summary | AnswerFlaw:
    """Return the answer as a summary by this model, without a title if the answer has no suitable one."""
    title, body = _split(_without_wrapping(reply.text))
    labels: dict[int, str] = {}
    if prompt.is_page:
        labels = {int(found["number"]) - 1: found["label"] for found in _SOURCE.finditer(body)}
        body = _SOURCE.sub("", body)
    text = _without_headings(body).strip()
    has_text = sum(c.isalnum() for c in text) >= LEAST_CHARS
    whole = "\n".join([title, text, *labels.values()])
    flaw = _flaw(whole, prompt) if has_text else AnswerFlaw.EMPTY
    if reply.cut and flaw in {None, AnswerFlaw.EMPTY}:
        return AnswerFlaw.TOO_LONG
    if flaw:
        return flaw
    if _REFUSAL.match(text):
        return AnswerFlaw.REFUSED
    known = content_words(prompt.material)
    if coverage(content_words(text), known) < LEAST_SHARED:
        return AnswerFlaw.UNRELATED
    if count_tokens(text) > prompt.budget_tokens:
        return AnswerFlaw.TOO_LONG
    title = title if _is_title(title, prompt) and coverage(content_words(title), known) >= LEAST_SHARED else ""
    if not prompt.is_page:
        return Summary(title, text, by)
    lines = [line.strip() for line in text.split("\n")]
    gist = list(takewhile(lambda line: not _ITEM.match(line), lines))
    questions = [found[1] for line in lines if (found := _OPEN.match(line))]
    rest = [line for line in lines[len(gist) :] if not _OPEN.match(line)]
    fitting = {
        source: label
        for source, label in labels.items()
        if len(label.split()) <= MOST_TITLE_WORDS and coverage(content_words(label), known) >= LEAST_SHARED
    }
    return Summary(title, "\n".join(rest).strip(), by, "\n".join(filter(None, gist)), questions, fitting)


def _flaw(answer: str, prompt: Prompt) -> AnswerFlaw | None:
    if prompt.mark in answer:
        return AnswerFlaw.MARKED
    material = prompt.material.lower()
    if any(tag[0].lower() not in material for tag in _TAG.finditer(_CODE.sub("", answer))):
        return AnswerFlaw.HTML
    links = [link.rstrip(".,;:!?*_`") for pattern in (_ADDRESS, _TARGET) for link in pattern.findall(answer)]
    if any(link not in prompt.material for link in links):
        return AnswerFlaw.ASTRAY
    return None


def _without_wrapping(text: str) -> str:
    """Remove wrappings that terminals, reasoning models and polite models put around an answer."""
    plain = visible(_TERMINAL.sub("", text.removeprefix("\ufeff"))).strip()
    plain = _THINKING.sub("", plain, count=1).strip()
    blocks = list(scan(plain))
    if len(blocks) != 1 or blocks[0].kind != "fence":
        return plain
    return "\n".join(plain.split("\n")[1 : None if blocks[0].unclosed_fence else -1]).strip()


def _split(text: str) -> tuple[str, str]:
    """Return title and body; drop a greeting before the title."""
    lines = text.split("\n")
    for place in [place for place, line in enumerate(lines) if line.strip()][:_MOST_LINES_TO_TITLE]:
        if stated := _TITLE.fullmatch(lines[place]):
            return " ".join(stated["title"].strip(_TITLE_MARKS).split()), "\n".join(lines[place + 1 :])
    return "", text


def _without_headings(text: str) -> str:
    """Turn headings into bold lines, and remove rules, which would turn the line above into a heading."""
    pieces: list[str] = []
    done = 0
    for block in scan(text):
        if block.kind in {"heading", "rule"}:
            words_of_it = block.title.strip("*_ \t")
            pieces += [text[done : block.start], f"\n**{words_of_it}**\n" if words_of_it else ""]
            done = block.end
    return _GAPS.sub("\n\n", "".join([*pieces, text[done:]]))


def _is_title(title: str, prompt: Prompt) -> bool:
    """Return whether the title is short enough. `words` counts pairs of characters in scripts without spaces, such as
    Chinese."""
    least, most = (1, MOST_NAME_WORDS) if prompt.is_page else (LEAST_TITLE_WORDS, MOST_TITLE_WORDS)
    fits = len(words(title)) >= least and len(title.split()) <= most
    return fits and len(title) <= MOST_TITLE_CHARS


_MOST_LINES_TO_TITLE = 3
_SOURCE = re.compile(r"^[ \t]*(?:[-*][ \t]+)?\[(?P<number>[0-9]{1,4})\][ \t]*(?P<label>\S[^\n]*?)[ \t]*$", re.MULTILINE)
_ITEM = re.compile(r"[-*+] ")
_OPEN = re.compile(r"[-*+] Open: (.+)")
_TITLE = re.compile(r"[\s#*_>-]*title[*_]*\s*[:：](?P<title>.*)", re.IGNORECASE)
_TITLE_MARKS = " \t*_#`\"'“”‘’."
_TERMINAL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_THINKING = re.compile(r"\A\s*<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_GAPS = re.compile(r"\n{3,}")
_CODE = re.compile(r"`[^`\n]*`")
_TAG = re.compile(
    r"<!--|</?(?:html|head|body|script|style|iframe|img|svg|object|embed|form|input|meta|link|div|span|table|br|hr|p|a)"
    r"(?=[\s/>])",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"https?://[^\s<>()\[\]\"'`]+")
_TARGET = re.compile(r"\]\(\s*<?([^)\s>]+)")
_REFUSAL = re.compile(
    r"(?:i['’]?m|i am|we are) (?:very |so |really )?(?:sorry|unable|not able|afraid)\b"
    r"|i (?:can['’]?t|cannot|can not|won['’]?t|will not) (?:help|assist|comply|summari[sz]e|provide|fulfil|process)\b"
    r"|(?:sorry|apologies|my apologies|unfortunately)\b|as an ai\b|as a language model\b"
    r"|i (?:do not|don['’]?t) (?:have|see) (?:access|enough|any)\b"
    r"|(?:please|could you(?: please)?|can you) (?:provide|share|paste|send)\b",
    re.IGNORECASE,
)
