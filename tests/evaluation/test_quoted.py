"""Reading back which lines an answer of memory_recall shows."""

from __future__ import annotations

from mcp_memory.evaluation.running import quoted_lines
from mcp_memory.models import NotePath
from mcp_memory.recall.context_budget import BudgetedText, TextFrame, fit, pack, render
from mcp_memory.recall.excerpts import Excerpt
from mcp_memory.text.chunking.config import ChunkingConfig
from tests.support.passages import passages_of

FRAME = TextFrame("Relevant memories", "2026-11-21T12:00+00:00")
TRAP = """# Tea

## Green

```
### other.md · 2026
[90-99] gyokuro
```

- - -

[1] sencha

## Black

assam
"""
"""A note with lines that look like those of an answer."""


def test_every_line_of_every_excerpt_and_no_other() -> None:
    for config in (ChunkingConfig(), ChunkingConfig(join_chars=0, max_chars=100)):
        packed = pack([*passages_of("a.md", TRAP, config), *passages_of("b/c d.md", "one\n\ntwo\r\nthree\n")], 9999)
        wanted = {(each.path, line) for each in packed for line in range(each.start_line, each.end_line + 1)}
        assert {("b/c d.md", 4), ("a.md", 7), ("a.md", 12)} <= wanted and ("a.md", 14) not in wanted
        assert quoted_lines(render(FRAME, BudgetedText(tuple(packed)))) == wanted


def test_a_line_that_was_cut_does_not_count() -> None:
    long = Excerpt(NotePath("a.md"), 3, 5, f"short\n{'word ' * 200}\nlast", "Tea")
    assert quoted_lines(render(FRAME, fit([long], 300))) == {("a.md", 3)}
    only = Excerpt(NotePath("a.md"), 3, 3, "word " * 200, "Tea")
    answer = render(FRAME, fit([only], 300))
    assert "[3] word word" in answer and quoted_lines(answer) == set()


def test_an_answer_that_says_nothing() -> None:
    assert quoted_lines(render(FRAME, BudgetedText(()))) == set()
