"""Invariant 9: nothing outside the vault is written, nothing outside vault and sources read."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_memory.errors import McpMemoryError
from mcp_memory.runtime.atomic_rename import KernelRenames
from tests.support.world import World, draft, found, more, vault_in

SECRET = b"canary outside the vault\n"

parts = st.sampled_from(
    ["..", ".", "", "a", "link", "out.md", "secret.md", "~", ".hidden", "%2e%2e", "..%2f", "a\\..\\b", "\0",
    "\u2024\u2024", "C:",
     "//", "\u202e", "NUL", "\ud800", "@team", "#", "memory", "2026-11-21.md", "x" * 256, "file:", "…"]
)  # fmt: skip
asked = st.lists(parts, min_size=1, max_size=6).map("/".join) | st.text(max_size=30) | parts.map(lambda p: f"/{p}")


@pytest.fixture
def around(tmp_path: Path) -> Path:
    """A vault full of links that lead out of it, with something to steal outside."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_bytes(SECRET)
    vault_in(tmp_path)
    root = tmp_path / "vault"
    (root / "a").mkdir()
    (root / "link").symlink_to(outside)
    (root / "out.md").symlink_to(outside / "secret.md")
    (root / "a" / "link").symlink_to("../../outside")
    os.link(outside / "secret.md", outside / "hard.md")
    return tmp_path


def outside_of(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in (folder / "outside").rglob("*") if path.is_file()}


def test_no_path_leads_out(around: Path) -> None:
    vault = vault_in(around)
    before = outside_of(around)

    @given(path=asked)
    @settings(max_examples=more(300), deadline=None)
    def attack(path: str) -> None:
        for work in (
            lambda: vault.read(path),
            lambda: vault.append(draft("words", path=path)),
            lambda: vault.append(draft("other words"), supersedes=path),
            lambda: vault.forget(path),
            lambda: vault.restore(path),
            lambda: vault.provenance.adopt(vault.read(path)),
        ):
            try:
                answer = work()
            except McpMemoryError as error:
                assert "canary" not in str(error)
                continue
            assert "canary outside" not in getattr(answer, "text", "")

    attack()
    assert outside_of(around) == before
    ours = {"undo", "recovery", "locks", "ledger.jsonl", "changes.jsonl"}
    assert {path.name for path in around.iterdir()} <= {"outside", "vault", *ours}


def test_a_link_swapped_in_at_any_moment(around: Path) -> None:
    vault = vault_in(around)
    inside = around / "vault" / "swap" / "secret.md"
    inside.parent.mkdir()
    inside.write_bytes(b"inside\n")
    before = outside_of(around)
    rounds = met = refused = 0
    root, done, renames = os.open(around / "vault", os.O_RDONLY), threading.Event(), KernelRenames()

    def swap() -> None:
        while not done.is_set():
            renames.exchange(root, "swap", "link")

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        while rounds < more(150) or not met or not refused:
            rounds += 1
            try:
                assert vault.read("swap/secret.md").text == "inside\n"
                met += 1
            except McpMemoryError:
                refused += 1
            with suppress(McpMemoryError):
                vault.append(draft(f"words {rounds}", path=f"swap/{rounds}.md"))
    finally:
        done.set()
        swapping.join()
        os.close(root)
    assert outside_of(around) == before


@pytest.mark.anyio
async def test_links_are_reported_and_never_followed(world: World) -> None:
    outside = world.root.parent / "outside"
    outside.mkdir()
    (outside / "secret.md").write_bytes(SECRET)
    world.write("a.md", "See [it](../outside/secret.md), [this](/etc/passwd) and [that](./link/secret.md).")
    (world.root / "link").symlink_to(outside)
    (world.root / "secret.md").symlink_to(outside / "secret.md")
    (world.root / "loop").symlink_to(world.root)
    async with world.engine(watching=True) as engine:
        assert await found(engine, "canary") == []
        assert set(await engine.problems()) == {"link", "secret.md", "loop"}
        assert "Links:" not in await engine.recall(path="a.md")
