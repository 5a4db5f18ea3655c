"""Commands for topics, the folders that notes are filed under: show, compact, organize."""

from collections.abc import Iterator
from typing import Any

import click

from mcp_memory.cli.console import Heading, Remark
from mcp_memory.cli.notes.note_choice import note_words, notes_found, with_note
from mcp_memory.cli.options import CommandContext, command_options
from mcp_memory.cli.topics.tree_view import draw_preview
from mcp_memory.daemon.engine_client import compaction_s
from mcp_memory.errors import InvalidInput
from mcp_memory.settings.settings import Settings
from mcp_memory.text.pluralize import counted
from mcp_memory.topics.config import TopicsConfig


@click.command()
@note_words
@click.option("--history", is_flag=True, help="All notes that replaced one another, the newest first.")
@command_options
def show(cli: CommandContext, note: str, history: bool) -> None:
    """Print one note as it is on disk, and its topic. NOTE is an id, a path, a topic's folder or title, or a few words
    that one note has; where several have them, you are asked which.

    \b
    mcp-memory show payments                       a topic's page
    mcp-memory show notes/decision/we-use-uv.md
    mcp-memory show KABTV4                         the id that append printed
    mcp-memory show uv pip                         the note that has these words
    mcp-memory show notes/fact/port.md --history   what it replaced, and what replaced it"""
    answer = with_note(
        cli, note, lambda target: cli.ask("history" if history else "show", target=target),
        lambda: notes_found(cli, note, ("active", "superseded", "archived")),
    )  # fmt: skip
    if history:
        cli.show(answer, [line for link in answer["chain"] for line in _link_lines(link)])
        return
    days = [when.partition("T")[0] for when in (answer["created"], answer["updated"]) if when]
    rows = {
        "path": answer["path"],
        "id": answer["id"],
        "kind": "page of a topic" if answer["shelf"] == "summary" else answer["kind"],
        "dates": " to ".join(dict.fromkeys(days)),
        "topic": " › ".join(topic["title"] for topic in answer["in"]),
    }
    facts = [f"  {name:<5}  {value}" for name, value in rows.items() if value]
    children = [f"  {child['path']}  {child['title']}" for child in answer["children"]]
    more = ["", Heading("read on with mcp-memory show:"), *children] if children else []
    cli.show(answer, [Heading(answer["title"]), *facts, "", answer["text"].rstrip("\n"), *more])


def _link_lines(link: dict[str, Any]) -> list[Any]:
    day, until = (when and when[:16].replace("T", " ") for when in (link["date"], link["until"]))
    span = f"{day or 'unknown date'}{f' until {until}' if until else ''}"
    who = " in ".join(filter(None, (link["source"] or "unknown client", link["session"])))
    text = "(forgotten: mcp-memory restore brings it back)" if link["text"] is None else link["text"]
    lines = [f"  {line}".rstrip() for line in text.splitlines()]
    return [Heading(f"{span}  {link['status']}  {who}"), f"  {link['id']}  {link['path']}", *lines, ""]


@click.command()
@click.option("--dry-run", is_flag=True, help="Draw the tree as it would be; change nothing.")
@click.option("--topic", metavar="PATH", help="Only the topic in this folder: its page, and what joins it.")
@click.option("--runs", is_flag=True, help="List the runs that can be undone.")
@command_options
def compact(cli: CommandContext, dry_run: bool, topic: str | None, runs: bool) -> None:
    """File fresh notes under topics, now, and bring the pages of topics up to date.

    Notes about one subject move from topics/_fresh/ into a folder with a page, _summary.md, that sums them up and links
    to each; topics/_index.md is the map of all topics. Notes are moved and never edited, except that links follow what
    moves. A subject with few notes waits for more, and so do the newest notes (topics.fresh_tail_count). A daemon
    compacts on its own when the machine is idle (topics.automatic).

    Your own text and changes on a page stay, while the rest of it is written again. A page without its properties is
    all yours.

    \b
    mcp-memory compact --dry-run               what would move where
    mcp-memory compact                         do it
    mcp-memory compact --topic topics/01-x     only one topic
    mcp-memory compact --runs                  the runs that can be undone
    mcp-memory undo 20261121T093005            undo one run: its notes return, its pages go"""
    if runs and (dry_run or topic is not None):
        raise InvalidInput("--runs beside --dry-run or --topic", hint="pass one of them")
    if runs:
        answer = cli.ask("runs")
        cli.show(answer, _run_lines(answer["runs"]))
        return
    deadline_s = compaction_s(cli.settings)
    answer = cli.ask("compact", deadline_s=deadline_s, dry_run=dry_run or None, topic=topic)
    if dry_run:
        cli.show(answer, _preview_lines(answer, cli.settings))
    else:
        cli.show(answer, result_lines(answer, cli.settings))


