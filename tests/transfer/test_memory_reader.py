"""Memories kept as records. Samples of claude-mem 13.25.3 and mem0ai 2.2.1 by these programs; Letta's are as in the
agent files that it publishes, OpenMemory's as in its source, ChatGPT's and claude.ai's as programs that read them say.
"""

from __future__ import annotations

import json
import sqlite3
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_memory.errors import InvalidInput, McpMemoryError
from mcp_memory.runtime.limited_child import LimitExceeded
from mcp_memory.storage.path_rules import validate_new
from mcp_memory.transfer.import_provenance import imported_id
from mcp_memory.transfer.item import SourceKind, SourceReading
from mcp_memory.transfer.memories import limited_reader
from mcp_memory.transfer.target_paths import place_items
from tests.transfer.sources import archive, bio, conversation, laid, left, reading

SAMPLES = Path(__file__).with_name("samples")


def test_claude_mem(tmp_path: Path) -> None:
    found = reading(database(tmp_path / "claude-mem.db", (SAMPLES / "claude_mem.sql").read_text()))
    assert found.source.kind is SourceKind.CLAUDE_MEM
    fix, decision, summary = found.items
    assert fix.text == (
        "The return URL is encoded once more\n\nThe login page dropped everything after the question mark.\n\n"
        "- auth/redirect.ts encodes the return URL\n- The tests missed it because they use no query\n\n"
        "Files: `auth/redirect.ts`\n"
    )
    assert (fix.properties["kind"], decision.properties["kind"], summary.properties["kind"]) == (
        "fix",
        "decision",
        "log",
    )
    assert fix.added["tags"] == ["problem-solution", "gotcha"]
    assert {item.properties["project"] for item in found.items} == {"shop"}
    assert str(decision.properties["created"]) == "2026-03-15 09:30:00+00:00"
    assert place_items(found.items)[summary.key] == "shop/Fix the login redirect.md"


def test_a_database_that_its_program_has_open(tmp_path: Path) -> None:
    file = database(tmp_path / "data/history.db", (SAMPLES / "mem0_history.sql").read_text())
    with sqlite3.connect(file) as program:
        program.execute("PRAGMA journal_mode = WAL")
        add = "INSERT INTO history (id, memory_id, new_memory, event, created_at) VALUES ('x', 'x', ?, 'ADD', ?)"
        program.execute(add, ["Tabs", "2026-03-01T12:00:00Z"])
        program.commit()
        before = {place.name: place.read_bytes() for place in file.parent.iterdir()}
        assert "history.db-wal" in before
        assert texts(reading(file))[-1] == "Tabs\n"
        assert {place.name: place.read_bytes() for place in file.parent.iterdir()} == before


def test_mem0(tmp_path: Path) -> None:
    history = reading(database(tmp_path / "history.db", (SAMPLES / "mem0_history.sql").read_text()))
    assert history.source.kind is SourceKind.MEM0
    expected = ["Prefers dark mode in every editor\n", "The staging server is called mio and runs Debian 12\n"]
    assert texts(history) == expected, "the last words of each, without the deleted one"
    listed = reading(SAMPLES / "mem0_get_all.json")
    assert texts(listed) == expected
    assert [item.properties["created"] for item in listed.items] == [i.properties["created"] for i in history.items]
    memory = {"content": "Likes tea", "created_at": "2026-03-01T12:00:00+00:00", "category_ids": ["c"]}
    backup = {
        "user": {},
        "apps": [],
        "categories": [{"id": "c", "name": "drinks"}],
        "memories": [{"id": "1", "state": "active", **memory}, {"id": "2", "state": "deleted", **memory}],
    }
    exported = reading(archive(tmp_path / "memories_export_ada.zip", {"memories.json": backup}))
    assert (exported.source.kind, texts(exported)) == (SourceKind.MEM0, ["Likes tea\n"])
    assert exported.items[0].added["tags"] == ["drinks"]
    assert left(exported) == {"2": "it is deleted there"}
    table = "CREATE TABLE memories (id, content, state, created_at); CREATE TABLE apps (id);"
    table += "CREATE TABLE memory_categories (id);"
    table += "INSERT INTO memories VALUES ('1', 'Likes tea', 'active', '2026-03-01 12:00:00.000000')"
    openmemory = reading(database(tmp_path / "openmemory.db", table))
    assert str(openmemory.items[0].properties["created"]) == "2026-03-01 12:00:00+00:00"


