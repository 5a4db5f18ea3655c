"""A file read as a note, and a draft rendered as one."""

from __future__ import annotations

import hashlib
import string
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory.errors import InvalidInput, McpMemoryError, Refused
from mcp_memory.models import Etag, NoteId, NotePath, NoteState
from mcp_memory.storage.path_rules import validate_new
from mcp_memory.vault import draft as drafts
from mcp_memory.vault.config import KindConfig, NoteKinds
from mcp_memory.vault.note_file import Layout, NoteFile, derive_title, read_note, slug
from tests.support.world import KINDS, NOON, draft

AGENT = Layout("Agent", UTC)
ROOT = Layout("", UTC)


def note(content: str | bytes, path: str = "notes/fact/a.md", layout: Layout = ROOT) -> NoteFile:
    data = content.encode() if isinstance(content, str) else content
    return read_note(NotePath(path), data, Etag(hashlib.sha256(data).hexdigest()), "1", layout, KINDS)


# -- reading -------------------------------------------------------------------------------------------------------


def test_the_frontmatter_is_understood() -> None:
    record = note(
        "---\nid: 01ABC\ntitle: Kettle\nkind: fix\nproject: tea\nstatus: archived\ncreated: 2026-11-01\n"
        "updated: 2026-11-02T10:00:00+01:00\ntags: [hot, water]\nexpires_at: 2027-01-01\nsource: codex\nsession: s1\n"
        "---\n\nDescale it.\n"
    ).record
    assert (record.id, record.title, record.kind, record.project) == ("01ABC", "Kettle", "fix", "tea")
    assert (record.state, record.tags, record.source, record.session) == (
        NoteState.ARCHIVED,
        ("hot", "water"),
        "codex",
        "s1",
    )
    assert record.updated == datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
    assert record.created == datetime(2026, 11, 1, tzinfo=UTC)
    assert record.content_hash == hashlib.sha256(b"Descale it.").hexdigest()


@pytest.mark.parametrize(
    ("path", "head", "state"),
    [
        ("notes/a.md", "", NoteState.ACTIVE), ("_archive/a.md", "", NoteState.ARCHIVED),
        ("_inbox/a.md", "", NoteState.INBOX),
        ("notes/a.md", "status: superseded", NoteState.ARCHIVED), ("_inbox/a.md", "status: deleted", NoteState.DELETED),
        ("notes/a.md", "status: nonsense", NoteState.ACTIVE), ("_archive.md", "", NoteState.ACTIVE),
    ],
)  # fmt: skip
def test_its_state_follows_from_place_and_status(path: str, head: str, state: NoteState) -> None:
    assert note(f"---\n{head}\n---\nx", path).record.state is state
    assert note(f"---\n{head}\n---\nx", f"Agent/{path}", AGENT).record.state is state


def test_outside_home_folder_names_mean_nothing() -> None:
    assert note("x", "_archive/a.md", AGENT).record.state is NoteState.ACTIVE
    assert note("x", "notes/fix/a.md", AGENT).record.kind == "note"
    assert note("x", "notes/fix/deep/a.md", ROOT).record.kind == "fix"


def test_without_a_head_the_file_itself_names_the_note() -> None:
    assert note("text\n# The Heading #\n").record.title == "The Heading"
    assert note("no heading", "a/name.md").record.title == "name"
    assert note("x", "a/name.md").record.id == "path:a/name.md"


