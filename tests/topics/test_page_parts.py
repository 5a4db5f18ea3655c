"""What a person changes on a page stays to the byte, and the rest of it is made anew."""

from __future__ import annotations

import pytest

from mcp_memory.topics.page_parts import merged, own_text, parts_of

pytestmark = pytest.mark.fast


def page(gist: str = "Tea is green.", lines: tuple[str, ...] = ("- [a](./a.md)", "- [b](./b.md)"), title: str = "Tea",
         covers: str = "1") -> str:  # fmt: skip
    listed = "\n".join(lines)
    return f"---\nid: 01P\ntitle: {title}\ncovers: {covers}\n---\n\n{gist}\n\n## Children\n\n{listed}\n"


OLD = page()
NEW = page("Tea is black now.", ("- [a](./a.md)", "- [b](./b.md)", "- [c](./c.md)"), "Black tea", "2")
WRITTEN = [parts_of(OLD)]


def test_an_untouched_page_becomes_the_new_one() -> None:
    assert merged(OLD, NEW, WRITTEN) == NEW


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (("title: Tea", "title: My own tea"), ("title: Black tea", "title: My own tea")),
        (("Tea is green.", "Tea  is *mine*."), ("Tea is black now.", "Tea  is *mine*.")),
        (("green.\n", "green.\n\nI like it.\n"), ("black now.\n", "black now.\n\nI like it.\n")),
        (("Tea is green.", "First:\n\nTea is green."), ("Tea is black now.", "First:\n\nTea is black now.")),
        (("id: 01P", "id: 01P\naliases: [chai]"), ("id: 01P", "id: 01P\naliases: [chai]")),
        (("- [a](./a.md)", "- [best](./a.md)"), ("- [a](./a.md)", "- [best](./a.md)")),
        (("- [a](./a.md)\n", "- [a](./a.md)\n- mine\n"), ("- [a](./a.md)\n", "- [a](./a.md)\n- mine\n")),
        (("## Children", "## Mine\n\nA shop.\n\n## Children"), ("## Children", "## Mine\n\nA shop.\n\n## Children")),
        (("- [a](./a.md)\n", ""), ("- [a](./a.md)\n", "")),
        (("- [b](./b.md)\n", "- [b](./b.md)\n\nThe end"), ("- [c](./c.md)\n", "- [c](./c.md)\n\nThe end")),
    ],
)  # fmt: skip
def test_a_change_stays_and_the_rest_is_new(before: tuple[str, str], after: tuple[str, str]) -> None:
    edited = OLD.replace(*before)
    assert edited != OLD
    once = merged(edited, NEW, WRITTEN)
    assert once == NEW.replace(*after)
    # … at the next writing, too, which knows what we wrote, not what there is.
    newest = page("Tea is white.", ("- [a](./a.md)", "- [b](./b.md)", "- [d](./d.md)"), "White tea", "3")
    twice = merged(once, newest, [*WRITTEN, parts_of(NEW)])
    renewed = {"./c.md": "./d.md", "[c]": "[d]", "Black tea": "White tea", "black now.": "white."}
    here, there = after
    for old, new in renewed.items():
        here, there = here.replace(old, new), there.replace(old, new)
    assert twice == newest.replace(here, there)


def test_a_removed_section_stays_away_and_one_that_is_no_longer_made_goes() -> None:
    body = OLD.partition("\n## Children")[0]
    assert "Children" not in merged(body, NEW, WRITTEN)
    asked = OLD.replace("## Children", "## Open questions\n\n- Which shop?\n\n## Children")
    assert merged(asked, NEW, [parts_of(asked)]) == NEW
    mine = asked.replace("Which shop?", "Which shop?\n- Which pot?")
    kept = merged(mine, NEW, [parts_of(asked)])
    assert "Which shop" not in kept and "## Open questions\n- Which pot?" in kept.replace("\n\n", "\n")


def test_a_moved_note_changes_no_line_and_windows_line_ends_are_no_edit() -> None:
    assert merged(OLD.replace("./b.md", "../x/b.md"), NEW, WRITTEN) == NEW
    assert "black" in merged(OLD.replace("\n", "\r\n"), NEW, WRITTEN)


def test_of_our_own_lines_in_a_part_that_is_a_persons_none_stays() -> None:
    """They may quote a note that is forgotten by now."""
    old = page("Bob pays.\nTea is green.")
    edited = old.replace("Tea is green.", "Tea is mine.")
    kept = merged(edited, page("Tea."), [parts_of(old)])
    assert "Bob" not in kept and "Tea is mine." in kept


def test_what_is_a_persons_is_found() -> None:
    assert own_text(OLD, WRITTEN) == ""
    assert own_text(OLD.replace("## Children", "Mine.\n\n## Children"), WRITTEN) == "Mine."
