"""Memories of Codex and Gemini CLI. The samples were written by Codex 0.169.0 (its own memory pipeline, with a stub for
the model), and by Gemini CLI 0.41.2 (`save_memory`) and 0.61.0 (which edits the files)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.transfer.sources import by_key, laid, reading

SAMPLES = Path(__file__).with_name("samples")


@pytest.mark.parametrize("inside", ["", "memories_v2"])
def test_codexs_memories(tmp_path: Path, inside: str) -> None:
    codex = laid(
        tmp_path / ".codex", {"config.toml": "", "AGENTS.md": "Be brief.\n", "skills/.system/x/SKILL.md": "no"}
    )
    note = "extensions/ad_hoc/notes/2026-03-01T10-00-00-tabs.md"
    files = {"raw_memories.md": "no", ".git/HEAD": "no", note: "Use tabs.\n", "skills/tea/SKILL.md": "Boil.\n"}
    for file in (SAMPLES / "codex").rglob("*.md"):
        files[str(file.relative_to(SAMPLES / "codex/memories_v2"))] = file.read_text()
    laid(codex / "memories_v2", files)
    found = reading(codex / inside)
    assert found.source.kind == "codex"
    items = {key.removeprefix("memories_v2/"): item for key, item in by_key(found).items()}
    rollout = "rollout_summaries/2026-11-23T19-06-33-jtWT-login_redirect.md"
    assert {key: item.properties["kind"] for key, item in items.items() if key != "AGENTS.md"} == {
        "memory_summary.md": "reference",
        rollout: "log",
        note: "fact",
        "skills/tea/SKILL.md": "skill",
    }
    assert ("AGENTS.md" in items) == (inside == "")
    assert items[rollout].properties["project"] == "shop"
    assert str(items[rollout].properties["created"]) == "2026-11-23 13:06:33+00:00"
    assert str(items[note].properties["created"]).startswith("2026-03-01 00:00:00")
    assert "encodes the return URL once" in items[rollout].text


def test_geminis_memories(tmp_path: Path) -> None:
    saved = (SAMPLES / "gemini/saved_memories.md").read_text()
    files = {
        "GEMINI.md": f"# Rules\n\nUse uv.\n\n{saved}\n## More\n\n- No emoji\n",
        "tmp/shop/.project_root": "/home/ada/my-shop",
        "tmp/shop/memory/MEMORY.md": "- The dev database listens on 5544\n",
        "tmp/shop/chats/x.json": "{}",
        "settings.json": "{}",
    }
    found = reading(laid(tmp_path / ".gemini", files))
    assert found.source.kind == "gemini"
    assert [item.text for item in found.items] == [
        "My preferred editor is Helix\n",
        "The staging server is called mio\n",
        "# Rules\n\nUse uv.\n\n## More\n\n- No emoji\n",
        "- The dev database listens on 5544\n",
    ]
    assert [item.properties.get("project") for item in found.items] == [None, None, None, "my-shop"]
    alone = reading(laid(tmp_path / "shop", {"GEMINI.md": saved, ".git/HEAD": ""}) / "GEMINI.md")
    assert [item.properties["title"] for item in alone.items] == [
        "My preferred editor is Helix",
        "The staging server is called mio",
    ]
