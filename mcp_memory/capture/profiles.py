"""Recognizes further profiles of a client: a configuration folder of its own, which `CLAUDE_CONFIG_DIR` or `CODEX_HOME`
names. A profile's sessions are captured only if our hooks are installed in it, because that shows that you want it."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from mcp_memory.errors import McpMemoryError
from mcp_memory.integrations import commands
from mcp_memory.integrations.clients import TITLES
from mcp_memory.integrations.server_entry import read_table
from mcp_memory.projects.repository_facts import find_repository_facts
from mcp_memory.text.parsed_values import list_at, table_at, text_at

_VARIABLES: Mapping[str, str] = {"claude-code": "CLAUDE_CONFIG_DIR", "codex": "CODEX_HOME"}
_LAYOUTS: Mapping[str, tuple[str, tuple[int, ...]]] = {"claude-code": ("projects", (2, 4)), "codex": ("sessions", (4,))}
"""The folder with a profile's transcripts, and how deep below it they are: a session's, and a sub-agent's."""


def profile_root(client: str, file: Path) -> Path | None:
    """Return the folder of transcripts if the path looks like one in a profile. Doesn't touch the disk."""
    name, depths = _LAYOUTS.get(client, ("", ()))
    places = (file.parents[depth - 1] for depth in depths if len(file.parents) > depth)
    return next((place for place in places if place.name == name), None)


def why_not_captured(client: str, root: Path) -> str | None:
    """Return why a profile's transcripts are not read; None if our hooks are installed there. Reads its files."""
    folder = root.parent
    if root.is_symlink():
        return f"{root} is a link"
    if find_repository_facts(str(folder)):
        return f"{folder} is in a git repository, whose author may have written these sessions"
    try:
        is_installed = any(_hooks(client, folder))
    except McpMemoryError as error:
        return error.message
    install = f"{_VARIABLES[client]}={folder} mcp-memory install {client}"
    return None if is_installed else f"memory is not installed in this profile of {TITLES[client]} ({install})"


def _hooks(client: str, folder: Path) -> Iterator[commands.OurCommand]:
    for name in ("settings.json", "hooks.json"):
        events = table_at(read_table(folder / name), "hooks")
        for event in events:
            for group in list_at(events, event):
                for handler in list_at(group, "hooks"):
                    ours = commands.read(text_at(handler, "command"))
                    if ours and ours.verb.startswith("hook ") and ours.client == client:
                        yield ours
