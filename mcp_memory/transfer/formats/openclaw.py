"""Reads OpenClaw's workspaces: `MEMORY.md`, the days in `memory/`, and every other note."""

from mcp_memory.transfer.formats.folder import SourceFolder
from mcp_memory.transfer.formats.markdown import day_in, item_of
from mcp_memory.transfer.item import ImportSource, ProjectOf, SourceReading

_KINDS = {
    "MEMORY.md": "fact",
    "USER.md": "preference",
    "AGENTS.md": "workflow",
    "TOOLS.md": "reference",
    "SOUL.md": "reference",
    "IDENTITY.md": "reference",
    "HEARTBEAT.md": "workflow",
}


def read(source: ImportSource, folder: SourceFolder, _project_of: ProjectOf) -> SourceReading:
    """Read a workspace. Raises StorageFailed if the folder can't be opened."""
    tree = folder.tree()
    items = [item_of(file, kind=_kind(file.path)) for file in folder.files(tree)]
    return SourceReading(source, items, tree.left_out)


def _kind(path: str) -> str | None:
    if path.startswith("memory/") and day_in(path):
        return "log"
    if path.startswith("skills/") and path.endswith("/SKILL.md"):
        return "skill"
    return _KINDS.get(path)
