"""Commands for links between notes: links, lint."""

from collections.abc import Iterator
from typing import Any

import click

from mcp_memory.cli.console import Heading, confirm, fit, say_all, short_id
from mcp_memory.cli.notes.note_choice import note_words, notes_found, with_note
from mcp_memory.cli.options import CommandContext, command_options
from mcp_memory.errors import InvalidInput
from mcp_memory.text.pluralize import counted

MOST_SHOWN = 100
_MEANINGS = {
    "broken": "lead nowhere", "ambiguous": "may lead to several notes", "moved": "lead to another note than before",
    "forgotten": "lead to a forgotten note", "archived": "lead to an archived note",
    "superseded": "lead to a superseded note",
}  # fmt: skip


@click.command("links")
@note_words
@click.option("--depth", type=click.IntRange(1, 5), default=1, metavar="N", help="Hops to go; default 1, at most 5.")
@command_options
def links(cli: CommandContext, note: str, depth: int) -> None:
    """List what a note links to, what links to it, and with --depth what these link to in turn.

    A link's type is the property or the start of the line that it stands in: `- because: [[note]]`.

    \b
    mcp-memory links KABTV4
    mcp-memory links notes/decision/we-use-uv.md --depth 3
    mcp-memory links KABTV4 --json"""
    answer = with_note(
        cli, note, lambda target: cli.ask("links", target=target, depth=depth),
        lambda: notes_found(cli, note, ("active", "superseded", "archived")),
    )  # fmt: skip
    cli.show(answer, _drawn(answer))


def _drawn(answer: dict[str, Any]) -> Iterator[Any]:
    note, count = answer["note"], answer["count"]
    yield Heading(note.get("title") or note["path"])
    if answer["links"]:
        yield f"links to {len(answer['links'])}:"
    for one in answer["links"][:MOST_SHOWN]:
        to = one["to"]
        where = _named(to[0]) if len(to) == 1 else f"{one['target']}  {f'{len(to)} notes' if to else 'broken'}"
        yield fit(f"  → {one['type']}", where, f":{one['line']}")
    if count:
        types = ", ".join(f"{kind} {number}" for kind, number in answer["types"].items())
        few = f", of which {len(answer['backlinks'])} are shown" if count > len(answer["backlinks"]) else ""
        yield f"linked from {count:,} ({types}){few}:"
    for one in answer["backlinks"]:
        yield fit(f"  ← {one['type']}", _named(one["from"]), f":{one['line']}")
    if answer["neighbours"]:
        yield f"further on {len(answer['neighbours'])}:"
    for one in answer["neighbours"]:
        by = " ".join(f"{'←' if hop['back'] else '→'} {hop['type']} {hop['path']}" for hop in one["by"][:-1])
        last = one["by"][-1]
        yield fit(f"  {by} {'←' if last['back'] else '→'} {last['type']}", _named(one))
    if not (answer["links"] or count):
        yield "nothing links to it, and it links to no note"


def _named(note: dict[str, Any]) -> str:
    state = note.get("state", "active")
    known = f"{short_id(note['id'])}  {note['path']}" if not note["id"].startswith("path:") else note["path"]
    return f"{note['title']}  {known}{'' if state == 'active' else f'  ({state})'}"


@click.command("lint")
@click.option("--fix", is_flag=True, help="Repair links in the agents' own notes.")
@click.option("--personal", is_flag=True, help="With --fix: also in notes that you wrote, after showing the changes.")
@click.option("--orphans", is_flag=True, help="Also list notes without any link, not only their number.")
@click.option("--yes", is_flag=True, help="With --personal: don't ask.")
@command_options
def lint(cli: CommandContext, *, fix: bool, personal: bool, orphans: bool, yes: bool) -> None:
    """List links that lead nowhere, to several notes or to a retired one, and count notes without links.

    Also lists notes about code that has changed since, and properties whose names are misspelled.

    A link that broke because a file was renamed or moved is repaired where one note alone can be meant: by its id, its
    content, or at last its name. Only the link's target is changed, and `undo RUN` takes it back.

    \b
    mcp-memory lint
    mcp-memory lint --fix
    mcp-memory lint --fix --personal     also in your own notes
    mcp-memory lint --orphans --json"""
    if personal and not fix:
        raise InvalidInput("--personal says where to repair", hint="mcp-memory lint --fix --personal")
    if personal and not yes:
        found = [one for one in cli.ask("lint")["found"] if one["repair"]]
        cli.refuse_questions()
        say_all(line for one in found for line in _lines(one))
        if not found or not confirm(f"change {counted(len(found), 'link')}?"):
            return
    answer = cli.ask("lint", fix=fix, personal=personal, orphans=orphans)
    grounded = cli.ask("refs", check=True)["notes"]
    answer["code"] = [note for note in grounded if note["remark"]]
    cli.show(answer, _report(answer))


def _report(answer: dict[str, Any]) -> Iterator[Any]:
    found = answer["found"]
    for kind, meaning in _MEANINGS.items():
        if some := [one for one in found if one["kind"] == kind]:
            yield Heading(f"{counted(len(some), 'link')} {meaning}")
            yield from (line for one in some[:MOST_SHOWN] for line in _lines(one))
            if len(some) > MOST_SHOWN:
                yield f"  … {len(some) - MOST_SHOWN:,} more: mcp-memory lint --json"
    if code := answer["code"]:
        yield Heading(f"{counted(len(code), 'note')} about code that changed, moved or is gone: mcp-memory refs")
        yield from (fit(f"  {note['path']}", note["remark"]) for note in code[:MOST_SHOWN])
    for one in answer["properties"]:
        yield fit(f"  {one['path']}", f"the property {one['property']!r} is not read; nearly {one['nearly']!r}")
    yield from (fit("  no links", one["title"], one["path"]) for one in answer["orphans"] or ())
    yield f"{counted(answer['notes'], 'note')}, {answer['orphan_count']:,} without any link"
    if "run" in answer:
        yield f"{counted(answer['repaired'], 'link')} repaired"
        yield f"  → mcp-memory undo {answer['run']}"
        yield from (f"  left: {reason}" for reason in answer["left"])
    elif any(one["repair"] and not one["why"] for one in found):
        yield "to repair them: mcp-memory lint --fix"


def _lines(one: dict[str, Any]) -> Iterator[str]:
    repair = one["repair"]
    yield fit(f"  {one['path']}:{one['line']}", one["target"])
    if repair:
        yield fit(f"    → by {repair['how']}", repair["target"], f"({one['why']})" if one["why"] else "")
    elif one["why"]:
        yield f"    {one['why']}"
