"""What clients call a vault's server: a name that each of them takes, whatever the vault's folder is called."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from mcp_memory.cli.clients.connection_entries import SERVER_NAME, entries_to_paste, server_name
from mcp_memory.settings.settings import load

LONGEST_TOOL = 64
"""Characters of a tool's name that models take, with the client's prefix."""


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("zweites Gedächtnis", "memory-zweites-gedachtnis"),
        ("Notes.2026_old", "memory-notes-2026-old"),
        ("x" * 200, "memory-" + "x" * 24),
        ("記憶", None),
    ],
)
def test_it_is_plain_letters(tmp_path: Path, folder: str, name: str | None) -> None:
    settings = load({"HOME": str(tmp_path)}, flags={"vault.path": str(tmp_path / folder)})
    called = server_name(settings)
    assert called == (name or f"memory-{settings.state.root.name[-10:]}"), "the number of its state, where no letter is"
    assert SERVER_NAME.fullmatch(called) and len(f"mcp__{called}-999__memory_search") <= LONGEST_TOOL
    codex = next(
        text
        for place, text in entries_to_paste("generic", settings, "http://127.0.0.1:1/mcp").items()
        if place.startswith("Codex: ")
    )
    assert [*tomllib.loads(codex)["mcp_servers"]] == [called], "as it is pasted"
