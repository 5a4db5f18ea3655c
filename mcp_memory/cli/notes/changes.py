"""Commands that show what happened to notes, and take it back: changes, undo."""

import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import click

from mcp_memory.cli import note_options
from mcp_memory.cli.command_context import CommandContext, command_options, flag
from mcp_memory.cli.console import NOT_DONE, Facts, Heading, Remark, confirm, fit, local_minute, short_id, wrap
from mcp_memory.cli.notes.note_choice import with_note
from mcp_memory.client.credentials import PERSON
from mcp_memory.daemon.engine_client import compaction_s
from mcp_memory.errors import NotFound
from mcp_memory.text.pluralize import counted

_FEWEST_OF_A_RUN = 4
"""The fewest changes of one import or compaction, or of its undo, that are shown as one line."""

_MOST_NAMED = 10
"""The most undone changes that are listed one by one."""

_ACTIONS = {
    "forget": "will be forgotten",
    "restore": "will be active again",
    "archive": "will be archived again",
    "reinstate": "will be active again",
    "put back": "will have its earlier text again",
    "bring back": "will be where it was",
    "undo run": "will be undone with its whole run",
}

_client = click.option(
    "--client", help="Only by this client, e.g. claude-code; you = the command line, disk = your editor."
)
_since = note_options.since("Only from this time on")


@click.command()
@click.argument("note", metavar="[NOTE]", nargs=-1)
@_since
@_client
@note_options.session
@note_options.project("Only changes to this project's notes and those without one")
@note_options.limit(50, 20000, "Show at most this many changes.")
@command_options
def changes(cli: CommandContext, note: tuple[str, ...], **wanted: Any) -> None:
    """Show which notes were stored, edited, superseded, forgotten, filed or imported: when, by whom, in which session.

    The latest change comes first. Each line ends with the change's name, which `mcp-memory undo NAME` takes. With NOTE
    (an id, a path or a few of its words), it lists only that note's changes.

    \b
    mcp-memory changes --since yesterday
    mcp-memory changes --client claude-code --json
    mcp-memory changes 01M7Z3HPR77M1K414E2NKABTV4"""
    words = " ".join(note)
    if not words:
        answer = cli.ask("changes", **wanted)
        cli.show(answer, _lines(answer))
        return
    del wanted["project"]  # a note that you name is yours to see in any project
    answer = with_note(cli, words, lambda target: _changes_of(cli, target, wanted))
    cli.show(answer, _lines(answer))


def _changes_of(cli: CommandContext, target: str, wanted: Facts) -> Facts:
    """Return a note's changes. Raises NotFound for a note without any."""
    answer = cli.ask("changes", target=target, **wanted)
    if not answer["changes"]:
        raise NotFound(f"no change to {target[:100]} is known", hint="mcp-memory changes lists what happened")
    return answer


@click.command()
@click.argument("target", metavar="[CHANGE|RUN|NOTE]", required=False)
@_since
@_client
@note_options.session
@flag("--yes", help="Don't ask.")
@command_options
def undo(cli: CommandContext, yes: bool, **wanted: Any) -> None:
    """Undo the last change, a change or run by its name, the last change to a note (id or path), or everything by a
    session or a client, or since a time.

    It shows what will happen, then asks. A note that has changed again stays as it is, and so do your own edits on disk
    if their earlier text wasn't kept. You can undo an undo. Exits with 1 if a change couldn't be undone, and with 5 if
    nobody was there to confirm.

    \b
    mcp-memory undo
    mcp-memory undo 3f2a91c0
    mcp-memory undo 20261121T093005
    mcp-memory undo --session 4be1 --yes"""
    if all(value is None for value in wanted.values()):
        wanted["target"] = _last_change(cli)
    if not yes:
        planned = cli.ask("undo", **wanted)
        can_ask = sys.stdin.isatty() and not cli.as_json
        is_due = any(step["action"] for step in planned["steps"])
        cli.show(
            planned,
            [*_preview(planned["steps"]), *([] if can_ask or not is_due else [Remark("nothing was done: pass --yes")])],
        )
        if not is_due or not can_ask:
            click.get_current_context().exit(NOT_DONE if is_due else 0)
        confirm("undo this?", abort=True)
        wanted["only"] = [step["id"] for step in planned["steps"]]  # without the changes that were made since
        wanted["since"] = planned["since"]  # the words may mean another moment now
    answer = cli.ask("undo", deadline_s=compaction_s(cli.settings), sure=True, **wanted)
    cli.show(answer, _result(answer["steps"]))
    if any(step["why"] for step in answer["steps"]):
        click.get_current_context().exit(1)


