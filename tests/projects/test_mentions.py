"""A question that names another project gets that project's notes as well."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.world import World

POLLER = "The gauge poller runs every 45 seconds."
DOCS = "The heron pages are built with Hugo 0.139."


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("question", "is_named"),
    [
        ("how often does the tidewatch gauge poller run", True),
        ("How often does the gauge poller in Tidewatch run?", True),
        ("wie oft läuft der tidewatch-Poller für die Pegel (gauge poller)?", True),
        ("à quelle fréquence tourne le gauge poller de tidewatch ?", True),
        ("how often does the tide-watch gauge poller run", True), ("how often does the gauge poller run", False),
        ("what is in tidewatch/gauge/poller.py", False), ("pretidewatch gauge poller", False),
        ("which hugo builds the heron pages of docs", True), ("which hugo builds the heron pages in the docs", False),
        ("docs: which hugo builds the heron pages", False), ("which hugo builds the docs-site heron pages", False),
        ("avec quel hugo les pages heron de la boutique sont-elles construites ?", False),
    ],
)  # fmt: skip
async def test_a_named_project_joins_the_asking_project(question: str, is_named: bool, tmp_path: Path) -> None:
    world = World(tmp_path / "vault", tmp_path / "state", tmp_path / "models")
    world.write(".mcp-memory/projects.toml", '[saltmarsh]\n[tidewatch]\naliases = ["tide-watch"]\n[docs]\n[Boutique]\n')
    async with world.engine() as engine:
        for project, text in (("tidewatch", POLLER), ("docs", DOCS), ("Boutique", f"{DOCS} (boutique)")):
            await engine.append(text, kind="fact", project=project)
        await engine.append("Eels are counted at the weir.", kind="fact", project="saltmarsh")
        found = await engine.search(question, project="saltmarsh")
        assert any(hit.project != "saltmarsh" for hit in found.hits) is is_named
        text = await engine.recall(question, project="saltmarsh")
        assert (POLLER in text or DOCS in text) is is_named
        assert not (await engine.search(question, project="channel:pier")).hits, "a group chat sees its own notes only"
