from __future__ import annotations

import time
import tomllib
from pathlib import Path

import pytest

from mcp_memory.grounding.code_symbols import enclosing_symbol, find_symbol, list_symbols

SOURCES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", SOURCES)
def test_each_language_says_what_it_defines(path: str) -> None:
    found = list_symbols(path, SOURCES[path]["source"].encode())
    assert [one.name for one in found] == SOURCES[path]["names"].split()


@pytest.mark.parametrize("path", SOURCES)
@pytest.mark.parametrize("damage", [b"", b"\0\xff{{{((", b'{"scripts": [', b"a:" * 2000])
def test_no_bytes_are_too_damaged(path: str, damage: bytes) -> None:
    source = SOURCES[path]["source"].encode()
    for text in (damage, source[: len(source) // 2] + damage, damage + source):
        assert all(one.first_line <= one.last_line for one in list_symbols(path, text))


@pytest.mark.parametrize("path", ["a.py", "a.cpp"])
@pytest.mark.parametrize(
    "text",
    [
        "template<" * 100_000, ("a* " * 160 + "\n") * 1800, ("f(" * 240 + "\n") * 1800, "@\n" * 400_000,
        "".join(f"def f{number}(): pass\n" for number in range(40_000)),
        "".join(" " * depth + "def f():\n" for depth in range(1200)), "def f():\n" + "\n" * 900_000,
    ],
    ids=["one line", "types", "calls", "decorators", "many", "nested", "blank"],
)  # fmt: skip
def test_no_file_takes_long(path: str, text: str) -> None:
    before = time.process_time()
    list_symbols(path, text.encode())
    assert time.process_time() - before < 10


def digest(source: str, name: str, path: str = "a.py") -> str:
    found = find_symbol(list_symbols(path, source.encode()), name)
    assert found
    return found.digest


@pytest.mark.parametrize(
    "after",
    [
        "def f( a, b ):\n\n    # why\n    return g(a,\n             b,)\n",
        "def f(a, b):\n  return g(a, b)  # other indentation\n",
        "def h(a, b):\n    return g(a, b)\n",
    ],
    ids=["layout and comments", "indentation", "its own name"],
)
def test_what_does_not_change_a_symbol(after: str) -> None:
    before = digest("def f(a, b):\n    return g(a, b)\n", "f")
    assert digest(after, "h" if "def h" in after else "f") == before


@pytest.mark.parametrize("after", ["def f(a, b):\n    return g(b, a)\n", "@cache\ndef f(a, b):\n    return g(a, b)\n"])
def test_what_changes_one(after: str) -> None:
    assert digest(after, "f") != digest("def f(a, b):\n    return g(a, b)\n", "f")


def test_a_class_changes_with_its_fields_and_the_names_of_its_methods_but_not_with_what_they_do() -> None:
    before = digest("class A(B):\n  x = 1\n  def m(self): return 1\n", "A")
    assert digest("class A(B):\n  x = 1\n  def m(self, y): return 2\n", "A") == before
    assert digest("class A(B):\n  x = 2\n  def m(self): return 1\n", "A") != before
    assert digest("class A(B):\n  x = 1\n  def n(self): return 1\n", "A") != before


def test_an_unclear_name_is_nobodys_and_overloads_are_one() -> None:
    go = list_symbols("a.go", SOURCES["a.go"]["source"].encode())
    assert find_symbol(go, "M") is None and find_symbol(go, "x.S.M")
    python = list_symbols("a.py", b"class A:\n  @property\n  def p(self): 1\n  @p.setter\n  def p(self, v): 2\n")
    merged = find_symbol(python, "p")
    assert merged and (merged.first_line, merged.last_line) == (2, 5)
    innermost = enclosing_symbol(python, 3)
    assert innermost and innermost.name == "A.p" and enclosing_symbol(python, 9) is None
