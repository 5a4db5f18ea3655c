"""Calls as clients really send them: what can be meant in one way is taken, the rest is refused in sentences."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_memory.core.arguments import RequestField, fields_of, read_arguments
from mcp_memory.core.requests import AppendRequest, RecallRequest, SearchRequest
from mcp_memory.errors import InvalidInput

FACTS = {"max_append_bytes": 1_000_000, "kinds": "note", "phases": "plan", "budget_tokens": 1, "start_budget_tokens": 2}


def read(request: type[Any], **arguments: Any) -> dict[str, Any]:
    return read_arguments(fields_of(request), arguments, FACTS)


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        (["clay", "kiln"], ["clay", "kiln"]), ('["clay","kiln"]', ["clay", "kiln"]), ("clay", ["clay"]),
        ("clay, kiln", ["clay", "kiln"]), ("clay,kiln,", ["clay", "kiln"]), ("[clay, kiln]", ["clay", "kiln"]),
        ("['clay', 'kiln']", ["clay", "kiln"]), (' [ "clay" ] ', ["clay"]), ("#clay #kiln", ["clay", "kiln"]),
        ("#clay, #kiln", ["clay", "kiln"]), ("#clay", ["clay"]), ('"clay", "kiln"', ["clay", "kiln"]), ("[]", []),
        ([], []), ("health care", ["health care"]), ("health care, money", ["health care", "money"]),
        ("kiln/hot", ["kiln/hot"]), ('["it\'s"]', ["it's"]), ("c#", ["c#"]), ('["a, b"]', ["a, b"]),
        ("[kiln", ["[kiln"]), ("töpfern, Ton", ["töpfern", "Ton"]),
    ],
)  # fmt: skip
def test_a_list_comes_in_many_forms(sent: Any, meant: list[str]) -> None:
    for name in ("tags", "kinds"):
        assert read(SearchRequest, query="x", **{name: sent})[name] == meant


@pytest.mark.parametrize("sent", [None, "", " ", "null", "None", "NULL", "undefined"])
def test_what_is_left_out_comes_in_many_forms(sent: Any) -> None:
    left_out = dict.fromkeys(("limit", "kinds", "tags", "project", "since", "path", "include_archived", "mode"), sent)
    assert read(SearchRequest, query="x", **left_out) == {"query": "x"}
    assert read(RecallRequest, **dict.fromkeys(("ids", "path", "lines", "phase", "budget_tokens"), sent)) == {}
    assert read(AppendRequest, content="x", **dict.fromkeys(("kind", "supersedes", "expires"), sent)) == {
        "content": "x"
    }


@pytest.mark.parametrize(
    ("name", "sent", "meant"),
    [
        ("limit", "5", 5), ("limit", " 5 ", 5), ("limit", 5.0, 5), ("limit", "5.0", 5), ("limit", "-1", -1),
        ("explain", "true", True), ("explain", "False", False), ("mode", "Keyword", "keyword"),
        ("path", ["notes"], "notes"),
        ("query", "null", "null"), ("query", "[draft] of the note", "[draft] of the note"), ("query", "none", "none"),
    ],
)  # fmt: skip
def test_numbers_truth_and_words(name: str, sent: Any, meant: Any) -> None:
    assert read(SearchRequest, **{"query": "x", name: sent})[name] == meant


def test_a_list_of_one_is_that_one_but_not_where_text_is_free() -> None:
    assert read(AppendRequest, content="x", supersedes=["01ABC"])["supersedes"] == "01ABC"
    more: list[dict[str, Any]] = [{"content": ["x"]}, {"supersedes": ["a", "b"]}, {"supersedes": []}]
    for wrong in more:
        with pytest.raises(InvalidInput, match="must be a string"):
            read(AppendRequest, **{"content": "x", **wrong})


def test_a_thousand_unknown_arguments_make_no_long_answer() -> None:
    with pytest.raises(InvalidInput) as refused:
        read_arguments([RequestField("query", str, None)], {f"{n}" * 1000: n for n in range(1000)}, {})
    assert len(str(refused.value)) < 2000
