"""tree, show, compact: the topics that notes are filed under."""

from __future__ import annotations

from typing import Any

import click

from mcp_memory.cli.console import emit, head, print_status, say
from mcp_memory.cli.engine_call import ask
from mcp_memory.cli.options import CommonOptions, command_options
from mcp_memory.cli.topics.tree_view import draw_preview, draw_tree
from mcp_memory.daemon.engine_client import compaction_s
from mcp_memory.errors import InvalidInput
from mcp_memory.settings.settings import Settings
from mcp_memory.text.pluralize import counted


@click.command()
@click.option("--depth", type=click.IntRange(min=1), metavar="N", help="So many levels; 1 = the topics at the top.")
@command_options
def tree(common: CommonOptions, depth: int | None, as_json: bool) -> None:
    """Draw the topics with how many notes each holds and from when, and the fresh notes that wait to be filed.

    `stale`: the topic's page, or one below it, does not say what is in it now. The next compaction makes it anew, or a
    proposal beside it if you have edited it. Folders that you made are shown and left alone.

    \b
    mcp-memory tree
    mcp-memory tree --depth 1     the topics at the top alone
    mcp-memory show topics/01-x   what a topic is about
    """
    answer = ask(common.settings(), "tree", {"depth": depth})
    if as_json:
        emit(answer)
        return
    for line in draw_tree(answer):
        say(line)
    if not answer["topics"]:
        say("no topics yet" + ("" if answer["waiting"] else ", and no fresh notes are waiting"))


@click.command()
@click.argument("note")
@command_options
def show(common: CommonOptions, note: str, as_json: bool) -> None:
    """Print one note as it is on disk, and where in the topics it is. By id, by path, or a topic by its folder.

    \b
    mcp-memory show topics/01-x                    a topic's page
    mcp-memory show notes/decision/we-use-uv.md
    mcp-memory show 01M7Z3HPR77M1K414E2NKABTV4     the id that append printed
    """
    answer = ask(common.settings(), "show", {"target": note})
    if as_json:
        emit(answer)
        return
    head(answer["title"])
    above = " › ".join(topic["title"] for topic in answer["in"])
    rows = [
        ("path", answer["path"]),
        ("id", answer["id"]),
        ("kind", "page of a topic" if answer["shelf"] == "summary" else answer["kind"]),
        ("dates", _dates(answer)),
        ("topic", above),
    ]
    for name, value in rows:
        if value:
            say(f"  {name:<5}  {value}")
    say()
    say(answer["text"].rstrip("\n"))
    if answer["children"]:
        say()
        head("read on with mcp-memory show:")
        for child in answer["children"]:
            say(f"  {child['path']}  {child['title']}")


@click.command()
@click.option("--dry-run", is_flag=True, help="Draw the tree as it would be; change nothing.")
@click.option("--topic", metavar="PATH", help="Only this topic, by its folder: its page, and what joins it.")
@click.option("--undo", metavar="RUN", help="Take a run back: its notes return, its pages go.")
@click.option("--runs", is_flag=True, help="List the runs that can be taken back.")
@command_options
def compact(
    common: CommonOptions, dry_run: bool, topic: str | None, undo: str | None, runs: bool, as_json: bool
) -> None:
    """File fresh notes under topics, now, and bring the pages of topics up to date.

    Notes of one subject move from topics/_fresh/ into a folder with a page, _summary.md, that says what they say and
    links to each; topics/_index.md is the map of all topics. Notes are moved and never edited, but for the targets of
    links, which follow what moves. Few of a kind wait for more, and so do the newest notes (topics.fresh_tail_count).
    A daemon does this by itself when things are quiet (topics.automatic).

    A page that you have edited is yours. Once its notes have changed, a proposal stands beside it,
    _summary.proposed.md: rename it over yours, or delete yours.

    \b
    mcp-memory compact --dry-run               what would move where
    mcp-memory compact                         do it
    mcp-memory compact --topic topics/01-x     for one topic alone
    mcp-memory compact --runs                  the runs that can be taken back
    mcp-memory compact --undo 20261121T093005  take one run back
    """
    if dry_run + runs + (undo is not None) > 1:
        raise InvalidInput("more than one of --dry-run, --undo and --runs", hint="pass one of them")
    if topic is not None and (runs or undo is not None):
        raise InvalidInput("--topic beside --undo or --runs", hint="pass it alone or with --dry-run")
    settings = common.settings()
    if runs:
        _list(ask(settings, "runs", {}), as_json=as_json)
        return
    asked = {"undo": undo, "dry_run": dry_run or None, "topic": topic}
    answer = ask(settings, "compact", asked, deadline_s=compaction_s(settings))
    if as_json:
        emit(answer)
    elif dry_run:
        _tell_preview(answer, settings)
    else:
        _tell(answer, settings, undone=undo is not None)


def _dates(note: dict[str, Any]) -> str:
    days = [when.partition("T")[0] for when in (note["created"], note["updated"]) if when]
    return " to ".join(dict.fromkeys(days))


def _tell_preview(answer: dict[str, Any], settings: Settings) -> None:
    lines = draw_preview(answer)
    for line in lines:
        say(line)
    say("nothing was changed; to do it: mcp-memory compact" if lines else "nothing to do")
    _tell_waiting(answer["waiting"], settings, answer)


def _tell(answer: dict[str, Any], settings: Settings, *, undone: bool) -> None:
    for line in answer["done"]:
        say(f"undone: {line}" if undone else line)
    for line in answer["kept"]:
        say(f"brought up to date: {line}")
    for line in answer["left"]:
        say(f"left: {line}")
    for line in answer["provisional"]:
        say(f"provisional page, of the notes' own sentences: {line}")
    for path, count in answer["links"].items():
        say(f"left: {counted(count, 'link')} in {path}, which is not the agents' own: the linked notes have moved")
    if not answer["done"] and not answer["kept"]:
        say("nothing to undo" if undone else "nothing to do")
    if undone:
        say("the daemon files nothing by itself until the next: mcp-memory compact")
        return
    _tell_waiting(answer["waiting"], settings, answer)
    if answer["done"] or answer["kept"]:
        say(f"run {answer['run']}; to take it back: mcp-memory compact --undo {answer['run']}")


def _tell_waiting(count: int, settings: Settings, answer: dict[str, Any]) -> None:
    if count:
        newest = settings.topics.fresh_tail_count
        why = [f"the newest {newest} stay"] if newest else []
        why.append(f"a topic begins with {settings.topics.min_leaves} of a kind")
        say(f"{counted(count, 'fresh note')} waiting: {', '.join(why)}")
    if answer["note"]:
        print_status(f"note: {answer['note']}")


def _list(answer: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        emit(answer)
        return
    for run in answer["runs"]:
        counts = ", ".join(f"{run[fate]} {fate}" for fate in ("done", "undone", "unfinished") if run[fate])
        say(f"{run['run']}  {counted(run['jobs'], 'job')}: {counts or 'given up'}")
        for line in run["about"]:
            say(f"  {line}")
        if run["facts"]["of"]:
            say(f"  facts that its pages keep: {run['facts']['kept']} of {run['facts']['of']}")
    say("mcp-memory compact --undo RUN takes one back" if answer["runs"] else "no run yet")
