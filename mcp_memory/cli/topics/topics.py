"""The topics commands: draw the topics that notes are filed under, compact them, and rename, move, merge and split."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import click

from mcp_memory.cli.command_context import CommandContext, command_options, flag
from mcp_memory.cli.console import Facts, Remark, fit
from mcp_memory.cli.topics.tree_view import draw_tree
from mcp_memory.daemon.engine_client import compaction_s
from mcp_memory.settings.settings import Settings
from mcp_memory.text.pluralize import counted
from mcp_memory.topics.config import TopicsConfig

_DENIED = "what is not so"
"""The text in place of a negation, whose words are folded."""


class TopicCommands(click.Group):
    """A group that takes an unknown command as the topic to draw."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        return super().resolve_command(ctx, args) if args[0] in self.commands else ("", draw_one, args)


@click.group(cls=TopicCommands, invoke_without_command=True, subcommand_metavar="[TOPIC | COMMAND [ARGS]...]")
@click.option("--depth", type=click.IntRange(min=1), metavar="N", help="Levels to show; 1 = only the top topics.")
@click.option(
    "--dropped", is_flag=False, flag_value="", metavar="[TOPIC]", help="List the facts that a topic's page omits."
)
@command_options
@click.pass_context
def topics(ctx: click.Context, cli: CommandContext, depth: int | None, dropped: str | None) -> None:
    """Show the topics, with the number and dates of their notes, and new notes not yet filed; or change topics. If you
    rename a topic's folder in a file manager, its title follows.

    `stale` means that the topic's page, or a page below it, is out of date. The next compaction rewrites it and keeps
    your changes. Folders that you created are shown but never changed. TOPIC is a folder or a title.

    \b
    mcp-memory topics
    mcp-memory topics payments             only this topic
    mcp-memory topics --depth 1            only the top topics
    mcp-memory topics --dropped            facts that the pages omit
    mcp-memory topics compact              file fresh notes now
    mcp-memory topics rename 01-x "Kitchen garden"
    mcp-memory show topics/01-x            what a topic is about
    """
    if dropped is not None:
        answer = cli.ask("tree", dropped=dropped)
        cli.show(answer, [line for page in answer["pages"] for line in _dropped_lines(page)] or ["no topics yet"])
    elif ctx.invoked_subcommand is None:
        answer = cli.ask("tree", depth=depth)
        nothing = "no topics yet" + ("" if answer["waiting"] else ", and no fresh notes are waiting")
        cli.show(answer, [*draw_tree(answer), *([] if answer["topics"] else [nothing])])


@click.command()
@click.argument("topic", nargs=-1, required=True)
@click.option("--depth", type=click.IntRange(min=1), metavar="N", help="Levels to show; 1 = only this topic.")
@command_options
@click.pass_context
def draw_one(ctx: click.Context, cli: CommandContext, topic: tuple[str, ...], depth: int | None) -> None:
    """Show one topic and the topics below it."""
    assert ctx.parent
    answer = cli.ask("tree", topic=" ".join(topic), depth=depth or ctx.parent.params["depth"])
    cli.show(answer, draw_tree({"topics": [answer["topic"]], "waiting": 0}))


@topics.command(short_help="File fresh notes under topics now.")
@flag("--dry-run", help="List what would be filed, without filing it.")
@command_options
def compact(cli: CommandContext, dry_run: bool) -> None:
    """File fresh notes under topics now, and update the topics' pages.

    Notes about one subject move from topics/_fresh/ into a folder with a page, _summary.md, that sums them up and links
    to each; topics/_index.md lists all topics. Notes are moved and never edited, except to update links. Subjects with
    few notes wait for more notes, and the newest notes aren't filed yet (topics.fresh_tail_count). The daemon compacts
    automatically when the machine is idle (topics.automatic).

    Your own text and changes on a page stay when the rest is rewritten. If you remove a page's properties, it is
    entirely yours.

    \b
    mcp-memory topics compact --dry-run               what would be filed
    mcp-memory topics compact                         do it
    mcp-memory undo 20261121T093005                   undo one run"""
    answer = cli.ask("compact", deadline_s=compaction_s(cli.settings), dry_run=dry_run or None)
    lines = _plan_lines if dry_run else _result_lines
    cli.show(answer, lines(answer, cli.settings))


@topics.command(short_help="Give a topic another title.")
@click.argument("topic")
@click.argument("name")
@command_options
def rename(cli: CommandContext, topic: str, name: str) -> None:
    """Give a topic another title. Its folder is renamed, too, and links are updated. Later runs keep the title.

    \b
    mcp-memory topics rename 07-eur "Flat hunt"
    """
    _edit(cli, "rename", topic=topic, name=name)


@topics.command(short_help="Move a topic with all its notes.")
@click.argument("topic")
@click.argument("into")
@command_options
def move(cli: CommandContext, topic: str, into: str) -> None:
    """Move a topic with all its notes into another topic, or to the top level: /

    \b
    mcp-memory topics move 03-ferries 01-japan-trip
    mcp-memory topics move 01-japan-trip/03-ferries /"""
    _edit(cli, "move", topic=topic, into=into)