def _last_change(cli: CommandContext) -> str:
    """Return the latest change that isn't undone, so that undoing twice takes two changes back. Raises NotFound."""
    for change in cli.ask("changes", limit=1000)["changes"]:
        if not (change["undone"] or change["undoes"]):
            return change["id"]
    raise NotFound("no change is left to undo", hint="mcp-memory changes lists what happened")


def _result(steps: Sequence[Facts]) -> Iterator[str]:
    reports = [step["report"] for step in steps if "report" in step]
    changes = [step for step in steps if not step["why"] and "report" not in step]
    for step in changes[:_MOST_NAMED]:
        yield fit(f"undone: {step['kind']}", _named(step), step["id"])
    for report in reports:
        yield from (f"undone: {line}" for line in report["done"])
        yield from (f"updated: {line}" for line in report["kept"])
    yield f"{counted(len(changes) + len(reports), 'change')} undone"
    yield from (f"not undone: {_named(step)}: {step['why']}" for step in steps if step["why"])
    if any(not report["run"].startswith("dream-") for report in reports):
        yield Remark("the daemon files nothing on its own until you run: mcp-memory topics compact")


def _lines(answer: Facts) -> Iterator[str]:
    found: Sequence[Facts] = answer["changes"]
    for day, of_day in groupby(found, lambda change: change["at"][:10]):
        yield Heading(day)
        for _, group in groupby(
            of_day, lambda change: (change["run"], change["undoes"], change["kind"], change["client"])
        ):
            members = list(group)
            last = members[0]
            run = last["run"] or (last["undoes"] and f"undoes {last['undoes']}")
            if run and len(members) >= _FEWEST_OF_A_RUN:
                what = counted(len(members), "note")
                yield fit(f"{last['at'][11:16]}  {last['kind']:<10}", what, f"{_author(last)}  {run}")
            else:
                yield from map(_line, members)
    if not found:
        yield "no changes are recorded"
    if answer["further"]:
        yield Remark(f"there are earlier ones: --limit {5 * len(found)}")
    yield Remark(f"recorded since {local_minute(answer['since'])}")


def _line(change: Facts) -> str:
    what = f"{change['kind']} (undone)" if change["undone"] else change["kind"]
    undoes = f"  undoes {change['undoes']}" if change["undoes"] else ""
    by = f" by {short_id(change['other'])}" if change["kind"] == "superseded" else ""
    moved = f" from {change['other']}" if change["kind"] == "moved" else ""
    moved += "  (no copy is left)" if change.get("is_kept") is False else ""
    about = f"{_named(change)}{by}{moved}"
    return fit(f"{change['at'][11:16]}  {what:<10}", about, f"{_author(change)}{undoes}  {change['id']}")


def _named(change: Facts) -> str:
    if change["count"]:
        return counted(change["count"], "file")
    where = change["target"] if change["entry"] else change["path"]
    return f"{change['title']}  ({where})" if change["title"] else where


def _author(change: Facts) -> str:
    client = {PERSON: "you", "disk": "by hand"}.get(change["client"], change["client"] or "mcp-memory")
    return f"{client}, session {change['session'].rpartition('/')[2][:8]}" if change["session"] else client


def _preview(steps: Sequence[Facts]) -> Iterator[str]:
    """Describe the outcome for each note. If several of its changes can be undone, the earliest decides."""
    changes_of: dict[str, list[Facts]] = {}
    for step in steps:
        changes_of.setdefault(step["target"] if step["action"] else step["id"], []).append(step)
    for changes in changes_of.values():
        step, outcome = changes[-1], _ACTIONS.get(changes[-1]["action"])
        later = f"with {counted(len(changes) - 1, 'later change')}  " if len(changes) > 1 else ""
        yield fit(f"{step['kind']:<10}", _named(step), f"{f'{outcome}  ' if outcome else ''}{later}{step['id']}")
        yield from [] if outcome else wrap(f"stays: {step['why']}", "  ")
    if not steps:
        yield "nothing to undo"
