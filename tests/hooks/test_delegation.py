"""Whose session it is, by the environments that hooks were seen with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcp_memory.hooks.hook_input import is_nested
from tests.capture.written import lately, line
from tests.daemon.place import Place, eventually
from tests.hooks.client import Session

CLAUDES_OWN = {"CLAUDECODE": "1", "CLAUDE_CODE_CHILD_SESSION": "1", "CLAUDE_CODE_SESSION_ID": "s"}
"""What Claude Code gives to its hooks, whoever runs it."""
TYPED = {**CLAUDES_OWN, "CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_CODE_SESSION_ATTENDED": "1"}
PRINTED = {**CLAUDES_OWN, "CLAUDE_CODE_ENTRYPOINT": "sdk-cli", "CLAUDE_CODE_SESSION_ATTENDED": "0"}
IN_CLAUDE = {**CLAUDES_OWN, "CLAUDE_CODE_SESSION_ID": "outer", "CLAUDE_CODE_EXECPATH": "/opt/Größe/claude.exe"}
IN_CODEX = {"CODEX_CI": "1", "CODEX_THREAD_ID": "outer", "CODEX_TOOL_CALL_ID": "call_3"}


@pytest.mark.parametrize(
    ("client", "environ", "nested"),
    [
        ("claude-code", TYPED, False),
        ("claude-code", PRINTED, False),  # a person's claude -p
        ("claude-code", {**IN_CLAUDE, **PRINTED}, True),
        ("claude-code", {**IN_CODEX, **PRINTED}, True),
        ("claude-code", {**IN_CLAUDE, **IN_CODEX, **TYPED}, False),  # a terminal that an agent opened
        ("codex", {"CODEX_MANAGED_BY_NPM": "1"}, False),  # a person's codex, or codex exec
        ("codex", IN_CLAUDE, True),
        ("codex", IN_CODEX, True),
        ("codex", {**IN_CODEX, "CODEX_THREAD_ID": "s"}, False),
        ("openclaw", {}, False),
        ("openclaw", IN_CLAUDE, True),
    ],
)
def test_another_agents_session_is_told_apart(client: str, environ: dict[str, str], nested: bool):
    assert is_nested(client, "s", environ) is nested


def ended(place: Place, file: Path, environ: dict[str, str]) -> None:
    """A turn's end, as the hook hears of it in this environment."""
    session = Session(place, file.stem)
    session.run("stop", json.dumps({**session.said("stop"), "transcript_path": str(file)}).encode(), **environ)


def test_what_an_agent_tells_the_one_it_starts_is_no_persons_word(place: Place):
    """It is searchable like all that was said, and stored by nobody; what a person says to `claude -p` is."""
    folder = place.home / ".claude" / "projects" / "-app"
    folder.mkdir(parents=True)
    inner, own = folder / "inner.jsonl", folder / "own.jsonl"
    inner.write_bytes(lately(line(1, "Always answer in one line of JSON.", promptSource="sdk", sessionId="inner")))
    own.write_bytes(lately(line(2, "Always answer in metric units.", promptSource="sdk", sessionId="own")))
    with place.started():
        ended(place, inner, {**IN_CLAUDE, **PRINTED})
        ended(place, own, PRINTED)
        leaves = place.state.root / "transcripts"
        said = eventually(lambda: len(found := [file.read_text() for file in leaves.rglob("*.md")]) == 2 and found)
        assert any("one line of JSON" in text for text in said)
        eventually(lambda: list((place.vault / "notes").rglob("*.md")))
        stored = [file.read_text() for folder in ("notes", "_inbox") for file in (place.vault / folder).rglob("*.md")]
    assert ["metric units" in text for text in stored] == [True]
