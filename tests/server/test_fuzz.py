"""Any arguments at all: a result or a tool error, never a server error, never a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.daemon.place import Place, Running
from tests.daemon.wire import HANDSHAKE, SESSIONLESS, Wire
from tests.support.world import EXHAUSTIVE

EXAMPLES = 10_000 if EXHAUSTIVE else 100

TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
    st.sampled_from(
        [
            "", " ", "*", '"', "NEAR(a b)", "a:b", "-x", "^x", "AND OR NOT", "\0", "\x1b[2J", "\u202e", "x" * 70_000,
            "../x", "/etc/passwd", "notes/fix/", "memory/2026-11-21.md", "README.md", ".mcp-memory/vault.toml", "@t/x",
            "2026-11-21", "2026-13-45", "9999-12-31T23:59:59+14:00", "0001-01-01", "1-", "-5", "3-1", "0-0", "10**9",
            "01ARZ3NDEKTSV4RRFFQ69G5FAV", "path:README.md", "memory/2026-11-21.md#00", "#", "path:", "note", "log",
            "decision", "start", "semantic", "---\nid: x\n---\n", "---", "```", "# h\n\n- a\n- b",
        ]
    ),
)  # fmt: skip
NUMBERS = st.one_of(
    st.integers(-2, 12), st.sampled_from([100, 1000, 1001, 2**31, 2**63, 10**30, -(10**30), 200_001]), st.floats()
)
JUNK = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


def value(schema: dict) -> st.SearchStrategy:
    """Mostly what the schema asks for, sometimes anything."""
    kinds = [kind.get("type") for kind in schema.get("anyOf", [schema])]
    fitting = {
        "string": st.sampled_from(schema["enum"]) if "enum" in schema else TEXTS,
        "integer": NUMBERS,
        "boolean": st.booleans(),
        "array": st.lists(TEXTS, max_size=4),
        "null": st.none(),
    }
    return st.one_of(*(fitting[kind] for kind in kinds), JUNK)


def arguments(schema: dict) -> st.SearchStrategy:
    required = {name: value(schema["properties"][name]) for name in schema.get("required", [])}
    optional = {name: value(sub) for name, sub in schema["properties"].items() if name not in required}
    shaped = st.fixed_dictionaries(required, optional=optional)
    return st.one_of(shaped, shaped, shaped, st.dictionaries(TEXTS, JUNK, max_size=3), JUNK)


@pytest.fixture(scope="module")
def prey(tmp_path_factory: pytest.TempPathFactory, model_cache: Path) -> Iterator[Running]:
    """A daemon of its own: what is stored here is nothing to search in."""
    place = Place(tmp_path_factory.mktemp("prey"), model_cache).make()
    with place.serving("--port", "0") as served:
        yield served


@pytest.fixture(scope="module")
def schemas(prey: Running) -> dict[str, dict]:
    with Wire(prey) as wire:
        return {tool["name"]: tool["inputSchema"] for tool in wire.rpc("tools/list").json["result"]["tools"]}


@pytest.mark.parametrize("name", ["memory_search", "memory_recall", "memory_append", "memory_forget"])
def test_no_arguments_break_a_tool(prey: Running, schemas: dict[str, dict], name: str):
    @settings(
        max_examples=EXAMPLES, deadline=None, database=None, derandomize=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )  # fmt: skip
    @given(arguments(schemas[name]), st.booleans())
    def attempt(given_arguments, modern: bool) -> None:
        answer = (new if modern else old).rpc("tools/call", {"name": name, "arguments": given_arguments})
        assert answer.status in {200, 400}, answer
        assert "Traceback" not in answer.text
        assert "internal" not in answer.text[:200], (given_arguments, answer.text[:500], prey.journal[-3000:])
        assert "pydantic" not in answer.text

    with Wire(prey, era=HANDSHAKE) as old, Wire(prey, era=SESSIONLESS) as new:
        attempt()
        assert old.rpc("tools/list").status == 200
    assert "Traceback" not in prey.journal
    assert " ERROR " not in prey.journal
    outside = {path.name for path in prey.place.root.iterdir()}
    assert outside <= {"home", "tmp", "vault", "state"}
    assert list(prey.place.home.iterdir()) == []


@pytest.mark.parametrize("operation", ["search", "recall", "append", "forget", "restore", "adopt", "recover"])
def test_nor_our_own_interface(prey: Running, operation: str):
    names = st.sampled_from(
        ["query", "limit", "kinds", "tags", "path", "since", "mode", "explain", "ids", "lines", "phase", "content",
         "title", "budget_tokens", "supersedes", "expires", "target", "reason", "project"]
    )  # fmt: skip

    @settings(max_examples=EXAMPLES // 4, deadline=None, database=None, derandomize=True)
    @given(st.one_of(st.dictionaries(names, JUNK, max_size=3), JUNK))
    def attempt(given_arguments) -> None:
        answer = wire.api(operation, given_arguments)
        assert answer.status in {200, 400, 403, 404, 409}, (given_arguments, answer)
        assert "Traceback" not in answer.text

    with Wire(prey, client="cli") as wire:
        attempt()
    assert " ERROR " not in prey.journal
