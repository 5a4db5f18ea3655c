"""The loss audit counts what is gone, and nothing that is there in another form."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_memory.compaction.page_writer import Audit, audit
from mcp_memory.text.language.facts import facts

SOURCES = ["We asked Ada on 5 May 2024 about `npm`.", "It took 30 s, and we do not use Redis."]

PIECES = ["Ada", "5", "`npm`", "not", "use", "Redis", "in", "May", ".", "a_b", "\n"]
words = st.lists(st.sampled_from(PIECES), max_size=15)


def test_what_is_dropped_is_named():
    found = audit("- Ada was asked.\n- It took 30 s.", SOURCES)
    assert {(fact.kind, fact.key) for fact in found.dropped} == {
        ("date", "2024-05-05"),
        ("identifier", "npm"),
        ("name", "Redis"),
        ("negation", "use redi"),
    }
    assert found.kept == 2


def test_a_name_at_the_start_and_an_identifier_without_marks_are_kept():
    assert [fact.key for fact in audit("- Ada tried npm, 2024-05-05", SOURCES[:1]).dropped] == []
    assert [fact.key for fact in audit("- Adam tried npmx, 2024-05-05", SOURCES[:1]).dropped] == ["npm", "Ada"]


def test_where_there_is_nothing_to_lose_nothing_is_lost():
    assert audit("", ["so it goes"]) == audit("", []) == Audit(0, ())


@given(st.lists(words.map(" ".join), max_size=4))
@settings(deadline=None)
def test_the_sources_themselves_lose_nothing(sources: list[str]):
    found = audit("\n\n".join(sources), sources)
    assert found.dropped == () and found.kept == len(frozenset().union(*map(facts, sources)))