@pytest.mark.parametrize("is_in_a_string", [False, True])
def test_letta(tmp_path: Path, is_in_a_string: bool) -> None:
    blocks = [
        {"id": "block-0", "label": "human", "value": "\nFirst name: Ada\n", "limit": 20000},
        {"id": "block-1", "label": "persona", "value": "I am Sam.", "limit": 20000},
        {"id": "block-2", "label": "empty", "value": " "},
    ]
    agent = {"name": "sam", "block_ids": ["block-0", "block-1"], "messages": [{"role": "system"}]}
    file: object = {"agents": [agent], "groups": [], "blocks": blocks, "created_at": "2025-11-21T03:05:34.611233+00:00"}
    place = tmp_path / "sam.af"
    place.write_text(json.dumps(json.dumps(file) if is_in_a_string else file))
    found = reading(place)
    assert found.source.kind is SourceKind.LETTA
    assert [(item.properties["title"], item.text) for item in found.items] == [
        ("human of sam", "First name: Ada\n"),
        ("persona of sam", "I am Sam.\n"),
    ]
    assert str(found.items[0].properties["created"]) == "2025-11-21 03:05:34+00:00"
    assert left(found) == {"1 message": "only memory blocks are imported"}


LISTED = {
    "author": {"role": "assistant"},
    "content": {
        "content_type": "model_editable_context",
        "model_set_context": "# Model Set Context\n\n1. [2024-05-01]. Lives in Lisbon.\n\n2. [2025-01-02]. Uses uv.",
    },
}
TOLD = {
    "author": {"role": "user"},
    "content": {"content_type": "user_editable_context", "user_profile": "The user:\n```I teach.```"},
}


def test_chatgpt(tmp_path: Path) -> None:
    talks = [
        conversation(1, bio(1, "Drinks tea\nLikes bread"), {"author": {"role": "user"}, "content": {"parts": ["hi"]}}),
        conversation(20, LISTED, TOLD),
        conversation(30, bio(30, "Moved to Porto"), bio(31, "Forget that the user lives in Lisbon")),
    ]
    export = archive(tmp_path / "a1-2026-03-02.zip", {"conversations.json": talks, "user.json": {"id": "user-1"}})
    found = reading(export)
    assert found.source.kind is SourceKind.CHATGPT
    assert sorted(texts(found)) == ["I teach.\n", "Lives in Lisbon.\n", "Moved to Porto\n", "Uses uv.\n"], (
        "what was stored before the newest list, and is not in it, was deleted"
    )
    dates = {item.text.strip(): str(item.properties["created"]) for item in found.items}
    assert dates["Lives in Lisbon."] == "2024-05-01 00:00:00+00:00"
    assert dates["Moved to Porto"] == "2026-03-01 12:00:30+00:00"
    assert left(found) == {"3 conversations": "only memories are imported"}
    later = reading(
        archive(tmp_path / "b2-2026-04-02.zip", {"conversations.json": talks, "user.json": {"id": "user-1"}})
    )
    assert [imported_id(later.source, item.key) for item in later.items] == [
        imported_id(found.source, item.key) for item in found.items
    ], "a later export of the same account is the same source"
    unpacked = laid(tmp_path / "export", {"conversations.json": json.dumps(talks)})
    assert texts(reading(unpacked)) == texts(reading(unpacked / "conversations.json")) == texts(found)


def test_claude_ai(tmp_path: Path) -> None:
    memory = {"conversations_memory": "**Work**\n\nAda runs a shop.", "project_memories": {"p": "Ships on Tuesday."}}
    export = {
        "users.json": [{"uuid": "a", "full_name": "Ada"}],
        "memories.json": [{**memory, "account_uuid": "a"}],
        "projects.json": [{"uuid": "p", "name": "Shop", "prompt_template": "Be brief.", "updated_at": "2026-03-01"}],
        "conversations.json": [{"uuid": "c", "chat_messages": []}],
    }
    found = reading(archive(tmp_path / "data-2026-03-02-batch-0000.zip", export))
    assert found.source.kind is SourceKind.CLAUDE_AI
    assert {(item.text, item.properties.get("project")) for item in found.items} == {
        ("**Work**\n\nAda runs a shop.\n", None),
        ("Ships on Tuesday.\n", "Shop"),
        ("Be brief.\n", "Shop"),
    }
    assert str(found.items[-1].properties["created"]) == "2026-03-02 10:00:00+00:00", "as old as the export"
    newer = {"memories/a.json": {**memory, "account_uuid": "a"}, "projects/p.json": export["projects.json"][0]}
    assert sorted(texts(reading(archive(tmp_path / "newer.zip", newer)))) == sorted(texts(found))


