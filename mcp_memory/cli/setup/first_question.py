"""Makes a question from the stored notes, and asks memory."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from mcp_memory.cli.options import CommandContext
from mcp_memory.search.thresholds import UNSURE
from mcp_memory.text.instruction_files import are_orders
from mcp_memory.text.language.terms import fold, words
from mcp_memory.text.language.word_lists import GENERIC_WORDS, function_words
from mcp_memory.text.language.word_runs import runs

_TRIED = 6  # the number of notes from which a question is made
_TELLING = ("decision", "preference", "fix", "fact", "workflow", "lesson")  # kinds that answer a question best
_LISTS = ("README.md", "_index.md")  # pages that list others
_BEFORE_VERBS = "i we you they user always never to is are was were be been ich wir wird werden"
_SUBJECTS = frozenset(_BEFORE_VERBS.split())
"""The words after which a run of words mostly begins with a verb."""


def ask_first_question(cli: CommandContext) -> Mapping[str, Any] | None:
    """Return the question that its own note answers with the most confidence, with the passage (`text`) and its place;
    None if no note answers its question."""
    found = [answer for note in _candidates(cli)[:_TRIED] if (answer := _ask_about(cli, note))]
    return max(found, key=lambda answer: answer["confidence"], default=None)


def question_about(title: str) -> str | None:
    """Return a question: `What did we say about uv and pip?` for `Always use uv instead of pip`. Return None if the
    title names nothing."""
    grammar = function_words(words(title)) | _SUBJECTS
    found = [
        " ".join(run.words)
        for run in runs(title, lambda word: word in grammar or fold(word) in GENERIC_WORDS)
        if run.before not in _SUBJECTS and any(c.isalpha() for word in run.words for c in word)
    ]
    return f"What did we say about {' and '.join(found[:2])}?" if found else None


def _ask_about(cli: CommandContext, note: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if (question := question_about(note["title"] or "")) is None:
        return None
    answer = cli.ask("search", query=question, limit=1)
    found = {"question": question, "confidence": answer["confidence"]}
    for hit in answer["hits"]:
        if hit["path"] == note["path"] and answer["confidence"] >= UNSURE:
            return {**found, "text": hit["snippet"], "path": hit["path"], "line": hit["start_line"]}
    return None


def _candidates(cli: CommandContext) -> list[Mapping[str, Any]]:
    """Return active notes that are neither private nor instructions, the newest first. They have the kinds that answer
    a question best, if there are any."""
    newest = partial(cli.ask, "list", project="*", limit=50)
    return [
        note
        for note in newest(kinds=_TELLING)["notes"] or newest()["notes"]
        if not (note["private"] or are_orders(note["path"]) or note["path"].endswith(_LISTS))
    ]
