from __future__ import annotations

import pytest

from mcp_memory.grounding.code_symbols import enclosing_symbol, find_symbol, list_symbols

SOURCES = {
    "a.py": ("MOST = 3\nclass A:\n  def m(self): pass\ndef f(): pass\n", "MOST A A.m f"),
    "a.js": ("const K = 3;\nexport const f = (a) => a;\nclass A { m() { return 1 } }\n", "K f A A.m"),
    "a.ts": ("type T = string;\nenum E {A}\ninterface I { m(): void }\nclass A { n(): void {} }\n", "T E I I.m A A.n"),
    "a.tsx": ("export const C = () => <div/>;\nfunction D() { return <a/> }\n", "C D"),
    "a.go": ("package x\nconst K = 1\ntype S struct{}\nfunc (s *S) M() {}\nfunc (r R[T]) M() {}\n", "K S S.M R.M"),
    "a.rs": ("const K: u8 = 1;\nstruct S {}\nimpl S { fn new() {} }\nimpl R { fn new() {} }\n", "K S S.new R.new"),
    "a.java": ("class A { int x = 1; void m() {} enum E { X } }\n", "A A.x A.m A.E"),
    "a.c": ("#define K 1\nstruct s { int a; };\nstatic int *f(int a) { return 0; }\n", "K s f"),
    "a.cpp": ("class A { void m() {} };\nvoid A::n() { }\n", "A A.m A.n"),
    "a.rb": ("K = 1\nmodule M\n class A\n  def m; 1; end\n end\nend\n", "K M M.A M.A.m"),
    "a.cs": ("namespace N { class A { int P {get;set;} void M() { } } }\n", "A A.P A.M"),
    "a.php": ("<?php\nconst K = 1;\nclass A { function m() {} }\nfunction f() {}\n", "K A A.m f"),
    "Makefile": ("X := 1\nall: a\n\ttouch x\n\ntest: all\n\tpytest\n", "all test"),
    "justfile": ("set shell := ['x']\n@test *args:\n    pytest\n\nlint a='b': test\n    ruff\n", "test lint"),
    "package.json": ('{"scripts": {"build": "tsc", "test:e2e": "x"}}', "build test:e2e"),
    "notes.txt": ("def f(): pass", ""),
    "package-lock.json": ("{", ""),
}  # fmt: skip


@pytest.mark.parametrize("path", SOURCES)
def test_each_language_says_what_it_defines(path: str) -> None:
    source, names = SOURCES[path]
    assert [one.name for one in list_symbols(path, source.encode())] == names.split()


@pytest.mark.parametrize("path", SOURCES)
@pytest.mark.parametrize("damage", [b"", b"\0\xff{{{((", b'{"scripts": [', b"a:" * 2000])
def test_no_bytes_are_too_damaged(path: str, damage: bytes) -> None:
    source = SOURCES[path][0].encode()
    for text in (damage, source[: len(source) // 2] + damage, damage + source):
        assert all(one.first_line <= one.last_line for one in list_symbols(path, text))


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
    go = list_symbols("a.go", SOURCES["a.go"][0].encode())
    assert find_symbol(go, "M") is None and find_symbol(go, "x.S.M")
    python = list_symbols("a.py", b"class A:\n  @property\n  def p(self): 1\n  @p.setter\n  def p(self, v): 2\n")
    merged = find_symbol(python, "p")
    assert merged and (merged.first_line, merged.last_line) == (2, 5)
    innermost = enclosing_symbol(python, 3)
    assert innermost and innermost.name == "A.p" and enclosing_symbol(python, 9) is None