@pytest.mark.parametrize("forged", ["path:notes/other.md", "memory/2026-11-21.md#0123456789abcdef", "a/b", "x.md", " "])
def test_an_id_that_could_mean_another_note_is_no_id(forged: str) -> None:
    assert note(f'---\nid: "{forged}"\n---\nx', "notes/a.md").record.id == "path:notes/a.md"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"\xff\xfet\0e\0a\0", "UTF-16"), (b"tea \xff pot", "invalid UTF-8"), (b"\0\1\2" * 99, "binary"),
        (b"---\nid: [\n---\ntea", "frontmatter"), (b"---\na: &x [1]\nb: *x\n---\ntea", "frontmatter"),
        (b"---\nid: a\nid: b\n---\ntea", "repeats"),
        (b"---\nx: " + b"[" * 30 + b"]" * 30 + b"\n---\ntea", "frontmatter"),
        (b"---\nid: " + b"x" * 70_000 + b"\n---\ntea", "frontmatter"),
    ],
)  # fmt: skip
def test_what_cannot_be_understood_is_named(content: bytes, problem: str) -> None:
    assert problem in (note(content).record.problem or "")


def test_a_rule_in_the_body_is_no_frontmatter() -> None:
    read = note("---\ntitle: A\n---\nabove\n\n---\n\nid: below\n")
    assert read.record.id == "path:notes/fact/a.md"
    assert read.body == "above\n\n---\n\nid: below\n"


@given(
    st.binary(max_size=300)
    | st.text(max_size=300).map(lambda t: f"---\ntitle: {t}\n---\n{t}".encode("utf-8", "replace"))
)
def test_any_bytes_are_a_note(content: bytes) -> None:
    record = note(content).record
    assert record.title
    assert record.id
    for text in (record.title, record.id, record.kind, record.project or "", *record.tags):
        text.encode()  # storable: no lone surrogate


@pytest.mark.parametrize("key", ["title", "id", "project", "session", "kind", "tags", "status"])
@pytest.mark.parametrize(
    "value", ['"\\ud800"', '"\\0"', "0x" + "f" * 5000, "0b" + "1" * 20000, ".nan", "!!binary aGk=", "2026-13-45", "{}"]
)
def test_a_hostile_value_does_no_harm(key: str, value: str) -> None:
    record = note(f"---\n{key}: {value}\n---\nx").record
    for text in (record.title, record.id, record.kind, record.project or "", record.session or "", *record.tags):
        text.encode()
        assert "\0" not in text


# -- writing -------------------------------------------------------------------------------------------------------


@given(st.text(min_size=1, max_size=200), st.none() | st.text(min_size=1, max_size=60))
def test_what_is_rendered_reads_back_the_same(content: str, title: str | None) -> None:
    wanted = draft(content, title=title, tags=("a", "a", "b"), project="p")
    try:
        drafts.check(wanted, secrets_allowed=True)
    except InvalidInput:
        return
    data = drafts.render(wanted, NoteId("01X"), NOON, NoteId("01W"))
    read = note(data)
    assert read.record.problem is None
    assert read.record.content_hash == wanted.content_hash
    assert (read.record.id, read.record.kind, read.record.project) == ("01X", "fact", "p")
    assert read.record.tags == ("a", "b")
    assert read.record.created == NOON
    assert read.body.strip("\r\n") == content.strip("\r\n")


@given(st.text(max_size=300))
def test_any_title_makes_a_name_that_every_file_system_takes(title: str) -> None:
    validate_new(f"notes/{slug(title)}.md")


@pytest.mark.parametrize(
    "title", ["con", "NUL", "com1", "Aux.", "lpt9", "..", "/", "\u202e", "名" * 99, "x" * 999, "🫖"]
)
def test_hard_titles_too(title: str) -> None:
    validate_new(f"notes/{slug(title)}.md")