@click.command()
@click.option("--dry-run", is_flag=True, help="Only list the pages that are out of date.")
@click.option("--memory", is_flag=True, help="Put an index into MEMORY.md, too, between marks.")
@command_options
def organize(cli: CommandContext, dry_run: bool, memory: bool) -> None:
    """Write a page for each project, person, service and tool in entities/, with the claims that hold now and their
    evidence, a dashboard of what needs a decision, and INDEX.md.

    From then on a daemon keeps them up to date, as long as INDEX.md is there. A page that you change or delete is left
    alone. `mcp-memory wiki` shows the same without pages. The index in MEMORY.md has the latest sessions,
    active projects and the notes that are used most; delete it, with its marks, to end it.

    \b
    mcp-memory organize
    mcp-memory organize --dry-run"""
    answer = cli.ask("organize", deadline_s=300, dry_run=dry_run or None, memory=memory or None)
    cli.show(answer, answer["pages"] or ["nothing new"])


def _preview_lines(answer: dict[str, Any], settings: Settings) -> Iterator[str]:
    changes = draw_preview(answer)
    yield from changes
    yield "nothing was changed; to do it: mcp-memory compact" if changes else "nothing to do"
    yield from _waiting_lines(answer, settings)


def result_lines(answer: dict[str, Any], settings: Settings) -> Iterator[str]:
    for key, verb in (
        ("done", ""),
        ("kept", "brought up to date: "),
        ("left", "left: "),
        ("provisional", "fallback page, made of the notes' own sentences: "),
    ):
        yield from (f"{verb}{line}" for line in answer[key])
    for path, count in answer["links"].items():
        yield f"left: {counted(count, 'link')} in {path}, which agents may not change: the linked notes have moved"
    is_changed = answer["done"] or answer["kept"]
    if not is_changed:
        yield "nothing to do"
    if "note" in answer:
        yield from _waiting_lines(answer, settings)
    if is_changed:
        yield f"→ mcp-memory undo {answer['run']}"


def _waiting_lines(answer: dict[str, Any], settings: Settings) -> Iterator[str]:
    if answer["waiting"]:
        config = settings.section("topics", TopicsConfig)
        newest = config.fresh_tail_count
        why = f"the newest {newest} stay, " if newest else ""
        least = config.min_leaves
        begins = f"a topic begins with {least} notes that share a subject"
        yield f"{counted(answer['waiting'], 'fresh note')} waiting: {why}{begins}"
    if answer["note"]:
        yield Remark(f"note: {answer['note']}")


def _run_lines(runs: list[dict[str, Any]]) -> Iterator[str]:
    for run in runs:
        counts = ", ".join(f"{run[outcome]} {outcome}" for outcome in ("done", "undone", "unfinished") if run[outcome])
        yield f"{run['run']}  {counted(run['jobs'], 'job')}: {counts or 'given up'}"
        yield from (f"  {line}" for line in run["about"])
        if run["facts"]["of"]:
            yield f"  facts that its pages keep: {run['facts']['kept']} of {run['facts']['of']}"
    yield "to undo one: mcp-memory undo RUN" if runs else "no run yet"
