"""Makes a question from the notes that are there, and asks memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp_memory.cli.options import CommandContext
from mcp_memory.text.language.terms import fold, words
from mcp_memory.text.language.word_lists import GENERIC_WORDS, function_words
from mcp_memory.text.language.word_runs import runs

_TRIED = 8
"""Notes from which a question is made, until one is answered by its own note with this confidence."""
_CONFIDENT = 0.5

_TELLING = ("decision", "preference", "fix", "fact", "workflow", "lesson")
"""Kinds that answer a question best."""

_LISTS = ("README.md", "MEMORY.md", "_index.md")
"""The welcome note, and pages that list others."""

_SUBJECTS = frozenset({"i", "we", "you", "they", "user", "always", "never", "ich", "wir"})
"""A run of words after one of these is mostly a verb."""


def ask_first_question(cli: CommandContext) -> Mapping[str, Any] | None:
    """A question with the passage that answers it best (`text`), where that is, and how confident memory is. None if
    there is no note to make one from, or none was found by its question."""
    best: Mapping[str, Any] | None = None
    for note in _candidates(cli)[:_TRIED]:
        if (question := question_about(note["title"] or "")) is None:
            continue
        answer = cli.ask("search", query=question, limit=1)
        confidence = answer["confidence"]
        hit = next((hit for hit in answer["hits"] if hit["path"] == note["path"]), None)
        if hit and (best is None or confidence > best["confidence"]):
            where = {"path": hit["path"], "line": hit["start_line"]}
            best = {"question": question, "text": hit["snippet"], **where, "confidence": confidence}
        if best and best["confidence"] >= _CONFIDENT:
            break
    return best


def question_about(title: str) -> str | None:
    """`What did we say about uv and pip?` for `Always use uv instead of pip`; None if the title names nothing."""
    grammar = function_words(words(title)) | _SUBJECTS
    found = [
        " ".join(run.words)
        for run in runs(title, lambda word: word in grammar or fold(word) in GENERIC_WORDS)
        if run.before not in _SUBJECTS and any(c.isalpha() for word in run.words for c in word)
    ]
    return f"What did we say about {' and '.join(found[:2])}?" if found else None


def _candidates(cli: CommandContext) -> list[Mapping[str, Any]]:
    """Active notes of the vault that aren't private: the most telling kinds first, of each the newest first."""
    notes, page = list[Mapping[str, Any]](), cli.ask("export")
    while page["notes"]:
        notes += page["notes"]
        page = cli.ask("export", after=page["next"]) if page["next"] else {"notes": []}
    open_ones = [
        note
        for note in notes
        if note["shelf"] == "active"
        and not note["path"].endswith(_LISTS)
        and "private" not in {*note["tags"], *note["path"].split("/")}
    ]
    open_ones.sort(key=lambda note: note["created"] or "", reverse=True)
    return sorted(open_ones, key=lambda note: note["kind"] not in _TELLING)
