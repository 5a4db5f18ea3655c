"""Names the files of the vault that a client reads by itself at each start of a session: those of OpenClaw's workspace,
`AGENTS.md`, and what `CLAUDE.md` imports. Other clients get them from us."""

import os
import re
from collections.abc import Iterator, Set
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from mcp_memory.integrations.clients.claude_code import ClaudeCode
from mcp_memory.integrations.clients.client import ClientPaths
from mcp_memory.integrations.clients.codex import Codex
from mcp_memory.integrations.clients.openclaw import OpenClaw
from mcp_memory.integrations.clients.opencode import OpenCode
from mcp_memory.models import NotePath
from mcp_memory.runtime.paths import absolute
from mcp_memory.vault.note_file import MEMORY, SOUL
from mcp_memory.vault.vault import Vault

_AGENTS, _USER = NotePath("AGENTS.md"), NotePath("USER.md")
_BY_OPENCLAW = frozenset({_AGENTS, _USER, SOUL, NotePath("IDENTITY.md"), MEMORY})
"""The files that OpenClaw 2026.9 reads: neither `TOOLS.md`, as it did before, nor logs, except once after a reset."""

_BY_CLAUDE = ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md")
_FENCED = re.compile(r"^ *(```|~~~).*?^ *\1", re.MULTILINE | re.DOTALL)
_IMPORT = re.compile(r"(?<!\S)@([^\s`]+)")


def workspace_files(vault: Vault, now: datetime) -> list[NotePath]:
    """Return the files besides `MEMORY.md`, with the logs of today and yesterday; empty if the vault has no
    `SOUL.md`, and so isn't a workspace."""
    if not vault.glance(SOUL):
        return []
    days = now.date(), now.date() - timedelta(days=1)
    logs = (path for day in days for path in reversed(vault.daily_log.parts(day)))
    return [_USER, SOUL, NotePath("TOOLS.md"), _AGENTS, *logs]


def files_loaded_by(client: str, folder: str, vault: Vault) -> Set[NotePath]:
    """Return the files of the vault that this client reads by itself in a session in this folder, if it is known. Reads
    OpenClaw's configuration, or `CLAUDE.md`."""
    home = vault.roots()[""]
    root = home.resolve()
    roots, place = {home, root}, Path(folder)  # compared without a look at the disk, as a folder may be no path at all
    if client == OpenClaw.name:
        workspace = OpenClaw().workspace(ClientPaths(Path(absolute("~")), os.environ))
        return _BY_OPENCLAW if place in roots or workspace.resolve() == root else frozenset()
    if client == ClaudeCode.name:
        return {*_imported(root)} if roots & {place, *place.parents} else frozenset()
    return {_AGENTS} if place in roots and client in {Codex.name, OpenCode.name} else frozenset()


def _imported(root: Path) -> Iterator[NotePath]:
    """Yield the files of the vault that `CLAUDE.md` is a link to, or imports as `@path`, which counts outside code."""
    files = [(root / name).resolve() for name in _BY_CLAUDE]
    for file in files:  # more are added below
        with suppress(OSError, ValueError):  # outside the vault, unreadable, or a name that no file can have
            if file.is_file():
                yield NotePath(file.relative_to(root).as_posix())
                names = _IMPORT.findall(_FENCED.sub("", file.read_text("utf-8", "replace")))
                imported = [(file.parent / name.rstrip(".,;:)")).resolve() for name in names]
                files += [each for each in imported if each not in files]
