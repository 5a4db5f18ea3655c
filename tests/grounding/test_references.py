from __future__ import annotations

import pytest

from mcp_memory.grounding.references import MOST_REFERENCES, Named, find_references


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("see `src/a.py:Class.method`", Named("src/a.py:Class.method", ("src/a.py",), "Class.method")),
        ("in src/b.rs::S::new, once", Named("src/b.rs::S::new", ("src/b.rs",), "S::new")),
        ("at sync.py:120-130.", Named("sync.py:120-130", ("sync.py",), "", 120)),
        ("`./a.py#foo`", Named("a.py#foo", ("a.py",), "foo")),
        ("`Makefile:test`", Named("Makefile:test", ("Makefile",), "test")),
        ("all of mcp/engine/ is", Named("mcp/engine/", ("mcp/engine/",))),
        ("fixed in 1a2b3c4.", Named("1a2b3c4", commit="1a2b3c4")),
        ("run `npm run test:e2e`", Named("npm run test:e2e", ("package.json",), "test:e2e")),
        ("```\n$ make lint\n```", Named("make lint", ("Makefile", "makefile", "GNUmakefile"), "lint")),
    ],
)
def test_what_a_note_names(text: str, named: Named) -> None:
    assert find_references(text)[0] == named


@pytest.mark.parametrize(
    "text",
    ["just test it", "https://x.org/y.py", "/etc/passwd.conf", "../up.py", "~/x.py", "`.git/config`", "1234567",
     "defaced", "`a/../../b.py`", "`just`", ""],
)  # fmt: skip
def test_what_names_nothing(text: str) -> None:
    assert find_references(text) == []


def test_what_the_head_lists_comes_first_and_once() -> None:
    found = find_references("`a.py:f` and `b.py`", ["a.py:f", "make x", "nonsense"])
    assert [one.text for one in found] == ["a.py:f", "make x", "b.py"]


def test_a_note_of_a_thousand_paths_names_a_few() -> None:
    assert len(find_references(" ".join(f"a/{number}.py" for number in range(1000)))) == MOST_REFERENCES
