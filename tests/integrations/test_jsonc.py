"""The editor of JSON with comments: an entry goes in, the rest stays, and taking it out gives the same bytes."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory.errors import Refused
from mcp_memory.integrations import jsonc
from tests.integrations import documents

ENTRY = {"type": "http", "url": "http://127.0.0.1:8423/mcp", "headersHelper": 'run "it" \\ --client x'}
PATH = ("mcp", "servers", "memory")


def with_entry(value: dict, path: tuple[str, ...], entry: object) -> dict:
    value = copy.deepcopy(value)
    at = value
    for key in path[:-1]:
        if at.get(key) is None:  # nothing is there yet, or null
            at[key] = {}
        at = at[key]
    at[path[-1]] = entry
    return value


@documents.SOME
@given(documents.jsonc())
def test_reads_what_was_written(document: tuple[str, dict]) -> None:
    text, value = document
    assert jsonc.value_of(text) == value


@documents.SOME
@given(documents.jsonc())
def test_an_entry_goes_in_and_out_again(document: tuple[str, dict]) -> None:
    text, value = document
    new = jsonc.set_value(text, PATH, ENTRY)
    assert jsonc.value_of(new) == with_entry(value, PATH, ENTRY)
    assert jsonc.set_value(new, PATH, ENTRY) == new or jsonc.value_of(
        jsonc.set_value(new, PATH, ENTRY)
    ) == jsonc.value_of(new)
    assert jsonc.remove(new, PATH, before=text) == text


@documents.SOME
@given(documents.jsonc(), st.sampled_from(["first", "zz"]))
def test_what_others_add_meanwhile_stays(document: tuple[str, dict], name: str) -> None:
    text, value = document
    new = jsonc.set_value(jsonc.set_value(text, PATH, ENTRY), ("mcp", "servers", name), [1])
    without = jsonc.remove(new, PATH, before=text)
    assert jsonc.value_of(without) == with_entry(value, ("mcp", "servers", name), [1])


@documents.SOME
@given(documents.jsonc())
def test_an_element_goes_in_and_out_again(document: tuple[str, dict]) -> None:
    text, value = document
    path = ("hooks", "SessionStart")
    hooks = {} if value.get("hooks") is None else value["hooks"]
    groups = hooks.get("SessionStart") if isinstance(hooks, dict) else "in the way"
    groups = [] if groups is None else groups
    if not isinstance(groups, list):
        with pytest.raises(Refused):
            jsonc.append(text, path, ENTRY)
        return
    new = jsonc.append(text, path, ENTRY)
    assert jsonc.value_of(new) == with_entry(value, path, [*groups, ENTRY])
    assert jsonc.remove(new, (*path, len(groups)), before=text) == text


@documents.SOME
@given(documents.jsonc())
def test_without_the_old_text_the_rest_is_kept(document: tuple[str, dict]) -> None:
    """The backup may be gone: then what was empty before may be so in another way, and nothing else changes."""
    text, value = document
    found = jsonc.value_of(jsonc.remove(jsonc.set_value(text, PATH, ENTRY), PATH))
    pruned = {key: inner for key, inner in value.items() if key != "mcp" or inner.get("servers")}
    assert found in (value, pruned)


def test_the_layout_is_the_neighbours() -> None:
    text = '{\n\t"mcpServers": {\n\t\t"a": {},\n\t}, // here\n}\n'
    assert jsonc.set_value(text, ("mcpServers", "memory"), {"url": "x"}) == (
        '{\n\t"mcpServers": {\n\t\t"a": {},\n\t\t"memory": {\n\t\t\t"url": "x"\n\t\t},\n\t}, // here\n}\n'
    )
    assert jsonc.set_value('{"a": {"b": 1}}', ("a", "c"), {"d": 2}) == '{"a": {"b": 1, "c": {"d": 2}}}'
    assert jsonc.set_value("", ("a", "b"), 1) == '{\n  "a": {\n    "b": 1\n  }\n}\n'
    assert jsonc.set_value("// mine\n", ("a",), 1) == '// mine\n{\n  "a": 1\n}\n'


def test_json5() -> None:
    text = "{a: 'it\\'s \"x\"', $b: +.5, c: 0xFF, d: [1,], 'e\\x41': 'a\\\nb', f: -Infinity}"
    assert jsonc.value_of(text) == {
        "a": 'it\'s "x"', "$b": ("number", "+.5"), "c": ("number", "0xFF"), "d": [1], "eA": "ab",
        "f": jsonc.value_of("-Infinity"),
    }  # fmt: skip
    assert jsonc.set_value(text, ("d2",), 1).endswith(', "d2": 1}')


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('{"a": 1', "line 1, column 8"),
        ('{\n  "a": 1\n  "b": 2\n}', "line 3, column 3: ',' or '}'"),
        ('{"a" 1}', "':'"),
        ("{,}", "a name"),
        ('{"a": }', "a value"),
        ('{"a": "x\n"}', "a value"),
        ('{"a": 1} x', "the end"),
        ("[1 2]", "','"),
        ("/* open", "a value"),
        ('{"a": 1} /* open **', "the end"),
        ('{"a": 1, /* open *\n"b": 2}', "a name"),
        ('{"a": "\\q"}', "escape"),
        ("nul", "a value"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_broken_text_is_refused_with_its_place(text: str, where: str) -> None:
    with pytest.raises(Refused) as refused:
        jsonc.set_value(text, ("a",), 1)
    assert where in refused.value.message


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[]", "the document is not an object"),
        ('{"mcp": 1}', "mcp is not an object"),
        ('{"mcp": {}, "mcp": {}}', "'mcp' occurs twice"),
        ('{"mcp": {"servers": []}}', "mcp.servers is not an object"),
    ],
)
def test_what_stands_in_the_way_is_named(text: str, why: str) -> None:
    with pytest.raises(Refused) as refused:
        jsonc.set_value(text, PATH, ENTRY)
    assert refused.value.message == why
