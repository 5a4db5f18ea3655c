"""Which command lines in a client's files are ours: those that do what we do, and nothing besides."""

from __future__ import annotations

import pytest

from mcp_memory.integrations.commands import OurCommand, read

OURS = {
    "mcp-memory headers --client claude-code": None,
    "/opt/a-b/bin/mcp-memory headers --client claude-code --project repo": None,
    "/usr/bin/python3.11 -P -m mcp_memory headers --client claude-code --config /c.toml": None,
    '"/home/ada/my tools/mcp-memory" headers --vault "/R&D; <\\$5> \\"x\\"" --client claude-code': '/R&D; <$5> "x"',
    "mcp-memory headers --vault '/my $notes' --client claude-code": "/my $notes",
    "/usr/bin/env -u PYTHONHOME MCP_MEMORY_STATE=/s /opt/mcp-memory headers --client claude-code": None,
    "/usr/bin/env -u PYTHONHOME -u PYTHONPATH mcp-memory headers --client claude-code": None,
    '/usr/bin/env MCP_MEMORY_STATE=/s "MCP_MEMORY_MODELS=/a b" /opt/mcp-memory headers --client claude-code': None,
}

OTHERS = [
    "./mcp-memory headers --client claude-code",
    "bin/mcp-memory headers --client claude-code",
    "./evil.sh mcp-memory headers --client claude-code",
    "/bin/sh /tmp/mcp-memory headers --client claude-code",
    "python -P -m mcp_memory headers --client claude-code",
    "/usr/bin/python3 -m mcp_memory headers --client claude-code",
    "A=1 mcp-memory headers --client claude-code",
    "/usr/bin/env LD_PRELOAD=/x MCP_MEMORY_STATE=/s mcp-memory headers --client claude-code",
    "/usr/bin/env -u",
    "/usr/bin/env -u PYTHONHOME -u PATH mcp-memory headers --client claude-code",
    "/usr/bin/env -u PATH mcp-memory headers --client claude-code",
    "/usr/bin/env -S evil mcp-memory headers --client claude-code",
    "env MCP_MEMORY_STATE=/s mcp-memory headers --client claude-code",
    "/usr/bin/env MCP_MEMORY_STATE mcp-memory headers --client claude-code",
    "mcp-memory headers --client claude-code --x $(evil)",
    "mcp-memory headers --client claude-code --x y",
    'mcp-memory headers --client claude-code --project "$(evil)"',
    'mcp-memory headers --client claude-code --project "`evil`"',
    "mcp-memory headers --client",
    "mcp-memory headers '--client claude-code",
    "mcp-memory",
    "",
    None,
    *(f"mcp-memory headers --client claude-code {sign} evil" for sign in [";", "&", "|", "<", ">", "&&", "\n", "#"]),
    *(f"mcp-memory headers --client claude-code{sign}" for sign in [";", "&", "\n", "\r", "`x`", "$(x)", "$HOME"]),
]


@pytest.mark.parametrize("line", OURS)
def test_what_install_writes_is_ours(line: str) -> None:
    assert read(line) == OurCommand("headers", "claude-code", OURS[line])


@pytest.mark.parametrize("line", OTHERS)
def test_what_does_anything_else_is_not(line: str | None) -> None:
    assert read(line) is None
