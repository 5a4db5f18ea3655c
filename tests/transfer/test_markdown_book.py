"""A book reads from its beginning: topics as their tree goes, headings below headings, links that lead to chapters."""

from __future__ import annotations

from mcp_memory.transfer.formats.markdown_book import Chapter, chapters, ordered

TEXTS = {
    "memory/2026-11-20.md": "## 10:00 Deploy\n\nDone.\n",
    "notes/fact/a.md": "---\ntitle: The oven\n---\n# The oven\n\nSee [bread](../../topics/01-bread/b.md#crust).\n",
    "topics/01-bread/01-rye/c.md": "Rye.\n",
    "topics/01-bread/_summary.md": "# Bread\n\nAll of it.\n",
    "topics/01-bread/b.md": "# Crust\n\n```\n# no heading\n```\n",
    "mine.md": "Mine, with [a page](https://example.org).\n",
    "MEMORY.md": "Be brief.\n",
}


def test_a_book() -> None:
    inside = ordered(TEXTS, "")
    assert inside == [
        "MEMORY.md",
        "topics/01-bread/_summary.md",
        "topics/01-bread/b.md",
        "topics/01-bread/01-rye/c.md",
        "notes/fact/a.md",
        "mine.md",
        "memory/2026-11-20.md",
    ]
    facts = {"notes/fact/a.md": {"title": "The oven", "kind": "fact", "created": "2026-11-21T10:00", "source": "codex"}}
    book = "".join(chapters([Chapter(path, TEXTS[path], facts.get(path, {})) for path in inside], "", inside))
    headings = [line for line in book.splitlines() if line.startswith("#")]
    assert headings == [
        "# MEMORY.md",
        "# topics",
        "## 01-bread",
        "### topics/01-bread/_summary.md",
        "#### Bread",
        "### topics/01-bread/b.md",
        "#### Crust",
        "# no heading",
        "### 01-rye",
        "#### topics/01-bread/01-rye/c.md",
        "# notes",
        "## fact",
        "### The oven",
        "# mine.md",
        "# memory",
        "## memory/2026-11-20.md",
        "#### 10:00 Deploy",
    ]
    assert "*fact · 2026-11-21 · from codex · notes/fact/a.md*\n\nSee [bread](#note-3)." in book
    assert '<a id="note-3"></a>\n\n### topics/01-bread/b.md' in book
    assert "(https://example.org)" in book


def test_home_is_no_chapter() -> None:
    assert ordered(["Agent/topics/x/a.md", "diary.md", "Agent/notes/b.md"], "Agent") == [
        "Agent/topics/x/a.md",
        "Agent/notes/b.md",
        "diary.md",
    ]
