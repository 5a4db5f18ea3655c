"""The command `tree`, also called `topics`: draws the topics, and renames, moves, merges and splits them."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import click

from mcp_memory.cli.console import fit
from mcp_memory.cli.options import CommandContext, command_options
from mcp_memory.cli.topics.topics import result_lines
from mcp_memory.cli.topics.tree_view import draw_tree
from mcp_memory.daemon.engine_client import compaction_s
from mcp_memory.text.language.facts import FactKind

_DENIED = "what is not so"
"""The text in place of a negation, whose words are folded."""


class TopicCommands(click.Group):
    """A group that takes an unknown command as the topic to draw."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        return super().resolve_command(ctx, args) if args[0] in self.commands else ("", draw_one, args)


@click.group(cls=TopicCommands, invoke_without_command=True, subcommand_metavar="[TOPIC | COMMAND [ARGS]...]")
@click.option("--depth", type=click.IntRange(min=1), metavar="N", help="How many levels; 1 = only the top topics.")
@click.option(
    "--dropped", is_flag=False, flag_value="", metavar="[TOPIC]", help="The facts that a topic's page leaves out."
)
@command_options
@click.pass_context
def tree(ctx: click.Context, cli: CommandContext, depth: int | None, dropped: str | None) -> None:
    """Draw the topics with how many notes each holds and from when, and the fresh notes that wait to be filed; or
    change them. The title of a topic that you rename in a file manager follows its folder.

    `stale`: the topic's page, or one below it, is out of date. The next compaction writes it again; what you changed on
    it stays. Folders that you made are shown and left alone. TOPIC is a folder or a title.

    \b
    mcp-memory tree
    mcp-memory tree payments      only this topic
    mcp-memory tree --depth 1     only the top topics
    mcp-memory tree --dropped     what the pages leave out, and which notes have it
    mcp-memory show topics/01-x   what a topic is about
    mcp-memory tree rename 01-x "Kitchen garden"
    """
    if dropped is not None:
        answer = cli.ask("tree", dropped=dropped)
        cli.show(answer, [line for page in answer["pages"] for line in _dropped_lines(page)] or ["no topics yet"])
    elif ctx.invoked_subcommand is None:
        answer = cli.ask("tree", depth=depth)
        nothing = "no topics yet" + ("" if answer["waiting"] else ", and no fresh notes are waiting")
        cli.show(answer, [*draw_tree(answer), *([] if answer["topics"] else [nothing])])


def _dropped_lines(page: dict[str, Any]) -> Iterator[str]:
    whole = page["kept"] + len(page["dropped"])
    yield f"{page['path'].rpartition('/')[2]}  {page['title']}  (tells {page['kept']} of {whole} facts)"
    facts: dict[tuple[str, str], list[str]] = defaultdict(list)
    for one in page["dropped"]:
        kind, _, key = one["fact"].partition(": ")
        facts[", ".join(one["in"]), one["said"]].append(_DENIED if kind == FactKind.NEGATION else key)
    for (path, said), some in sorted(facts.items()):
        yield fit("", said or path, indent="  ")
        yield f"      {', '.join(dict.fromkeys(some))}  in {path}"


@click.command()
@click.argument("topic", nargs=-1, required=True)
@click.option("--depth", type=click.IntRange(min=1), metavar="N", help="How many levels; 1 = only this topic.")
@command_options
@click.pass_context
def draw_one(ctx: click.Context, cli: CommandContext, topic: tuple[str, ...], depth: int | None) -> None:
    """Draw one topic, with those below it."""
    assert ctx.parent
    answer = cli.ask("tree", topic=" ".join(topic), depth=depth or ctx.parent.params["depth"])
    cli.show(answer, draw_tree({"topics": [answer["topic"]], "waiting": 0}))


@tree.command()
@click.argument("topic")
@click.argument("name")
@command_options
def rename(cli: CommandContext, topic: str, name: str) -> None:
    """Give a topic another title. Its folder is renamed, too; links follow, and the title stays.

    \b
    mcp-memory topics rename 07-eur "Flat hunt"
    """
    _edit(cli, "rename", topic=topic, name=name)


@tree.command()
@click.argument("topic")
@click.argument("into")
@command_options
def move(cli: CommandContext, topic: str, into: str) -> None:
    """Move a topic with all its notes into another one, or to the top: /

    \b
    mcp-memory topics move 03-ferries 01-japan-trip
    mcp-memory topics move 01-japan-trip/03-ferries /"""
    _edit(cli, "move", topic=topic, into=into)


@tree.command()
@click.argument("topic")
@click.argument("into")
@command_options
def merge(cli: CommandContext, topic: str, into: str) -> None:
    """Move a topic's notes into another topic, and remove its page. Your own text on it goes to the other topic's page.

    \b
    mcp-memory topics merge 05-kyoto 01-japan-trip"""
    _edit(cli, "merge", topic=topic, into=into)


@tree.command()
@click.argument("topic")
@click.argument("name")
@click.argument("notes", nargs=-1, metavar="[NOTE]...")
@command_options
def split(cli: CommandContext, topic: str, name: str, notes: tuple[str, ...]) -> None:
    """Move some notes of a topic into a new one of this name: beside it, or below it if it is a project's own. NOTE is
    an id, a path or a file's name; without any, those go that have all words of NAME in their title, tags or text.

    \b
    mcp-memory topics split 01-japan-trip "Rail pass"
    mcp-memory topics split 01-japan-trip "Money" 004-exchange-rates.md 009-cash.md"""
    _edit(cli, "split", topic=topic, name=name, notes=notes)


def _edit(cli: CommandContext, verb: str, **arguments: Any) -> None:
    answer = cli.ask("edit_topic", deadline_s=compaction_s(cli.settings), verb=verb, **arguments)
    cli.show(answer, result_lines(answer, cli.settings))
