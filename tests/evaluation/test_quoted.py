"""Which lines an answer of memory_recall shows."""

from __future__ import annotations

from mcp_memory.models import Etag, NoteId, NotePath, NoteRecord, NoteState
from mcp_memory.recall.answer import RecalledText
from mcp_memory.recall.context_budget import BudgetedText, TextFrame, fit, pack
from mcp_memory.recall.excerpts import Excerpt
from tests.support.passages import passages_of

FRAME = TextFrame("memory", "2026-11-21 12:00")
NOTE = NoteRecord(NotePath("a.md"), NoteId("a"), Etag("e"), "s", "Tea", "fact", NoteState.ACTIVE)


def test_every_line_of_every_excerpt_and_no_other() -> None:
    packed = pack([*passages_of("b/c d.md", "one\n\ntwo\r\nthree\n"), *passages_of("a.md", "# Tea\n\nsencha\n")], 9999)
    lines = RecalledText(FRAME, BudgetedText(tuple(packed))).lines
    assert lines == {("b/c d.md", 1), ("b/c d.md", 2), ("b/c d.md", 3), ("b/c d.md", 4), ("a.md", 3)}
    assert RecalledText(FRAME, BudgetedText(())).lines == set()


def test_a_line_that_was_cut_does_not_count() -> None:
    long = Excerpt(NOTE, 3, 5, f"short\n{'word ' * 200}\nlast")
    assert RecalledText(FRAME, fit([long], 300)).lines == {("a.md", 3)}
    only = RecalledText(FRAME, fit([Excerpt(NOTE, 3, 3, "word " * 200)], 300))
    assert ": word word" in only.text and only.lines == set()
