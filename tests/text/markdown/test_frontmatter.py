"""Frontmatter: read with suspicion, patched without touching anything else, written so that it reads back."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mcp_memory.errors import InvalidInput
from mcp_memory.text.markdown.frontmatter import FIELD_ORDER, decode, parse, patch, render, split_head

CET = timezone(timedelta(hours=1))


class TestDecode:
    def test_utf8_round_trips_with_its_byte_order_mark(self):
        data = "\ufeffhéllo 😀\r\n".encode()
        decoded = decode(data)
        assert decoded.problem is None
        assert decoded.text is not None and decoded.text.encode() == data

    def test_invalid_bytes_are_replaced_and_reported(self):
        decoded = decode(b"ab\xffcd")
        assert decoded == type(decoded)("ab\ufffdcd", "invalid UTF-8 at byte 2")

    @pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le"])
    def test_other_encodings_have_no_text(self, encoding: str):
        decoded = decode("# A title and a text".encode(encoding))
        assert decoded.text is None and decoded.problem

    def test_a_torn_file_of_zeros_has_no_text_but_a_single_nul_does(self):
        assert decode(b"# x\n" + b"\0" * 100).text is None
        assert decode(b"a" * 200 + b"\0").text == "a" * 200 + "\0"

    @given(st.binary(max_size=60))
    def test_any_bytes(self, data: bytes):
        decoded = decode(data)
        assert decoded.text is not None or decoded.problem
        if decoded.text is not None and decoded.problem is None:
            assert decoded.text.encode() == data


class TestParse:
    def test_values_keep_their_kinds(self):
        document = parse(
            "---\ntitle: Été\ncreated: 2026-11-21T10:00:00+01:00\nday: 2026-11-21\nn: 3\nx: 1.5\n"
            "tags: [a, b]\nlive: true\nnone:\non: off\n---\nBody\n"
        )
        assert document.problem is None
        assert document.body == "Body\n"
        assert document.meta == {
            "title": "Été",
            "created": datetime(2026, 11, 21, 10, tzinfo=CET),
            "day": date(2026, 11, 21),
            "n": 3,
            "x": 1.5,
            "tags": ["a", "b"],
            "live": True,
            "none": None,
            "on": False,
        }

    @pytest.mark.parametrize(
        ("text", "body"),
        [
            ("", ""),
            ("plain", "plain"),
            ("\ufeffplain", "plain"),
            ("---\na: 1\n---\n", ""),
            ("---\na: 1\n---", ""),
            ("\ufeff---\r\na: 1\r\n---\r\nx", "x"),
            ("---  \na: 1\n--- \nx\n---\ny: 2\n---\n", "x\n---\ny: 2\n---\n"),
            ("---\na: 1\n...\nx", "x"),
            ("---\n---\nx", "x"),
            ("---\n# only a comment\n---\nx", "x"),
            ("---\na: 1\nnever closed", "---\na: 1\nnever closed"),
            ("----\na: 1\n----\nx", "----\na: 1\n----\nx"),
            ("\n---\na: 1\n---\nx", "\n---\na: 1\n---\nx"),
            ("---\nProse between two rules.\n\n## More\n\n*text*\n---\nx", None),
            ("---\n- a list\n- of two\n---\nx", None),
        ],
    )
    def test_where_the_body_begins(self, text: str, body: str | None):
        document = parse(text)
        assert document.body == (text if body is None else body)
        assert document.body == text[document.body_start :]
        assert document.problem is None

    @pytest.mark.parametrize(
        "head",
        [
            "a: &x 1\nb: *x",
            "a: &x [1]",
            "<<: *y",
            "a: !!python/object/apply:os.system [ls]",
            "a: !!binary aGk=",
            "a: !thing x",
            "a: [1, 2",
            'a: "open',
            "a: b: c",
            "\ta: 1",
            "a: \x01",
            "a: " + "[" * 21 + "]" * 21,
            "a: " + "[" * 60_000,
            "a: " + "{a," * 20_000,
            "\n".join(" " * depth + "a:" for depth in range(30)),
            "a: " + "x" * 70_000,
            "? [a, b]\n: 1",
            "a: \ud800",
        ],
    )
    def test_what_is_not_allowed_is_a_problem_and_the_body_remains(self, head: str):
        document = parse(f"---\n{head}\n---\nBody")
        assert document.meta == {}
        assert document.problem and document.problem.startswith("broken frontmatter")
        assert document.body == "Body"

    def test_a_problem_never_quotes_the_text(self):
        document = parse("---\nsecret-word: [hush\nsecret-word2: &hush 1\n---\n")
        assert document.problem and "hush" not in document.problem and "secret" not in document.problem

    def test_repeated_keys_are_reported_and_the_last_counts(self):
        document = parse("---\na: 1\nb: 2\na: 3\n---\n")
        assert document.meta == {"a": 3, "b": 2}
        assert document.problem == "frontmatter: line 4 repeats a key"

    @pytest.mark.parametrize(
        "word", ["2026-13-45", "9" * 5000, "1:" * 200 + "1", "0b_", "2026-01-01T00:00:00+99:99", "="]
    )
    def test_what_only_looks_like_a_number_or_date_is_text(self, word: str):
        assert parse(f"---\na: {word}\nb: 1\n---\n").meta == {"a": word, "b": 1}

    @given(st.text(max_size=200))
    def test_never_raises(self, text: str):
        for whole in (text, f"---\n{text}\n---\nbody"):
            document = parse(whole)
            assert document.body == whole[document.body_start :]

    @given(st.text(alphabet="-:[]{}'\"#|>&*!?%@` \n\tab1.", max_size=120))
    def test_never_raises_on_yaml_like_text(self, text: str):
        parse(f"---\n{text}\n---\nbody")


class TestPatch:
    HEAD = (
        '---\n# first\ntitle: "Old"  # why\ntags:\n  - a\n  - b # last\n# about status\nstatus: active\n'
        "notes: |\n  one\n\n  two\n\nmine: {a: 1,\n  b: 2}\n# end\n---\nBody"
    )

    def test_a_block_is_replaced_whole_except_for_its_comments(self):
        assert patch(self.HEAD, {"tags": ["x", "y z"]}) == self.HEAD.replace(
            "tags:\n  - a\n  - b # last\n", "tags: [x, y z]\n# last\n"
        )
        assert patch(self.HEAD, {"mine": 5}) == self.HEAD.replace("{a: 1,\n  b: 2}", "5")
        assert patch(self.HEAD, {"notes": "gone"}) == self.HEAD.replace("|\n  one\n\n  two\n", "gone\n")

    def test_removal_keeps_comments(self):
        assert patch(self.HEAD, {"tags": None}) == self.HEAD.replace("tags:\n  - a\n  - b # last\n", "# last\n")
        assert patch("---\na: 1\nmuted: true  # ask Ada\n---\n", {"muted": None}) == "---\na: 1\n# ask Ada\n---\n"

    @pytest.mark.parametrize("newline", ["\n", "\r\n"])
    @pytest.mark.parametrize(
        ("tags", "lines"),
        [
            (["a", "b", "c d"], "  - a\n  - b # last\n  - c d\n"),
            (["a"], "  - a\n  # last\n"),
            (["b", "c"], "  - b # last\n  - c\n"),
        ],
    )
    def test_a_list_with_a_line_for_each_item_stays_one(self, tags: list[str], lines: str, newline: str):
        head = self.HEAD.replace("\n", newline)
        lines = lines.replace("\n", newline)
        assert patch(head, {"tags": tags}) == head.replace(f"  - a{newline}  - b # last{newline}", lines)

    def test_new_keys_take_their_place_in_the_order(self):
        patched = patch(self.HEAD, {"id": "01ARZ3NDEKTSV4RRFFQ69G5FAV", "kind": "fix", "zebra": True})
        assert patched == self.HEAD.replace("---\n# first", "---\nid: 01ARZ3NDEKTSV4RRFFQ69G5FAV\n# first").replace(
            "# why\n", "# why\nkind: fix\n"
        ).replace("# end\n", "# end\nzebra: true\n")

    def test_no_change_leaves_every_byte(self):
        assert patch(self.HEAD, {"title": "Old", "tags": ["a", "b"], "absent": None}) == self.HEAD

    @pytest.mark.parametrize("newline", ["\n", "\r\n"])
    @pytest.mark.parametrize("bom", ["", "\ufeff"])
    def test_a_head_is_put_on_top(self, newline: str, bom: str):
        text = f"{bom}# Title{newline}{newline}no end"
        assert patch(text, {"kind": "fix", "id": "x"}) == (
            f"{bom}---{newline}id: x{newline}kind: fix{newline}---{newline}# Title{newline}{newline}no end"
        )

    def test_an_empty_value_and_an_empty_head(self):
        assert patch("---\na:  # c\n---\n", {"a": "x"}) == "---\na: x  # c\n---\n"
        assert patch("---\n---\nx", {"a": 1}) == "---\na: 1\n---\nx"
        assert patch("---\na: 1\n---\nx", {"a": None}) == "---\n---\nx"

    def test_null_can_be_removed(self):
        assert patch("---\na:\nb: 1\n---\n", {"a": None}) == "---\nb: 1\n---\n"

    def test_a_key_behind_a_block_that_keeps_its_blank_lines(self):
        text = "---\nid: |+\n  x\n\n\nzebra: 1\n---\n"
        assert patch(text, {"title": "t"}) == text.replace("zebra", "title: t\nzebra")

    @pytest.mark.parametrize(
        "text",
        [
            "---\na: [1\n---\nx",
            "---\na: 1\na: 2\n---\nx",
            "---\n{a: 1, b: 2}\n---\nx",
            "---\n? a\n: 1\n---\nx",
            "---\na: *b\n---\nx",
        ],
    )
    def test_refused_where_it_cannot_be_exact(self, text: str):
        with pytest.raises(InvalidInput):
            patch(text, {"a": "new"})

    def test_a_repeated_key_does_not_hinder_another(self):
        assert patch("---\na: 1\na: 2\nb: 3\n---\n", {"b": 4}) == "---\na: 1\na: 2\nb: 4\n---\n"

    def test_half_a_surrogate_pair_is_refused(self):
        with pytest.raises(InvalidInput):
            patch("x", {"title": "\ud83d"})


NAMES = ["title", "tags", "status", "created", "source", "zebra", "mine", "été", "my key"]
plain_values = st.sampled_from(
    ["one", "'single ''quoted'''", '"double \\" x"', "3", "1.5", "true", "", "2026-11-21", "2026-11-21T10:00:00Z", "~"]
)
block_values = st.sampled_from(
    [
        "\n  - a\n  - b",
        "\n- a\n- 'b'",
        "\n  # inside\n  - a",
        " |\n  text\n\n  more",
        " >-\n  folded\n  text",
        " |+\n  keep\n\n",
        "\n  deep:\n    er: 1\n  x: [1, 2]",
        " [a,\n  b]",
        ' "two\n  lines"',
        "\n  plain below",
    ]
)
COMMENTS = ["", "# note\n", "\n", "# a: b\n\n"]
comments = st.sampled_from([*COMMENTS, "  # indented\n"])
tails = st.sampled_from(["", "  ", "  # tail", " # it's"])


@st.composite
def heads(draw: st.DrawFn) -> tuple[str, dict[str, str]]:
    """A note's text, and the lines of each key."""
    lines: dict[str, str] = {}
    text = draw(comments)
    for name in draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=6)):
        if draw(st.booleans()):
            value = draw(plain_values)
            line = f"{name}:{draw(st.sampled_from([' ', '   ']))}{value}{draw(tails)}\n"
        else:
            line = f"{name}:{draw(block_values)}\n"
        lines[name] = line
        is_scalar = " |" in line or " >" in line  # an indented line behind one belongs to its text
        text += line + draw(st.sampled_from(COMMENTS) if is_scalar else comments)
    body = draw(st.sampled_from(["", "Body", "\n# T\n\n---\nx: 1\n---\n", "one\ntwo \n", "---\n"]))
    text = draw(st.sampled_from(["", "\ufeff"])) + f"---\n{text}---\n{body}"
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
        lines = {name: line.replace("\n", "\r\n") for name, line in lines.items()}
    return text, lines


