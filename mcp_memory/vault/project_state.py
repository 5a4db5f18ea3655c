"""Places the state of a project: `projects/<name>/` in the managed folder, with `plan.md`, `progress.md` and
`roadmap.md`. Pure."""

from datetime import datetime

from mcp_memory.vault.note_file import Layout

PROGRESS = "progress"


def is_state(path: str, layout: Layout, file: str = "") -> bool:
    """Return whether a path is a file of a project's state, or this one."""
    return path.startswith(layout.in_home("projects/")) and path.endswith(f"/{file}.md" if file else ".md")


def with_progress(before: str, text: str, now: datetime) -> str:
    """Return the text of `progress.md` with a dated entry at its end, unless the last entry says the same."""
    if before.rstrip().endswith(text.strip()):
        return before
    return f"{before.rstrip()}\n\n## {now:%Y-%m-%d %H:%M}\n\n{text.strip()}\n"
