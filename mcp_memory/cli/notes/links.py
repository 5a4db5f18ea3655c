"""The links command: what a note links to, broken links and their repair, and the code that notes name."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from mcp_memory.cli import note_options
from mcp_memory.cli.command_context import CommandContext, command_options, flag
from mcp_memory.cli.console import Facts, Heading, fit, short_id, table
from mcp_memory.cli.notes.note_choice import NOT_FORGOTTEN, with_note
from mcp_memory.errors import InvalidInput
from mcp_memory.text.pluralize import counted

CODE_CHECK_S = 400.0
"""The deadline of a check of code, after which the engine gives up."""
MOST_SHOWN = 100
_MEANINGS = {
    "broken": "lead nowhere", "ambiguous": "may lead to several notes", "moved": "lead to a different note than before",
    "forgotten": "lead to a forgotten note", "archived": "lead to an archived note",
    "superseded": "lead to a superseded note", "active": "say that a note is replaced, which is still active",
}  # fmt: skip


@click.command()
@click.argument("note", metavar="[NOTE]", nargs=-1)
@click.option(
    "--depth", type=click.IntRange(1, 5), default=1, metavar="N", help="Links to follow; default 1, at most 5."
)
@flag("--check", help="List links that lead nowhere, to several notes or to a retired note.")
@flag("--repair", help="Repair links in the agents' own notes.")
@flag("--personal", help="With --repair: also in notes that you wrote; shows the changes first.")
@flag("--yes", help="With --personal: don't ask.")
@flag("--code", help="List the code that notes name; with --check, look at the repositories now.")
@flag("--confirm", help="With --code: confirm that NOTE matches the current code.")
@note_options.project("With --code: this project's notes")
@command_options
def links(
    cli: CommandContext, note: tuple[str, ...], depth: int, check: bool, repair: bool, code: bool, **options: Any
) -> None:
    """List a note's links, the links to it, and with --depth the links of those notes in turn.

    A link's type is its property, or the start of its line: `- because: [[note]]`.

    --check also lists notes about code that has changed since. --repair fixes links that broke because a file was
    renamed or moved, if its id, its content or its name identifies the note. Only the link's target changes, and
    `mcp-memory undo RUN` reverses it.

    --code lists the files, symbols, commits and commands that notes (or NOTE) name, and which of them had moved,
    changed or gone when the daemon last looked. Run it in a repository to show the daemon where the project is.

    \b
    mcp-memory links KABTV4
    mcp-memory links notes/decision/we-use-uv.md --depth 3
    mcp-memory links --check
    mcp-memory links --repair --personal     also in your own notes
    mcp-memory links --code --check
    mcp-memory links --code KABTV4 --confirm"""
    words = " ".join(note)
    _refuse_ignored(words, depth, {**options, "check": check, "repair": repair, "code": code})
    if code:
        _show_code(cli, words, check=check, confirm=options["confirm"], project=options["project"])
    elif check or repair:
        _show_faults(cli, repair=repair, personal=options["personal"], yes=options["yes"])
    elif not words:
        raise InvalidInput("no note", hint="name one, or pass --check for all links, or --code")
    else:
        answer = with_note(cli, words, lambda target: cli.ask("links", target=target, depth=depth), NOT_FORGOTTEN)
        cli.show(answer, _drawn(answer))


_NEEDS = {"confirm": "code", "personal": "repair", "yes": "repair", "project": "code"}
"""Maps an option to the option without which it would be ignored."""


def _refuse_ignored(words: str, depth: int, given: Facts) -> None:
    """Raise InvalidInput for an option that would be ignored."""
    code, of_all = given["code"], given["check"] or given["repair"]
    for option, needed in _NEEDS.items():
        if given[option] and not given[needed]:
            raise InvalidInput(f"--{option} needs --{needed}", hint=f"mcp-memory links --{needed} --{option}")
    if code and given["repair"]:
        raise InvalidInput("--code can't be combined with --repair", hint="--repair repairs links between notes")
    if depth > 1 and (of_all or code):
        raise InvalidInput("--depth is for the links of a note", hint="mcp-memory links NOTE --depth 2")
    if words and of_all and not code:
        raise InvalidInput("a note can't be combined with --check or --repair", hint="they check all notes: omit it")


def _show_faults(cli: CommandContext, *, repair: bool, personal: bool, yes: bool) -> None:
    if personal and not yes:
        found = [one for one in cli.ask("lint")["found"] if one["repair"]]
        lines = [line for one in found for line in _fault_lines(one)]
        if not found:
            return
        cli.agree(f"change {counted(len(found), 'link')}?", lines, yes=yes)
    answer = cli.ask("lint", fix=repair, personal=personal)
    grounded = cli.ask("refs", check=True)["notes"]
    answer["code"] = [note for note in grounded if note["remark"]]
    cli.show(answer, _report(answer))


def _show_code(cli: CommandContext, words: str, **options: Any) -> None:
    is_here = cli.project_here not in {None, "*"} and options["project"] in {None, cli.project_here}
    folder = str(Path.cwd()) if is_here else None

    def ask(target: str | None) -> Facts:
        return cli.ask("refs", target=target, folder=folder, deadline_s=CODE_CHECK_S, **options)

    answer = with_note(cli, words, ask) if words else ask(None)
    cli.show(answer, _code_lines(answer, everything=bool(words), has_looked=options["check"] or options["confirm"]))


def _drawn(answer: Facts) -> Iterator[Any]:
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


def _named(note: Facts) -> str:
    state = note.get("state", "active")
    known = f"{short_id(note['id'])}  {note['path']}" if not note["id"].startswith("path:") else note["path"]
    return f"{note['title']}  {known}{'' if state == 'active' else f'  ({state})'}"


def _report(answer: Facts) -> Iterator[Any]:
    found = answer["found"]
    for kind, meaning in _MEANINGS.items():
        if some := [one for one in found if one["kind"] == kind]:
            yield Heading(f"{counted(len(some), 'link')} {meaning}")
            yield from (line for one in some[:MOST_SHOWN] for line in _fault_lines(one))
            if len(some) > MOST_SHOWN:
                yield f"  … {len(some) - MOST_SHOWN:,} more: mcp-memory links --check --json"
    if code := answer["code"]:
        yield Heading(
            f"{counted(len(code), 'note')} about code that changed, moved or is gone: mcp-memory links --code"
        )
        yield from (fit(f"  {note['path']}", note["remark"]) for note in code[:MOST_SHOWN])
    yield f"{counted(answer['notes'], 'note')} checked"
    if "run" in answer:
        way_back = f"mcp-memory undo {answer['run']}"
        yield f"{counted(answer['repaired'], 'link')} repaired; to take it back: {way_back}"
        yield from (f"  left: {reason}" for reason in answer["left"])
    elif any(one["repair"] and not one["why"] for one in found):
        yield "to repair them: mcp-memory links --repair"


def _fault_lines(one: Facts) -> Iterator[str]:
    repair = one["repair"]
    yield fit(f"  {one['path']}:{one['line']}", one["target"])
    if repair:
        yield fit(f"    → by {repair['how']}", repair["target"], f"({one['why']})" if one["why"] else "")
    elif one["why"]:
        yield f"    {one['why']}"


def _code_lines(answer: Facts, *, everything: bool, has_looked: bool) -> Iterator[str]:
    for note in answer["notes"]:
        shown = [one for one in note["refs"] if everything or one["outcome"] != "ok"]
        if shown:
            yield Heading(f"{note['path']}  {short_id(note['id'])}")
            yield from table([(f"  {one['outcome']}", one["text"], _what(one)) for one in shown], 1)
    for project, problem in answer["problems"].items():
        yield f"not checked: {project}: {problem}"
    counts = answer["counts"]
    outcomes = ", ".join(f"{counts[name]} {name}" for name in ("ok", "moved", "changed", "gone") if counts.get(name))
    named = counted(counts["references"], "reference")
    if outcomes:
        yield f"{named} to code: {outcomes}"
    elif has_looked:
        yield "no note names code that is in its project's repository"
    else:
        yield "no note is known to name code; to look now: mcp-memory links --code --check"


def _what(reference: Facts) -> str:
    now = ":".join(filter(None, (reference["now_path"], reference["now_symbol"])))
    has_moved = now and reference["outcome"] != "gone" and now != reference["text"]
    return "  ".join(filter(None, (f"is {now}" if has_moved else "", reference["changed"])))
