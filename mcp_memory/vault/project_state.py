"""Places the state of a project: `projects/<name>/` in the managed folder, with `plan.md`, `progress.md` and
`roadmap.md`. Pure."""

from datetime import datetime

from mcp_memory.models import NotePath
from mcp_memory.vault.note_file import Layout

PROJECTS = "projects/"
PLAN, PROGRESS = "plan", "progress"


def state_path(layout: Layout, name: str, file: str) -> NotePath:
    """Return where the project of this name has its plan or its progress."""
    return layout.in_home(f"{PROJECTS}{name}/{file}.md")


def is_state(path: str, layout: Layout, file: str = "") -> bool:
    """Return whether a path is a file of a project's state, or this one."""
    return path.startswith(layout.in_home(PROJECTS)) and path.endswith(f"/{file}.md" if file else ".md")


def with_progress(before: str, text: str, now: datetime) -> str:
    """Return the text of `progress.md` with a dated entry at its end, unless the last entry says the same."""
    if before.rstrip().endswith(text.strip()):
        return before
    return f"{before.rstrip()}\n\n## {now:%Y-%m-%d %H:%M}\n\n{text.strip()}\n"
