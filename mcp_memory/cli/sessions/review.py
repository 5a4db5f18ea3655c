"""The review command: decide on what waits, with keys on a terminal or by options."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import click

from mcp_memory.cli.command_context import CommandContext, command_options, flag
from mcp_memory.cli.console import Facts, confirm, fail, fit, say_all, short_id
from mcp_memory.cli.sessions.review_keys import by_subject, decided_line, item_lines, review_with_keys
from mcp_memory.errors import InvalidInput, NotFound
from mcp_memory.text.pluralize import counted


class ReviewCommand(click.Command):
    """A command whose options --accept and --drop take all ids up to the next option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given, option = list[str](), ""
        for before, arg in pairwise(["", *args]):
            if arg.startswith("-"):
                option = arg
            elif option in {"--accept", "--drop"} and before != option:
                given.append(option)
            given.append(arg)
        return super().parse_args(ctx, given)


@click.command(cls=ReviewCommand)
@click.option("--accept", metavar="ID...", multiple=True, help="Store these candidates.")
@click.option("--drop", metavar="ID...", multiple=True, help="Discard these candidates, and never propose them again.")
@flag("--conflicts", "only_conflicts", help="Only notes that contradict each other.")
@flag("--stored", "only_stored", help="Only what was stored immediately.")
@click.option("-p", "--project", help="Only what concerns this project's notes and notes without one.")
@click.option("--keep", metavar="ID", help="In a conflict, keep this note and supersede the other.")
@click.option("--both", metavar="ID", help="In a conflict, keep both notes.")
@click.option("--with", "other", metavar="ID", help="With --keep or --both: only its conflict with this note.")
@flag("--yes", help="With --keep: don't ask.")
@command_options
def review(
    cli: CommandContext,
    accept: tuple[str, ...],
    drop: tuple[str, ...],
    only_conflicts: bool,
    only_stored: bool,
    project: str | None,
    keep: str | None,
    both: str | None,
    other: str | None,
    yes: bool,
) -> None:
    """Decide on what waits, with one key each; `?` explains the keys.

    It first shows the candidates in _inbox/. If another program changes such a note meanwhile, it is left alone, and
    you see an error. A dropped candidate isn't proposed again; `mcp-memory restore ID` brings it back.

    Then it shows notes that contradict each other, latest first. Until you decide, agents see the newer note with the
    older value. Keeping a note supersedes the whole other note. If that note contains more than the old value, edit the
    value instead; this settles the conflict, too. Notes that say the same are offered once: the fullest supersedes the
    others. Then it shows proposals from DREAMS.md, and notes that could go to _archive/. Statements
    that were stored immediately and that you haven't accepted yet come last, without a terminal only with --stored.
    `mcp-memory undo NOTE` undoes a decision.

    \b
    mcp-memory review                          with keys, on a terminal
    mcp-memory review --json                   what awaits review, for scripts
    mcp-memory review --drop KABTV4 95W9WQ
    mcp-memory undo KABTV4                     undo your decision about it
    mcp-memory review --conflicts              only contradictions
    mcp-memory review --keep KABTV4
    mcp-memory review --both KABTV4 --with b7d3e468"""
    on_candidates, kept = bool(accept or drop), keep or both
    decisions = sum(map(bool, (on_candidates, keep, both)))
    if decisions > 1 or (decisions and project) or (on_candidates and only_conflicts):
        hint = "pass --accept and --drop, or --keep, or --both; --project only lists"
        raise InvalidInput("These options decide several things at once.", hint=hint)
    if (other or yes) and not kept:
        raise InvalidInput("--with and --yes are for --keep and --both", hint="mcp-memory review --keep ID")
    if kept:
        _settle(cli, kept, other, "keep" if keep else "both", yes=yes)
    elif on_candidates:
        _decide_each(cli, {"accept": accept, "drop": drop})
    else:
        only = ["conflict"] if only_conflicts else ["stored"] if only_stored else None
        _review(cli, {"only": only, "project": project})