strings = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
new_values = st.one_of(
    st.none(),
    strings,
    st.integers(-(10**12), 10**12),
    st.booleans(),
    st.floats(allow_nan=False),
    st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1), timezones=st.sampled_from([UTC, CET])),
    st.lists(strings, max_size=3),
    st.sampled_from(
        ["yes", "1e3", "0x1F", "2026-01-01", "a: b", "#x", "@x", "- x", "x #y", "null", "~", "10:30", "{a}", " "]
    ),
)


class TestPatchProperties:
    @given(heads(), st.dictionaries(st.sampled_from([*NAMES, "id", "kind", "new"]), new_values, max_size=4))
    def test_only_what_was_asked_for_changes(self, made: tuple[str, dict[str, str]], changes: dict[str, object]):
        text, lines = made
        before = parse(text)
        assert before.problem is None
        try:
            patched = patch(text, changes)
        except InvalidInput:
            # A value that keeps the blank lines behind it would take those of a removed neighbour.
            assert "|+" in text and None in changes.values()
            return
        after = parse(patched)

        assert after.body == before.body
        expected = {**before.meta, **changes}
        assert after.meta == {key: value for key, value in expected.items() if value is not None or key not in changes}
        assert patched.startswith("\ufeff") == text.startswith("\ufeff")
        head = patched[: split_head(patched).end]
        for name, line in lines.items():
            if name not in changes:
                assert line in head
        for line in text[: split_head(text).end].splitlines(keepends=True):
            if line.startswith("#"):
                assert line in head
        for comment in ("# tail", "# it's", "# indented", "# note"):
            assert head.count(comment) == text[: split_head(text).end].count(comment)
        if "\r\n" in text:
            assert "\n" not in patched.replace("\r\n", "")

    @given(heads(), st.dictionaries(st.sampled_from(NAMES), new_values, max_size=3))
    def test_patching_twice_is_patching_once(self, made: tuple[str, dict[str, str]], changes: dict[str, object]):
        assume("|+" not in made[0])
        once = patch(made[0], changes)
        assert patch(once, changes) == once

    @given(st.text(max_size=80), strings)
    def test_any_text_keeps_its_body(self, text: str, title: str):
        try:
            patched = patch(text, {"title": title})
        except InvalidInput:
            return
        assert parse(patched).body == parse(text).body
        assert parse(patched).meta["title"] == title


