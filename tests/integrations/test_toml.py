"""The editor of TOML: a table goes in, the rest stays, and taking it out gives the same bytes."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given

from mcp_memory.errors import Refused
from mcp_memory.integrations import toml
from tests.integrations import documents

TABLE = {"url": "http://127.0.0.1:8423/mcp", "http_headers_helper": '"/a b/mcp-memory" headers \\ \x7f é'}
PATH = ("mcp_servers", "memory")


@documents.SOME
@given(documents.toml())
def test_a_table_goes_in_and_out_again(text: str) -> None:
    try:
        before = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        with pytest.raises(Refused):
            toml.set_table(text, PATH, TABLE)
        return
    new = toml.set_table(text, PATH, TABLE)
    expected = {**before, "mcp_servers": {**before.get("mcp_servers", {}), "memory": TABLE}}
    assert tomllib.loads(new) == expected
    assert toml.set_table(new, PATH, TABLE) == new
    assert toml.remove(new, PATH) == text


@documents.SOME
@given(documents.toml())
def test_what_the_client_adds_meanwhile_stays_or_goes_with_it(text: str) -> None:
    """Codex keeps the approval of a tool in a table below the server's; a table behind it is somebody else's."""
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    new = (
        toml.set_table(text, PATH, TABLE)
        + '\n# next\n[later]\nx = 1\n\n[mcp_servers.memory.tools.memory_search]\napproval_mode = "approve"\n'
    )
    without = toml.remove(new, PATH)
    assert tomllib.loads(without) == {**tomllib.loads(text), "later": {"x": 1}}
    assert "# next" in without


def test_an_entry_is_changed_where_it_stands() -> None:
    text = '[mcp_servers.memory]  # ours\nurl = "http://old"\n# mine\ntimeout = 5\n\n[x]\n'
    assert toml.set_table(text, PATH, {"url": "http://new", "helper": "h"}) == (
        '[mcp_servers.memory]  # ours\nhelper = "h"\nurl = "http://new"\n# mine\ntimeout = 5\n\n[x]\n'
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a = 1\nb = \n", "at line 2"),
        ("mcp_servers = {}\n", "cannot be added to"),
        ("mcp_servers = { other = { url = 'x' } }\n", "cannot be added to"),
        ("mcp_servers = 3\n", "is not a table"),
        ("mcp_servers = { memory = { url = 'x' } }\n", "cannot be added to"),
        ("[[mcp_servers]]\n", "is not a table"),
    ],
)
def test_what_cannot_be_edited_is_refused(text: str, why: str) -> None:
    with pytest.raises(Refused) as refused:
        toml.set_table(text, PATH, TABLE)
    assert why in refused.value.message


def test_what_cannot_be_edited_is_told_for_a_person_to_do() -> None:
    """And when that is done nothing is left to do."""
    text = "mcp_servers = { other = { url = 'x' } }\n"
    with pytest.raises(Refused) as refused:
        toml.set_table(text, PATH, {"url": "http://x", "tool_timeout_sec": 60})
    line = 'memory = { url = "http://x", tool_timeout_sec = 60 }'
    assert refused.value.hint == f"put into mcp_servers by hand, then try again: {line}"
    with pytest.raises(Refused) as refused:
        toml.set_table("features = { x = true }\n", ("features",), {"memories": False})
    assert refused.value.hint == "put into features by hand, then try again: memories = false"
    done = text.replace(" }\n", f", {line} }}\n")
    assert toml.set_table(done, PATH, {"url": "http://x", "tool_timeout_sec": 60}) == done
    with pytest.raises(Refused) as refused:
        toml.remove(done, PATH)
    assert refused.value.hint == "take memory out of mcp_servers by hand, then try again"