@topics.command(short_help="Move a topic's notes into another topic.")
@click.argument("topic")
@click.argument("into")
@command_options
def merge(cli: CommandContext, topic: str, into: str) -> None:
    """Move a topic's notes into another topic, and remove its page. Your own text on it goes to the other topic's page.

    \b
    mcp-memory topics merge 05-kyoto 01-japan-trip"""
    _edit(cli, "merge", topic=topic, into=into)


@topics.command(short_help="Move some notes of a topic into a new one.")
@click.argument("topic")
@click.argument("name")
@click.argument("notes", nargs=-1, metavar="[NOTE]...")
@command_options
def split(cli: CommandContext, topic: str, name: str, notes: tuple[str, ...]) -> None:
    """Move some notes of a topic into a new topic with this name: beside it, or below it if it is a project's own
    topic. NOTE is an id, a path or a file name. Without NOTE, it moves the notes whose title, tags or text contain all
    words of NAME.

    \b
    mcp-memory topics split 01-japan-trip "Rail pass"
    mcp-memory topics split 01-japan-trip "Money" 004-exchange-rates.md 009-cash.md"""
    _edit(cli, "split", topic=topic, name=name, notes=notes)


@topics.command(short_help="Write a page for each project, person and service.")
@flag("--memory", help="Also put an index into MEMORY.md, between markers.")
@command_options
def organize(cli: CommandContext, memory: bool) -> None:
    """Write a page in entities/ for each project and other subject, with its current claims and their evidence, and
    INDEX.md, which lists the pages.

    The daemon writes them by itself once three subjects have two claims each, and keeps them up to date until you
    delete INDEX.md. Pages that you change or delete are left alone. `mcp-memory wiki` shows the same without pages.
    The index in MEMORY.md lists the latest sessions, active projects and the most used notes; to stop its updates,
    delete it together with its markers.

    \b
    mcp-memory topics organize
    mcp-memory topics organize --memory"""
    answer = cli.ask("organize", deadline_s=300, memory=memory or None)
    cli.show(answer, answer["pages"] or ["nothing new"])


def _edit(cli: CommandContext, verb: str, **arguments: Any) -> None:
    answer = cli.ask("edit_topic", deadline_s=compaction_s(cli.settings), verb=verb, **arguments)
    cli.show(answer, _result_lines(answer, cli.settings))


def _dropped_lines(page: Facts) -> Iterator[str]:
    whole = page["kept"] + len(page["dropped"])
    yield f"{page['path'].rpartition('/')[2]}  {page['title']}  (shows {page['kept']} of {whole} facts)"
    facts: dict[tuple[str, str], list[str]] = defaultdict(list)
    for one in page["dropped"]:
        kind, _, key = one["fact"].partition(": ")
        facts[", ".join(one["in"]), one["said"]].append(_DENIED if kind == "negation" else key)
    for (path, said), some in sorted(facts.items()):
        yield fit("", said or path, indent="  ")
        yield f"      {', '.join(dict.fromkeys(some))}  in {path}"


def _plan_lines(answer: Facts, settings: Settings) -> Iterator[str]:
    for job in answer["plan"]:
        place = job["topic"] or f"a new topic{' in ' if job['parent'] else ''}{job['parent']}"
        counts = [counted(len(job[f"{what}s"]), what) for what in ("note", "topic") if job[f"{what}s"]]
        yield f"{place}: {' and '.join(counts)}"
        yield from (f"  {note['path']}  {note['title']}" for note in job["notes"])
        yield from (f"  {topic}" for topic in job["topics"])
    yield from (f"{folder}: a new page" for folder in answer["stale"])
    is_due = answer["plan"] or answer["stale"]
    yield "nothing was changed; to do it: mcp-memory topics compact" if is_due else "nothing to do"
    yield from _waiting_lines(answer, settings)


def _result_lines(answer: Facts, settings: Settings) -> Iterator[str]:
    for key, verb in (
        ("done", ""),
        ("kept", "brought up to date: "),
        ("left", "left: "),
        ("provisional", "fallback page, made of the notes' own sentences: "),
    ):
        yield from (f"{verb}{line}" for line in answer[key])
    for path, count in answer["links"].items():
        yield f"not updated: {counted(count, 'link')} in {path}, which agents may not change: linked notes have moved"
    is_changed = answer["done"] or answer["kept"]
    if not is_changed:
        yield "nothing to do"
    if "note" in answer:
        yield from _waiting_lines(answer, settings)
    if is_changed:
        yield f"→ mcp-memory undo {answer['run']}"


def _waiting_lines(answer: Facts, settings: Settings) -> Iterator[str]:
    if answer["waiting"]:
        config = settings.section("topics", TopicsConfig)
        newest = config.fresh_tail_count
        why = f"the newest {newest} stay, " if newest else ""
        begins = f"a topic begins with {config.min_leaves} notes that share a subject"
        yield f"{counted(answer['waiting'], 'fresh note')} waiting: {why}{begins}"
    if answer["note"]:
        yield Remark(f"note: {answer['note']}")