def _review(cli: CommandContext, wanted: Facts) -> None:
    found = cli.ask("waiting", **wanted)
    items = sorted(found["waiting"], key=lambda item: item["what"] == "stored")
    for problem in found["problems"]:
        fail(problem, "the other items are listed; mcp-memory review tries again")
    if items and not cli.as_json and sys.stdin.isatty():
        review_with_keys(cli, items, wanted)
        return
    shown = [item for item in items if wanted["only"] or item["what"] != "stored"]
    lines = [line for item in by_subject(shown) for line in item_lines(item)]
    is_conflict = wanted["only"] == ["conflict"]
    nothing = "no contradiction waits; mcp-memory review shows what else does" if is_conflict else "nothing waits"
    are_conflicts = [item["what"] == "conflict" for item in shown]
    decide = [] if all(are_conflicts) else ["--accept ID ID … --drop ID …"]
    decide += ["--keep ID; to keep both: --both ID"] if any(are_conflicts) else []
    lines += ["", f"mcp-memory review {', or '.join(decide)}; on a terminal: by keys"] if shown else [nothing]
    if stored := len(items) - len(shown):
        lines.append(f"{counted(stored, 'note')} stored already: mcp-memory review --stored")
    cli.show({"conflicts": list(map(_by_role, items))} if is_conflict else {"waiting": items}, lines)


def _by_role(conflict: Facts) -> Facts:
    roles = {note["role"]: note for note in conflict["notes"]}
    return {"id": conflict["id"], "why": conflict["why"], **roles}


def _decide_each(cli: CommandContext, decisions: Mapping[str, Sequence[str]]) -> None:
    done: list[Facts] = []
    wanted = [(choice, target) for choice, ids in decisions.items() for target in dict.fromkeys(ids)]
    for choice, target in wanted:
        try:
            (answer,) = cli.ask("review", items=[target], choice=choice)["done"]
        except (InvalidInput, NotFound) as error:  # you can still decide about the others
            if len(wanted) == 1:
                raise
            fail(error.message, error.hint)
            continue
        done.append({"choice": choice, **answer})
        if not cli.as_json:
            say_all([decided_line(choice, answer)])
    cli.show({"done": done}, [])
    if len(done) < len(wanted):
        raise click.exceptions.Exit(1)


def _settle(cli: CommandContext, note: str, other: str | None, choice: str, *, yes: bool) -> None:
    """Show the notes that would give way, ask if somebody can answer, and decide only about those notes."""
    shown = list(_conflicts_of(cli, note, other))
    kept_ids = {kept["id"] for _, kept, _ in shown}
    if len(kept_ids) != 1:
        error = InvalidInput if kept_ids else NotFound
        raise error(f"{len(kept_ids) or 'no'} open conflict of {note}", hint="mcp-memory review --conflicts lists them")
    if choice == "keep" and not cli.as_json:
        rivals = [rival for _, _, others in shown for rival in others]
        say_all(fit("retires", f"{rival['title']}  ({rival['path']})", short_id(rival["id"])) for rival in rivals)
        if not yes and sys.stdin.isatty():
            confirm(f"keep {short_id(note)} in place of {'this' if len(rivals) == 1 else 'these'}?", abort=True)
    answer = cli.ask("review", items=[item for item, _, _ in shown], choice=choice, note=kept_ids.pop())
    cli.show(answer, (decided_line(choice, one) for one in answer["done"]))


def _conflicts_of(cli: CommandContext, note: str, other: str | None) -> Iterator[tuple[str, Facts, Sequence[Facts]]]:
    """Yield the id of each open conflict or double of a note (with another note, if given), that note, and its
    rivals."""
    for item in cli.ask("waiting", only=["conflict", "double"])["waiting"]:
        for kept in item["notes"]:
            rivals = [rival for rival in item["notes"] if rival is not kept]
            if _is_named(kept, note) and (other is None or any(_is_named(rival, other) for rival in rivals)):
                yield item["id"], kept, rivals


def _is_named(side: Facts, name: str) -> bool:
    """Return whether a note has this name: its id, the end of its id in any case, or its path."""
    return name == side["path"] or side["id"].lower().endswith(name.lower())
