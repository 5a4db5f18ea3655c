"""A small source of each kind, as its program writes it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mcp_memory.projects.projects import Projects
from mcp_memory.transfer.detect import detect_source, read
from mcp_memory.transfer.item import ImportItem, SourceKind, SourceReading


def laid(root: Path, files: Mapping[str, str | bytes]) -> Path:
    for name, content in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def obsidian(root: Path) -> Path:
    return laid(
        root,
        {
            ".obsidian/app.json": "{}",
            ".trash/Old.md": "gone",
            "Kyoto Trip.md": "---\ntags: [travel, japan]\naliases: [Trip]\ncreated: 2026-03-01\n"
            "source: https://example.org\n"
            "always_load: true\n---\n# Kyoto\n\n[[Ryokan]] #todo/book `#code`\n\n"
            "```\n#fence\n```\n![map](files/map.png)\n",
            "Places/Ryokan.md": "Three nights.\r\nSee [the trip](../Kyoto%20Trip.md).\r\n",
            "Daily/2026-11-20.md": "Booked it.\n",
            "files/map.png": b"\x89PNG",
            "Board.canvas": "{}",
        },
    )


def openclaw(root: Path) -> Path:
    return laid(
        root,
        {
            "SOUL.md": "# Soul\n\nBe brief.\n",
            "USER.md": "Ada likes short answers.\n",
            "MEMORY.md": "# Memory\n\n- The server is called mio.\n",
            "memory/2026-11-20.md": "## 10:00 Deploy\n\nDeployed mio.\n",
            "skills/tea/SKILL.md": "---\nname: tea\n---\nBoil water.\n",
            "node_modules/x/README.md": "no",
        },
    )


def claude_memory(root: Path) -> Path:
    """`root` is as `~/.claude`; the folder of its one project's memory is what comes back."""
    laid(
        root,
        {
            "CLAUDE.md": "Use uv.\n",
            "settings.json": "{}",
            "plugins/x/README.md": "no",
            "projects/-home-ada-my-shop/1f.jsonl": '{"type":"user","cwd":"/home/ada/my-shop","message":"x"}\n',
            "projects/-home-ada-my-shop/memory/MEMORY.md": "- [Tests](feedback_tests.md) — no mocks\n",
            "projects/-home-ada-my-shop/memory/feedback_tests.md": "---\nname: tests\n"
            "description: Integration tests hit a real database\ntype: feedback\n---\nNo mocks. See [[deploy-day]].\n",
            "projects/-home-ada-my-shop/memory/project_deploy.md": "---\nname: deploy-day\n"
            "description: Deploys happen on Tuesday\nmetadata:\n  type: project\n---\nOn Tuesdays.\n",
        },
    )
    return root / "projects/-home-ada-my-shop/memory"


def reading(place: Path, kind: SourceKind | None = None) -> SourceReading:
    elsewhere = place.parent / "no-vault"
    source, project_of = detect_source(place, kind, vault=elsewhere), Projects(elsewhere).label_of
    return read(source, vault=elsewhere, most_bytes=1_000_000, project_of=project_of)


def by_key(found: SourceReading) -> dict[str, ImportItem]:
    return {item.key: item for item in found.items}


def left(found: SourceReading) -> dict[str, str]:
    return {each.path: each.why for each in found.left_out}