def test_titles_are_short() -> None:
    assert derive_title("# Heading\nrest") == "Heading"
    assert derive_title("First sentence. Second one.") == "First sentence."
    for whole in (
        "Ask Dr. Weber before the archive is touched.",
        "In tokio::select! the losing branch is dropped.",
        "Never store a naive datetime. use UTC instead.",
        "Use tools, e.g. Ruff.",
        "The U.S. Treasury pays Mr. J. R. Smith at 5 p.m. Fridays.",
        "See Fig. 3 and Vol. 2 of Knuth et al. Then decide.",
        "Call Rust's println! Macro here.",
        "Wir nutzen Version 3.11.2 von https://example.com/a?b=c!",
        "Das gilt z. B. für Herrn Prof. Dr. med. Weber bzw. Frau Kaya.",
        "Der Termin ist am 3. Mai oder vom 24.12. Mittags bis zum 4. Quartal.",
        "12. Oktober ist der Stichtag der Nr. 5.",
        "1. Stop the daemon.",
        "Yahoo! Inc. bought it.",
        "!important is needed in CSS.",
        "Edit main.c.",
        "Der Port ist 80.",
        "The answer is no.",
    ):
        assert derive_title(f"{whole} More follows.") == whole
    assert derive_title("Run `make. All` in `x -> y`. Then wait.") == "Run make. All in x -> y."
    assert derive_title("> > **Never** use `**kwargs`. Why?") == "Never use **kwargs."
    assert len(derive_title("word " * 500)) <= 102
    assert len(derive_title("x" * 5000)) <= 102
    assert derive_title("***\n---\n") == "Untitled note"


@pytest.mark.parametrize(
    ("content", "rest", "message"),
    [
        ("", {}, "content is empty"), (" \n\t", {}, "content is empty"),
        ("x" * 1_000_001, {}, "larger than 1,000,000 bytes"),
        ("é" * 600_000, {}, "larger than"), ("a\0b", {}, "control character U\\+0000"), ("\x1b[2J", {}, "U\\+001B"),
        ("\ud800", {}, "surrogate"), ("x", {"title": "a\nb"}, "title must be one line"),
        ("x", {"title": "t" * 201}, "title"),
        ("x", {"title": " "}, "title is empty"), ("x", {"tags": ("a\nb",)}, "tag must be one line"),
        ("x", {"tags": ("",)}, "tag is empty"), ("x", {"tags": ("t",) * 33}, "33 tags"),
        ("x", {"tags": ("\ud800",)}, "tag"),
        ("x", {"project": "p\u2028q"}, "project must be"), ("x", {"session": "s" * 101}, "session has 101"),
        ("x", {"source": "\x07"}, "source must be"),
    ],
)  # fmt: skip
def test_a_bad_draft_says_what_is_wrong(content: str, rest: dict, message: str) -> None:
    with pytest.raises(InvalidInput, match=message) as refused:
        drafts.check(draft(content, **rest), secrets_allowed=False)
    assert refused.value.hint


def test_a_secret_is_refused_unless_a_person_allows_it() -> None:
    secret = draft(f"-----BEGIN RSA PRIVATE KEY-----\nMIIE{string.ascii_letters}\n-----END RSA PRIVATE KEY-----")
    with pytest.raises(Refused, match="secret") as refused:
        drafts.check(secret, secrets_allowed=False)
    assert "MIIE" not in str(refused.value)
    drafts.check(secret, secrets_allowed=True)


def test_a_kind_with_a_term_expires() -> None:
    task = note(drafts.render(draft("x", "task"), NoteId("1"), NOON, None)).record
    assert task.expires_at == NOON + timedelta(days=7)
    until = NOON + timedelta(days=1)
    assert note(drafts.render(draft("x", "task", expires_at=until), NoteId("1"), NOON, None)).record.expires_at == until


# -- kinds ---------------------------------------------------------------------------------------------------------


def test_an_unknown_kind_lists_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match="unknown kind 'fixx'") as refused:
        KINDS.get("fixx")
    assert "did you mean 'fix'" in refused.value.hint
    assert all(name in refused.value.hint for name in KINDS.names)


def test_kinds_are_configuration() -> None:
    kinds = NoteKinds({"recipe": KindConfig(ttl_days=3), "fact": KindConfig("facts/here")})
    assert (kinds.get("recipe").folder, kinds.get("recipe").ttl_days) == ("notes/recipe", 3)
    assert kinds.get("fact").folder == "facts/here"
    for bad in ("", "a b", "../x", "_x", "ünder"):
        with pytest.raises(McpMemoryError):
            NoteKinds({bad: KindConfig()})
