"""Puts a note where agents' clients load it: a marked block in AGENTS.md, CLAUDE.md, TOOLS.md, or a skill."""

import re
from collections.abc import Collection
from datetime import datetime
from pathlib import Path

import click

from mcp_memory.cli.clients.installing import find_client_paths
from mcp_memory.cli.command_context import CommandContext, command_options, flag
from mcp_memory.cli.console import Facts
from mcp_memory.cli.notes.note_choice import note_words, with_note
from mcp_memory.errors import NotFound, Refused
from mcp_memory.integrations import config_files, text_file
from mcp_memory.integrations.config_entries import taught_block, taught_items, with_taught_items
from mcp_memory.integrations.config_plan import ConfigChange, ConfigTarget, diff

_FILES = {name: name for name in ("AGENTS.md", "CLAUDE.md", "TOOLS.md")}
_FILES["skill"] = ".claude/skills/project-lessons/SKILL.md"
_FRONTMATTER = re.compile(r"\A---\n.*?^---\n", re.DOTALL | re.MULTILINE)


@click.command()
@note_words
@click.option("--to", "place", type=click.Choice(tuple(_FILES)), required=True, help="The file that clients load.")
@flag("--undo", help="Remove the note from the file.")
@flag("--dry-run", help="Only show what would change.")
@flag("--yes", help="Don't ask.")
@command_options
def teach(cli: CommandContext, note: str, place: str, undo: bool, dry_run: bool, yes: bool) -> None:
    """Put a note (id, path or a few of its words) into a file that agents' clients load at each start.

    The file is in the current git repository, or else in the current folder; skill means
    .claude/skills/project-lessons/SKILL.md.

    Only the lines between our marks change. Each run also updates edited notes there and removes notes that are now
    forgotten, superseded or private. You see a diff first.

    \b
    mcp-memory teach 4C4ABE --to AGENTS.md
    mcp-memory teach 4C4ABE --to AGENTS.md --undo
    mcp-memory teach pnpm lockfile --to skill --dry-run"""
    root = find_client_paths().project or Path.cwd()
    file = root / _FILES[place]
    old = text_file.read(file)
    text = text_file.read_text(file)
    taught = taught_items(text)
    chosen = _chosen_among(cli, note, taught, file) if undo else _chosen(cli, note, root)
    ids = [one for one in taught if one != chosen["id"]] if undo else list(dict.fromkeys([*taught, chosen["id"]]))
    items = {one: _item(cli, one) for one in ids}
    gone = [one for one, item in items.items() if not item]
    kept = list(filter(None, items.values()))
    new = with_taught_items(file.name, text, kept)
    what = ("without the note" if undo else "the note",)
    change = ConfigChange(
        ConfigTarget(file, (taught_block(file.name, kept),), within=root), old, new.encode() or None, what
    )
    if text == new:
        cli.show(
            {"file": str(file), "notes": ids, "gone": gone, "diff": "", "done": False}, [f"{file} already contains it"]
        )
        return
    shown = diff(change, str(file.relative_to(root)))
    if not dry_run:
        config_files.check(change)
    if cli.agree(f"change {file}?", shown.splitlines(), yes=yes, dry_run=dry_run):
        cli.ask("taught", file=str(file))
        config_files.apply(change, datetime.now().astimezone())
    lines = [f"forgotten, superseded or private, so no longer there: {one}" for one in gone]
    outcome = "nothing was changed" if dry_run else f"{'removed from' if undo else 'written to'} {file}"
    way_back = [] if undo or dry_run else [f"  → mcp-memory teach {chosen['id']} --to {place} --undo"]
    payload = {"file": str(file), "notes": [one for one in ids if one not in gone], "gone": gone, "diff": shown}
    cli.show({**payload, "done": not dry_run}, [*lines, outcome, *way_back])


def _chosen(cli: CommandContext, note: str, root: Path) -> Facts:
    """Return the note that the words name. Raises Refused for a note that may not be taught in this folder."""
    chosen = with_note(cli, note, lambda target: cli.ask("show", target=target))
    _check(chosen, cli.projects.label_of(str(root)))
    return chosen


def _chosen_among(cli: CommandContext, note: str, taught: Collection[str], file: Path) -> Facts:
    """Return the note of the file that the words name, which may have been forgotten since. Raises NotFound."""
    if note in taught:  # the note may have been forgotten meanwhile
        return {"id": note}
    chosen = with_note(cli, note, lambda target: cli.ask("show", target=target))
    if chosen["id"] not in taught:
        raise NotFound(f"{chosen['id']} is not in {file}", hint="look for it between mcp-memory's marks")
    return chosen


def _check(note: Facts, project: str | None) -> None:
    if note["kind"] == "log":
        raise Refused("a log entry has no text of its own to teach", hint="store it as a note: mcp-memory append")
    if note["shelf"] != "active":
        raise Refused(f"{note['path']} is {note['shelf']}, not confirmed", hint="accept it first: mcp-memory review")
    if note["private"]:
        raise Refused(f"{note['path']} is private", hint="to teach it, remove its private mark: mcp-memory edit")
    if note["project"] and note["project"] != project:
        raise Refused(f"the note is about the project {note['project']}", hint="run this in its repository")


def _item(cli: CommandContext, note_id: str) -> str:
    """Return the note as an item of a list, below a line with its id; empty if the note is gone, private or no longer
    active."""
    try:
        note = cli.ask("show", target=note_id)
    except NotFound:
        return ""
    body = _FRONTMATTER.sub("", note["text"]).strip().lstrip("# ").replace("<!--", "&lt;!--")
    if note["shelf"] != "active" or note["private"] or not body:
        return ""
    first, *rest = body.splitlines()
    return "\n".join((f"<!-- note {note['id']} -->", f"- {first}", *(f"  {line}".rstrip() for line in rest)))
