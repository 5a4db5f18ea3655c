"""Summarizes with the sources' own sentences. No model, no network, deterministic.

A page states rules, then facts, each the newest first: whole sentences, which `SummarySource.statement` chooses.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from pathlib import Path
from typing import NamedTuple

from mcp_memory.errors import SummarizerUnavailable
from mcp_memory.runtime.health import give_way
from mcp_memory.summarizers.base import LlmReply, Prompt, StatementRank, Summary, SummaryRequest, SummarySource
from mcp_memory.summarizers.config import SummarizerConfig
from mcp_memory.summarizers.topic_labels import MOST_SENTENCES, READ_CHARS, title_of
from mcp_memory.text.language.sentences import bare_sentence, is_question, sentences
from mcp_memory.text.language.terms import content_words, coverage
from mcp_memory.text.tokens import CHARS_PER_TOKEN, truncate

NAME = "extractive"

LEAST_LINES, MOST_LINES = 2, 16
"""The fewest statements on a page, whatever the budget, and the most, which are read at a glance. The page links to the
other notes."""
MOST_QUESTIONS = 5
SETTLED, LEAST_SETTLED = 1 / 3, 2
"""The share and number of a question's telling words in a later source that settles the question."""


def open_extractive(config: SummarizerConfig, spent: Path) -> ExtractiveSummarizer:  # noqa: ARG001 -- a provider's signature
    return ExtractiveSummarizer()


class ExtractiveSummarizer:
    """Copies sentences. The same sources give the same summary, and every word comes from the sources."""

    name = NAME

    def summarize(self, request: SummaryRequest) -> Summary:
        """Summarize without ever raising: rules, facts, and others within the budget. The first statements are the
        gist. A plain list has a sentence or the title of each source."""
        title = title_of(request.sources, request.common, request.hint)
        said = [_said(source, title, is_page=bool(request.gist_sentences)) for source in request.sources]
        lines, left = list[str](), request.budget_tokens * CHARS_PER_TOKEN
        least = LEAST_LINES if request.gist_sentences else 0
        for at in sorted(range(len(said)), key=lambda at: (request.sources[at].rank, -at)):
            is_due = request.sources[at].rank is not StatementRank.OTHER or len(lines) < least
            is_repeated = any(content_words(said[at]) <= content_words(line) for line in lines)
            if said[at] and not is_repeated and len(lines) < MOST_LINES and (is_due or len(said[at]) + 3 <= left):
                lines.append(said[at])
                left -= len(said[at]) + 3
        if not lines and least == 0:
            lines = [cut for text in said[-1:] if (cut := truncate(text, request.budget_tokens - 1))]
        listed = "\n".join(f"- {line}" for line in lines[request.gist_sentences :])
        questions = [bare_sentence(question, title) for question in _open_questions(request)]
        return Summary(title, listed, NAME, "\n".join(lines[: request.gist_sentences]), questions[:MOST_QUESTIONS])

    def ask(self, prompt: Prompt) -> LlmReply:  # noqa: ARG002 -- the port's signature
        """Raises SummarizerUnavailable."""
        raise SummarizerUnavailable("no language model is configured", hint="see [summarizer] in the configuration")

    def asked_in_s(self) -> float:
        return inf

    def usage(self) -> None:
        return None

    def close(self) -> None:
        pass


def _said(source: SummarySource, title: str, *, is_page: bool) -> str:
    """Return what a summary says of the source; empty for a source that newer ones replace."""
    if is_page:
        return bare_sentence(source.statement, title) if source.statement and not source.is_overtaken else ""
    return next((sentence.text for sentence in sentences(source.text[:READ_CHARS])), source.title)


class _Sentence(NamedTuple):
    source: int
    text: str
    words: frozenset[str]


def _open_questions(request: SummaryRequest) -> Iterator[str]:
    """Yield the questions of the sources that no later source answers."""
    found = list[_Sentence]()
    for at, source in enumerate(request.sources):
        give_way()
        texts = (sentence.text for sentence in sentences(source.text[:READ_CHARS])[:MOST_SENTENCES])
        found += [_Sentence(at, text, content_words(text)) for text in texts]
    for one in found:
        if is_question(one.text) and not _is_settled(one, found):
            yield one.text


def _is_settled(question: _Sentence, found: list[_Sentence]) -> bool:
    """Return whether a later source has enough of the question's words, apart from words that most sources have."""
    count = len({one.source for one in found})
    rare = set[str]()
    for word in question.words:
        sources = {one.source for one in found if word in one.words}
        if len(sources) <= max(2, count // 2):
            rare.add(word)
    later = (one.words for one in found if one.source > question.source)
    return any(coverage(rare, words) >= SETTLED and len(rare & words) >= LEAST_SETTLED for words in later)
