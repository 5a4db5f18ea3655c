"""Whose session it is, by the environments that hooks were seen with."""

from __future__ import annotations

import pytest

from mcp_memory.hooks.nested import is_nested

CLAUDES_OWN = {"CLAUDECODE": "1", "CLAUDE_CODE_CHILD_SESSION": "1", "CLAUDE_CODE_SESSION_ID": "s"}
"""What Claude Code gives to its hooks, whoever runs it."""
TYPED = {**CLAUDES_OWN, "CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_CODE_SESSION_ATTENDED": "1"}
PRINTED = {**CLAUDES_OWN, "CLAUDE_CODE_ENTRYPOINT": "sdk-cli", "CLAUDE_CODE_SESSION_ATTENDED": "0"}
IN_CLAUDE = {**CLAUDES_OWN, "CLAUDE_CODE_SESSION_ID": "outer", "CLAUDE_CODE_EXECPATH": "/opt/claude.exe"}
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