class TestRender:
    def test_order_and_quotes(self):
        text = render(
            {"zebra": 1, "tags": ["a, b", "x"], "title": "Fix: it", "id": "01ARZ3NDEKTSV4RRFFQ69G5FAV", "kind": None},
            "\n# Hello\n\n",
        )
        assert text == (
            '---\nid: 01ARZ3NDEKTSV4RRFFQ69G5FAV\ntitle: "Fix: it"\ntags: ["a, b", x]\nzebra: 1\n---\n\n# Hello\n'
        )

    @pytest.mark.parametrize(
        "value",
        [
            "yes",
            "No",
            "1e3",
            "0o17",
            "0x1F",
            "1_000",
            "2026-01-01",
            "10:30",
            "a: b",
            "#x",
            "x #y",
            "@x",
            "`x`",
            "a\nb",
            "😀",
            "",
            " x",
            "x ",
            "- x",
            "null",
            "~",
            ".inf",
            "\x00",
            "\x7f",
            "\x85",
            "\u2028",
            "\ufeff",
            "\ufffe",
            "'",
            '"',
            "\\",
        ],
    )
    def test_what_yaml_would_misread_is_quoted(self, value: str):
        text = render({"title": value, "tags": [value]}, "")
        assert text.startswith('---\ntitle: "')
        assert parse(text).meta == {"title": value, "tags": [value]}

    def test_refused_values(self):
        for value in ("\udc00", b"bytes", object()):
            with pytest.raises(InvalidInput):
                render({"title": value}, "")

    @given(
        st.dictionaries(
            st.one_of(
                st.sampled_from(FIELD_ORDER), st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
            ),
            st.one_of(
                new_values,
                st.dictionaries(strings, st.lists(st.integers() | st.none() | strings, max_size=2), max_size=2),
            ),
            max_size=5,
        ),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
    )
    def test_reads_back(self, meta: dict[str, object], body: str):
        assume(all(not isinstance(value, int) or abs(value) < 10**90 for value in meta.values()))
        document = parse(render(meta, body))
        assert document.problem is None
        assert document.meta == {key: value for key, value in meta.items() if value is not None}
        assert document.body.strip("\r\n") == body.strip("\r\n")
