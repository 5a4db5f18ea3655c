"""Commands on what agents were given unasked: why, mute."""

import sys
from collections.abc import Iterator, Mapping, Sequence

import click

from mcp_memory.cli import note_options
from mcp_memory.cli.command_context import CommandContext, command_options, flag
from mcp_memory.cli.console import Facts, Heading, fit, read_key, say_all, short_id
from mcp_memory.cli.notes.note_choice import note_words, with_note
from mcp_memory.search.thresholds import LIKELY
from mcp_memory.text.pluralize import counted

KEYS = "123456789abcdefghijklmnoprstuvwxyz"
"""The keys for notes, in order. q is missing because it quits."""
_NOTHING = "nothing was given: mcp-memory clients hooks says how often, and what failed"
_NOTHING_IN_IT = "no session with this name was given a note: mcp-memory why all lists the latest"


@click.command()
@click.argument("session", default="last")
@note_options.limit(20, 4000, "Show at most this many answers.")
@command_options
def why(cli: CommandContext, session: str, limit: int) -> None:
    """Show which notes the hooks gave an agent, and why: the matching words of the prompt, and the score.

    SESSION is a session's id, `last` or `all`; the latest comes first. On a terminal, the key beside a note mutes it
    for that session's project: agents no longer get it unasked, but search finds it.

    \b
    mcp-memory why
    mcp-memory why all --limit 100 --json"""
    given = cli.ask("why", session=session, limit=limit)["given"]
    keys = _keys(given) if sys.stdin.isatty() and sys.stdout.isatty() else {}
    lines = list(_lines(given, keys)) or [_NOTHING if session in {"all", "last"} else _NOTHING_IN_IT]
    cli.show({"given": given}, lines)
    while keys and not cli.as_json:
        key = read_key("mute one by its key, [q]uit")
        chosen = next((note for note, known in keys.items() if known == key), None)
        if chosen is None:
            return
        say_all(_muted(cli.ask("mute", target=chosen[0], project=chosen[1])))


@click.command()
@note_words
@click.option("-p", "--project", help="Only in this project; default: in all.")
@flag("--undo", help="Give it to agents again, and forget how often they used it.")
@command_options
def mute(cli: CommandContext, note: str, project: str | None, undo: bool) -> None:
    """Stop giving a note or log entry (id, path or a few of its words) to agents unasked. Search and recall still find
    it.

    \b
    mcp-memory mute notes/fact/dentist.md --project api
    mcp-memory mute --undo dentist"""
    answer = with_note(cli, note, lambda target: cli.ask("mute", target=target, project=project, undo=undo))
    cli.show(answer, _muted(answer))


def _muted(answer: Facts) -> Iterator[str]:
    if not answer["muted"]:
        yield f"not muted  {answer['path']}"
        return
    where = "everywhere" if "*" in answer["muted"] else f"in {', '.join(answer['muted'])}"
    yield f"muted {where}  {answer['path']}  (mcp-memory mute --undo {short_id(answer['id'])})"


def _keys(given: Sequence[Facts]) -> dict[tuple[str, str | None], str]:
    """Map each note and project to a key."""
    notes = dict.fromkeys((passage["id"], one.get("project")) for one in given for passage in one["passages"])
    return dict(zip(notes, KEYS, strict=False))


def _lines(given: Sequence[Facts], keys: Mapping[tuple[str, str | None], str]) -> Iterator[str]:
    for one in given:
        sure = "" if one.get("confidence") is None else f"  confidence {one['confidence']:.2f}"
        yield Heading(f"{one['at'][:16].replace('T', ' ')}  {one['event']}  {one['session']}{sure}")
        for passage in one["passages"]:
            key = keys.get((passage["id"], one.get("project")))
            name = f"{passage['title'] or '(forgotten, or gone)'}  ({passage['path']}:{passage['line']})"
            yield fit(f"[{key}]" if key else "", name, short_id(passage["id"]), indent="  ")
            figures = [f"{name} {passage[name]:.2f}" for name in ("relevance", "score") if name in passage]
            if words := ", ".join(passage.get("words", ())):
                figures.append(f"for: {words}")
            if figures:
                yield f"      {'  '.join(figures)}"
            if passage.get("shown"):
                undo = f"mcp-memory mute --undo {short_id(passage['id'])}"
                counts = f"shown {counted(passage['shown'], 'time')}, used {passage['used']}"
                yield f"      {counts}: needs {passage['needed']:.2f} instead of {LIKELY:.2f}  ({undo} starts anew)"
