"""Foreign sources: each kind is told by itself, and read without a loss of dates, tags, titles or links."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp_memory.errors import InvalidInput, NotFound, Refused, StorageFailed
from mcp_memory.integrations.config_entries import BEGIN, InstructionBlock
from mcp_memory.transfer.detect import detect_source, read
from mcp_memory.transfer.target_paths import add_aliases, place_items
from tests.transfer.sources import (
    by_key,
    claude_memory,
    laid,
    left,
    obsidian,
    openclaw,
    reading,
)


def test_an_obsidian_vault(tmp_path: Path) -> None:
    found = reading(obsidian(tmp_path / "Notes"))
    assert found.source.kind == "obsidian"
    items = by_key(found)
    assert set(items) == {"Kyoto Trip.md", "Places/Ryokan.md", "Daily/2026-11-20.md"}
    assert items["Kyoto Trip.md"].added["tags"] == ["travel", "japan", "todo/book"]
    assert str(items["Kyoto Trip.md"].properties["created"]).startswith("2026-03-01 00:00:00")
    assert str(items["Daily/2026-11-20.md"].properties["created"]).startswith("2026-11-20")
    assert left(found) == {"files/map.png": "no Markdown", "Board.canvas": "no Markdown"}


def test_an_openclaw_workspace(tmp_path: Path) -> None:
    found = reading(openclaw(tmp_path / "workspace"))
    assert found.source.kind == "openclaw"
    kinds = {key: item.properties.get("kind") for key, item in by_key(found).items()}
    assert kinds == {
        "SOUL.md": "reference",
        "USER.md": "preference",
        "MEMORY.md": "fact",
        "memory/2026-11-20.md": "log",
        "skills/tea/SKILL.md": "skill",
    }
    assert left(found) == {"node_modules": "never looked into"}


def test_lines_that_install_put_in_stay_out(tmp_path: Path) -> None:
    found = laid(tmp_path / ".claude", {"CLAUDE.md": "Use uv.\n", "rules/a.md": "Tabs.\n"})
    (before, _), block = reading(found).items, InstructionBlock("Search first.")
    laid(found, {"CLAUDE.md": block.insert("Use uv.\n"), "rules/a.md": block.insert("")})
    ((after,), left_out) = reading(found).items, left(reading(found))
    assert (after.text, after.digest) == (before.text, before.digest)
    assert left_out == {"rules/a.md": "it has only the lines that mcp-memory put in"}
    laid(found, {"CLAUDE.md": f"{BEGIN}\nUse uv.\n"})
    assert reading(found).items[0].text == f"{BEGIN}\nUse uv.\n", "what can't be told apart stays"


@pytest.mark.parametrize("inside", ["", "projects", "projects/-home-ada-my-shop", "projects/-home-ada-my-shop/memory"])
def test_claude_codes_own_memory(tmp_path: Path, inside: str) -> None:
    claude_memory(tmp_path / ".claude")
    found = reading(tmp_path / ".claude" / inside)
    assert found.source.kind == "claude-code"
    items = {key.rpartition("/")[2]: item for key, item in by_key(found).items()}
    assert set(items) - {"CLAUDE.md"} == {"MEMORY.md", "feedback_tests.md", "project_deploy.md"}
    assert ("CLAUDE.md" in items) == (inside == "")
    tests, deploy = items["feedback_tests.md"], items["project_deploy.md"]
    assert (tests.properties["kind"], deploy.properties["kind"]) == ("preference", "fact")
    assert tests.properties["title"] == "Integration tests hit a real database"
    assert tests.properties["project"] == "my-shop"
    assert found.left_out == []
    known = add_aliases(found.items, place_items(found.items))
    assert next(item for item in known if item.key == deploy.key).added["aliases"] == ["deploy-day"]


def test_the_instructions_of_a_repository(tmp_path: Path) -> None:
    files = {
        "CLAUDE.md": "A",
        ".claude/CLAUDE.md": "B",
        ".claude/rules/py/x.md": "C",
        "docs/x.md": "no",
        "rules/y.md": "no",
    }
    found = reading(laid(tmp_path / "shop", files))
    assert {key: item.properties["kind"] for key, item in by_key(found).items()} == {
        "CLAUDE.md": "workflow",
        ".claude/CLAUDE.md": "workflow",
        ".claude/rules/py/x.md": "workflow",
    }
    assert set(place_items(found.items).values()) == {"CLAUDE.md", "_claude/CLAUDE.md", "_claude/rules/py/x.md"}
    assert [item.text for item in reading(tmp_path / "shop/CLAUDE.md").items] == ["A"]


def test_a_link_by_a_notes_title_keeps_working(tmp_path: Path) -> None:
    files = {
        "coffee/brewing.md": "- relates to [[Tea Ceremony]]\n",
        "tea.md": "---\ntitle: Tea Ceremony\n---\nGreen.\n",
    }
    found = reading(laid(tmp_path / "Notes", files))
    known = add_aliases(found.items, place_items(found.items))
    assert {item.key: item.added.get("aliases") for item in known}["tea.md"] == ["Tea Ceremony"]


def test_names_that_no_system_keeps_apart_or_takes(tmp_path: Path) -> None:
    names = ["Plan.md", "plan.md", "Folder/a.md", "folder/A.md", "what?.md", "con.md", "dots../x.md", f"{'ä' * 120}.md"]
    found = reading(laid(tmp_path / "Notes", dict.fromkeys(names, "text")), "obsidian")
    places = place_items(found.items)
    assert len({path.casefold() for path in places.values()}) == len(names)
    assert places["Plan.md"] == "Plan.md"
    assert places["plan.md"].startswith("plan-")
    assert places["folder/A.md"].startswith("Folder/A")
    assert (places["what?.md"], places["con.md"], places["dots../x.md"]) == ("what-.md", "_con.md", "dots/x.md")


def test_what_cannot_be_read_is_a_fact(tmp_path: Path) -> None:
    root = laid(
        tmp_path / "Notes",
        {
            "good.md": "fine",
            "utf16.md": "no".encode("utf-16"),
            "latin.md": b"caf\xe9",
            "huge.md": b"x" * 1_000_001,
            "vault/.mcp-memory/vault.toml": "",
            "vault/note.md": "in the vault",
        },
    )
    (root / "loop").symlink_to(root)
    (root / "linked.md").symlink_to(root / "good.md")
    os.mkfifo(root / "pipe.md")
    (root / os.fsdecode(b"n\xff.md")).write_text("x")
    source = detect_source(root, "obsidian", vault=root / "vault")
    found = read(source, vault=root / "vault", most_bytes=1_000_000, project_of=lambda _: None)
    assert list(by_key(found)) == ["good.md"]
    assert {path: why.partition(":")[0] for path, why in left(found).items()} == {
        "utf16.md": "the file is UTF-16; save it as UTF-8",
        "latin.md": "invalid UTF-8 at byte 3",
        "huge.md": "'huge.md' is larger than 1000000 bytes",
        "vault": "it is the vault itself",
        "loop": "it is a symbolic link",
        "linked.md": "it is a symbolic link",
        "pipe.md": "it is a FIFO",
        "n\\udcff.md": "its name is not valid UTF-8",
    }


@pytest.mark.parametrize(
    "files",
    [
        {"a.md": "x"},
        {"2026/a.md": "x"},
        {"a/b/c/d.MD": "x", "photo.jpg": ""},
        {"a/n.markdown": "x"},
        {"program/.git/HEAD": "x", "program/README.md": "x", "notes/a.md": "x"},
    ],
)
def test_markdown_at_any_depth_makes_a_folder_of_notes(tmp_path: Path, files: dict[str, str]) -> None:
    found = reading(laid(tmp_path / "Notes", files))
    assert found.source.kind == "obsidian"
    assert all(item.path.lower().endswith(".md") for item in found.items)


@pytest.mark.parametrize(
    "name", ["kiln.md", "What is a kiln? | Wikipedia.md", "page.markdown", "en.wikipedia.org_wiki_Kiln.md"]
)
def test_one_file_of_markdown_is_a_source(tmp_path: Path, name: str) -> None:
    page = "---\ntitle: Kiln\nsource: https://example.org/kiln?page=1#top\n---\n# Kiln\n\nIt is hot.\n"
    laid(tmp_path, {name: page, "beside.md": "not wanted"})
    [item] = reading(tmp_path / name).items
    assert (item.key, item.text, item.path.endswith(".md")) == (name, page, True)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "is empty"),
        ({"a.txt": "x", "b/c.txt": "x"}, "has no Markdown"),
        ({".hidden/a.md": "x"}, "has no Markdown"),
        ({"README.md": "x", ".git/HEAD": "x"}, "is a repository"),
        ({"one/README.md": "x", "one/.git/HEAD": "x"}, "has no Markdown"),
        ({"node_modules/a/README.md": "x"}, "has no Markdown"),
    ],
)
def test_why_a_folder_is_no_source_is_said(tmp_path: Path, files: dict[str, str], said: str) -> None:
    root = laid(tmp_path / "Notes", files)
    root.mkdir(exist_ok=True)
    with pytest.raises(InvalidInput, match=said):
        detect_source(root, None, vault=tmp_path / "vault")


def test_what_is_no_source(tmp_path: Path) -> None:
    vault = laid(tmp_path / "vault", {"notes/a.md": "x"})
    laid(
        tmp_path,
        {
            "plain/a.txt": "x",
            "program/a.md": "x",
            "program/.git/HEAD": "x",
            "other.txt": "x",
            "half.jsonl": '{"type": "entity", "name": "A", "obser',
        },
    )
    (tmp_path / "round").symlink_to("round")
    os.mkfifo(tmp_path / "pipe")
    for place, kind, error in (
        (tmp_path / "none", None, NotFound),
        (tmp_path / "plain", None, InvalidInput),
        (tmp_path / "program", None, InvalidInput),
        (tmp_path / "other.txt", None, InvalidInput),
        (tmp_path / "half.jsonl", None, InvalidInput),
        (tmp_path / "other.txt", "obsidian", InvalidInput),
        (tmp_path / "plain", "jsonl", InvalidInput),
        (tmp_path / "round", None, StorageFailed),
        (tmp_path / "pipe", None, Refused),
        (vault / "notes", "obsidian", Refused),
        (vault, "obsidian", Refused),
    ):
        with pytest.raises(error):
            detect_source(place, kind, vault=vault)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_no_permission(tmp_path: Path) -> None:
    root = laid(tmp_path / "Notes", {"a.md": "x", "b.md": "y"})
    (root / "a.md").chmod(0)
    assert left(reading(root, "obsidian")) == {"a.md": "not readable: permission denied"}