def test_what_is_broken_or_hostile(tmp_path: Path) -> None:
    whole = json.dumps([conversation(at, bio(at, f"Fact {at}")) for at in range(20)])
    cut = laid(tmp_path / "cut", {"conversations.json": whole[: len(whole) // 2]})
    found = reading(cut)
    assert 5 < len(found.items) < 15
    assert left(found)["conversations.json"] == f"it is cut off, or no JSON, after {len(found.items)} read"
    with zipfile.ZipFile(tmp_path / "evil.zip", "w") as evil:
        evil.writestr("conversations.json", json.dumps([conversation(1, bio(1, "../../up\x00 and away"))]))
        for name in ("../../../tmp/evil.json", "/etc/evil.json", "C:\\evil.json", "\x1b[2J.json"):
            evil.writestr(name, "{")
    (item,) = reading(tmp_path / "evil.zip").items
    assert validate_new(path := place_items([item])[item.key]) == path
    assert "/" not in path
    whole_zip = archive(tmp_path / "whole.zip", {"conversations.json": [conversation(1, bio(1, "x" * 5000))]})
    laid(tmp_path, {"half.zip": whole_zip.read_bytes()[:300]})
    for broken in ("half.zip", "deep.json", "other.db"):
        laid(tmp_path, {"deep.json": "[" * 200_000, "other.db": b"SQLite format 3\0" + b"x" * 5000})
        with pytest.raises(McpMemoryError) as refused:
            reading(tmp_path / broken, SourceKind.CHATGPT if broken != "other.db" else SourceKind.MEM0)
        assert "cannot be read" in str(refused.value) or "nothing of" in str(refused.value), broken


def limited(monkeypatch: pytest.MonkeyPatch, **limits: int) -> None:
    monkeypatch.setattr(limited_reader, "LIMITS", replace(limited_reader.LIMITS, **limits))


def test_a_large_export_is_read_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, memory_bytes=100 << 20)
    talk = json.dumps(conversation(1, bio(1, "Likes tea"), {"content": {"parts": ["x" * 400_000]}}))
    place = tmp_path / "conversations.json"
    with place.open("w") as file:  # 120 MB on one line
        file.write("[" + ",".join([talk] * 300) + "]")
    assert texts(reading(place)) == ["Likes tea\n"]


ENDLESS = "WITH RECURSIVE n(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM n) SELECT x AS id, 'a' AS title FROM n"


def test_an_endless_view_is_no_table(tmp_path: Path) -> None:
    script = f"CREATE TABLE session_summaries (id); CREATE VIEW observations AS {ENDLESS};"
    place = database(tmp_path / "claude-mem.db", script)
    for kind in (None, SourceKind.CLAUDE_MEM):
        with pytest.raises(InvalidInput):
            reading(place, kind)


def test_a_database_whose_columns_fill_the_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, processor_s=1, memory_bytes=200 << 20)
    tables = "CREATE TABLE observations (id, title); CREATE TABLE session_summaries (id);"
    row = "INSERT INTO observations VALUES (1, 'a'); ALTER TABLE observations ADD COLUMN text AS"
    place = database(tmp_path / "claude-mem.db", f"{tables} {row} (hex(zeroblob(450000000)))")
    with pytest.raises(McpMemoryError, match="memory"):
        reading(place)


def test_a_zip_that_unpacks_to_far_more_than_it_is_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, memory_bytes=200 << 20)
    place = archive(tmp_path / "export.zip", {"memories.json": [{"id": "1", "memory": "Likes tea"}]})
    with zipfile.ZipFile(place, "a", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr("conversations.json", "[" * (40 << 20))
    assert place.stat().st_size < 60_000
    found = reading(place, SourceKind.MEM0)
    assert texts(found) == ["Likes tea\n"] and "unpack to 41,943,040" in left(found)["conversations.json"]


def test_a_zip_whose_values_fill_the_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, memory_bytes=150 << 20)
    place = tmp_path / "export.zip"
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr("conversations.json", "[[" + ",".join(f'{{"{n}":[]}}' for n in range(1_000_000)) + "]]")
    with pytest.raises(LimitExceeded, match="it takes more than 150 MB of memory"):
        reading(place)


def texts(found: SourceReading) -> list[str]:
    return [item.text for item in found.items]


def database(place: Path, script: str) -> Path:
    place.parent.mkdir(exist_ok=True)
    with sqlite3.connect(place) as connection:
        connection.executescript(script)
    connection.close()
    return place
