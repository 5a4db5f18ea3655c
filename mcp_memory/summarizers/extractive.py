"""Summarizes with the sources' own sentences. No model, no network, deterministic.

A page states rules, then facts, each the newest first: whole sentences, which `SummarySource.statement` chooses. Below
a statement follow the earlier ones that it changes, and with their days those that it may change: words don't say
reliably what still holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from mcp_memory.text.tokens import CHARS_PER_TOKEN

NAME = "extractive"

LEAST_LINES, MOST_LINES = 2, 16
"""The fewest statements on a page, whatever the budget, and the most, which are read at a glance. The page links to the
other notes."""
EARLIER = "  - earlier ("
"""The start of a line with a statement that the line above changes; its day follows."""
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
        gist."""
        title = title_of(request.sources, request.common, request.hint)
        said = [_said(source, title) for source in request.sources]
        newest = _newest(request.sources, said)
        chosen = _choose(request, said, newest)
        changing = {newest[at] for at in chosen if newest[at] != at}
        gist = [at for at in chosen if newest[at] not in changing][: request.gist_sentences]
        lines = list[str]()
        for at in chosen:
            if at not in gist:
                source = request.sources[at]
                begin = f"{EARLIER}{source.day}): " if source.is_changed else f"  - {source.day}: "
                lines.append(f"{'- ' if newest[at] == at else begin}{said[at]}")
        questions = [bare_sentence(question, title) for question in _open_questions(request)]
        return Summary(title, "\n".join(lines), NAME, "\n".join(said[at] for at in gist), questions[:MOST_QUESTIONS])

    def ask(self, prompt: Prompt) -> LlmReply:  # noqa: ARG002 -- the port's signature
        """Raises SummarizerUnavailable."""
        raise SummarizerUnavailable("no language model is configured", hint="see [summarizer] in the configuration")

    def asked_in_s(self) -> float:
        return inf

    def usage(self) -> None:
        return None

    def close(self) -> None:
        pass


def _choose(request: SummaryRequest, said: Sequence[str], newest: Sequence[int]) -> list[int]:
    """Return the sources to quote, in order: each below the newest source on the same matter, which has the best rank
    among them."""
    ranks = dict[int, StatementRank]()
    for source, at in zip(request.sources, newest, strict=True):
        ranks[at] = min(source.rank, ranks.get(at, source.rank))
    chosen, left = list[int](), request.budget_tokens * CHARS_PER_TOKEN
    for at in sorted(range(len(said)), key=lambda at: (ranks[newest[at]], -newest[at], -at)):
        is_due = ranks[newest[at]] is not StatementRank.OTHER or len(chosen) < LEAST_LINES
        is_repeated = any(content_words(said[at]) <= content_words(said[one]) for one in chosen)
        fits = len(chosen) < MOST_LINES and (is_due or len(said[at]) + 3 <= left)
        if said[at] and not is_repeated and fits and newest[at] in {at, *chosen}:
            chosen.append(at)
            left -= len(said[at]) + 3
    return chosen


def _newest(sources: Sequence[SummarySource], said: Sequence[str]) -> list[int]:
    """Return for each source the newest quoted source on the same matter; for most, themselves."""
    newest = list(range(len(said)))
    for at in reversed(range(len(said))):
        later = sources[at].newer
        if later is not None and said[newest[later]]:
            newest[at] = newest[later]
    return newest


def _said(source: SummarySource, title: str) -> str:
    """Return what a page says of the source; empty for a source that a newer one replaces, if none is known."""
    if not source.statement or (source.is_overtaken and source.newer is None):
        return ""
    return bare_sentence(source.statement, title)


class _Sentence(NamedTuple):
    source: int
    text: str
    words: frozenset[str]


def _open_questions(request: SummaryRequest) -> Iterator[str]:
    """Yield the questions of the sources that no later source answers."""
    found = list[_Sentence]()
    for at, source in enumerate(request.sources):
        give_way()
        read = sentences(source.text[:READ_CHARS])[:MOST_SENTENCES]
        found += [_Sentence(at, one.text, content_words(one.text)) for one in read]
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
