"""Configuration files as people and programs write them: any layout, comments wherever they may stand."""

from __future__ import annotations

import json

from hypothesis import settings
from hypothesis import strategies as st

SOME = settings(max_examples=25, deadline=None)

NAMES = st.sampled_from(["mcpServers", "hooks", "SessionStart", "memory", "a", 'é "x"', "//", "{"])
GAPS = st.lists(
    st.sampled_from([" ", "\n", "\n    ", "\t", "\r\n", '// note }, " \n', "/* a, { \n */", "/**/"]), max_size=3
).map("".join)
SCALARS = st.one_of(
    st.integers(),
    st.booleans(),
    st.none(),
    st.text(max_size=6),
    st.floats(allow_nan=False, allow_infinity=False),
).map(lambda value: (json.dumps(value, ensure_ascii=False), value))


@st.composite
def containers(draw: st.DrawFn, inner: st.SearchStrategy, *, is_object: bool):
    """A text and its value."""
    parts = draw(st.lists(inner, max_size=3))
    names = draw(st.lists(NAMES, min_size=len(parts), max_size=len(parts), unique=True)) if is_object else []
    written, gap = [], lambda: draw(GAPS)
    for number, (text, _) in enumerate(parts):
        name = f"{json.dumps(names[number], ensure_ascii=False)}{gap()}:" if is_object else ""
        written.append(f"{gap()}{name}{gap()}{text}{gap()}")
    trailing = "," + gap() if parts and draw(st.booleans()) else ""
    inside = ",".join(written) + trailing if parts else gap()
    values = [value for _, value in parts]
    if is_object:
        return "{" + inside + "}", dict(zip(names, values, strict=True))
    return "[" + inside + "]", values


VALUES = st.recursive(
    SCALARS, lambda inner: containers(inner, is_object=True) | containers(inner, is_object=False), max_leaves=8
)
SERVERS = containers(VALUES, is_object=True)


@st.composite
def jsonc(draw: st.DrawFn) -> tuple[str, object]:
    """A document that is an object, in which some of the ways to our entries may exist; and its value."""
    text, value = draw(containers(VALUES, is_object=True))
    if draw(st.booleans()) and "mcp" not in value:
        inner, servers = draw(SERVERS)
        if "memory" in servers:
            return text, value
        head, rest = text[:1], text[1:]
        comma = "," if value else ""
        text = f'{head}"mcp": {{"servers": {inner}}}{comma}{rest}'
        value = {"mcp": {"servers": servers}, **value}
    before, after = draw(GAPS), draw(GAPS)
    return before + text + after, value


KEYS = st.sampled_from(["a", "b-1", '"c d"', "mcp_servers.x", "q.mcp_servers"])
TOML_VALUES = st.sampled_from(
    ["1", '"x # y"', "'[mcp_servers.memory]'", "[1, 2,\n  3]", "1.50", "true", "1979-05-27", '"""\n[b]\n"""', "{z = 1}"]
)


@st.composite
def toml(draw: st.DrawFn) -> str:
    """A valid file: keys, tables, comments, blank lines; with or without a last line end, LF or CRLF."""
    lines = [draw(st.sampled_from(["# top", "", "model = 'x'  # y"])) for _ in range(draw(st.integers(0, 2)))]
    lines = list(dict.fromkeys(lines))
    tables = st.lists(
        st.sampled_from(["x", "mcp_servers.other", "mcp_servers", "y.z", '"mcp_servers".two', 'projects."/a b"']),
        unique=True,
        max_size=4,
    )
    for name in draw(tables):
        lines.append(f"[{name}]")
        for key in draw(st.lists(st.sampled_from(["k1", "k2", '"k 3"']), unique=True, max_size=3)):
            lines.append(f"{key} = {draw(TOML_VALUES)}")
            lines += draw(st.sampled_from([[], [""], ["# note"], ["", "", "# [not.a.table]"]]))
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    text = "\n".join(lines).replace("\n", newline)
    return text + (newline if draw(st.booleans()) and text else "")
