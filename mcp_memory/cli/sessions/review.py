"""The review command: decide on candidates found in transcripts."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

import click

from mcp_memory.cli.console import Heading, fail, fit, say, say_all, short_id, wrap
from mcp_memory.cli.options import CommandContext, command_options
from mcp_memory.errors import McpMemoryError
from mcp_memory.text.pluralize import counted

KEYS = "[a]ccept [e]dit [m]erge [d]rop [s]kip [q]uit"
KEYS_CONTRARY = "[a]ccept beside it, [r]eplace it, [e]dit [m]erge [d]rop [s]kip [q]uit"
KEYS_ACTIVE = "[a]ccept [e]dit [d] undo [s]kip [q]uit"
QUIT = frozenset("q\x03\x04\x1b")

_PAST = {"accept": "accepted", "drop": "dropped", "undo": "undone", "merge": "merged"}


@click.command()
@click.option("--accept", metavar="ID", multiple=True, help="Store it. May be repeated.")
@click.option("--drop", metavar="ID", multiple=True, help="Discard it, and never propose it again.")
@click.option("--undo", metavar="ID", multiple=True, help="Undo one that was stored immediately.")
@click.option(
    "--accept-all-above", type=click.FloatRange(0, 1), metavar="SCORE",
    help="Accept every candidate with at least this score that contradicts nothing.",
)  # fmt: skip
@command_options
def review(cli: CommandContext, accept_all_above: float | None, **chosen: tuple[str, ...]) -> None:
    """Review the candidates in _inbox/ with one key each: accept, edit, merge into another note, drop, skip, quit.

    Then come statements that were stored immediately, until you accept them. A dropped candidate is not proposed
    again; `mcp-memory restore ID` brings it back. If another program changes one meanwhile, it is left alone and you
    are told.

    \b
    mcp-memory review                          with keys, on a terminal
    mcp-memory review --json                   what waits, for scripts
    mcp-memory review --accept-all-above 0.8
    mcp-memory review --undo 01M7Z3HPR77M1K414E2NKABTV4
    """
    decisions = [(verb, target) for verb in ("accept", "drop", "undo") for target in chosen[verb]]
    if accept_all_above is not None:
        decisions += [
            ("accept", item["id"])
            for item in _waiting(cli)
            if item["score"] >= accept_all_above and not item["active"] and not item["contradicts"]
        ]
    if decisions or accept_all_above is not None:
        done: list[dict[str, Any]] = []
        for verb, target in dict.fromkeys(decisions):
            done.append({"verb": verb, **cli.ask("review", verb=verb, target=target)})
            if not cli.as_json:
                say(f"{_PAST[verb]}: {done[-1]['title']}  ({done[-1]['path']})")
        cli.show({"done": done}, [] if done else ["no candidate has that score"])
        return
    items = _waiting(cli)
    if items and not cli.as_json and sys.stdin.isatty():
        _review_with_keys(cli, items)
        return
    hint = "to decide with keys, run this in a terminal; for scripts: mcp-memory review --help"
    lines = [*(line for item in items for line in _lines(item)), hint if items else "nothing waits for review"]
    cli.show({"waiting": items}, lines)


def _waiting(cli: CommandContext) -> list[dict[str, Any]]:
    return cli.ask("inbox")["waiting"]


def _review_with_keys(cli: CommandContext, items: list[dict[str, Any]]) -> None:
    for number, item in enumerate(items, 1):
        say()
        say_all(_lines(item, f"{number} of {len(items)}  "))
        try:
            if not _decide(cli, item):
                break
        except McpMemoryError as error:  # you can still review the others
            fail(error.message, error.hint)
    say(f"{counted(len(_waiting(cli)), 'candidate')} left")


def _decide(cli: CommandContext, item: Mapping[str, Any]) -> bool:
    """False if you quit."""
    keys = KEYS_ACTIVE if item["active"] else KEYS_CONTRARY if item["contradicts"] else KEYS
    request: dict[str, Any] = {"target": item["id"], "etag": item["etag"]}
    while True:
        click.echo(f"{keys}  ", nl=False)
        key = click.getchar().lower()
        say(key if key.isprintable() else "")
        if key in QUIT:
            return False
        match key:
            case "s":
                return True
            case "a":
                request |= {"verb": "accept"}
            case "r" if item["contradicts"]:
                request |= {"verb": "accept", "supersede": True}
            case "e":
                text = click.edit(str(item["text"]), extension=".md")
                if text is None or not text.strip():
                    continue
                request |= {"verb": "accept", "content": text.strip()}
            case "m" if not item["active"]:
                into = click.prompt("into which note (id or path; empty: none)", default="", show_default=False)
                if not into.strip():
                    continue
                request |= {"verb": "merge", "into": into.strip()}
            case "d" if item["active"]:
                request = {"verb": "undo", "target": item["id"]}
            case "d":
                request |= {"verb": "drop"}
            case _:
                continue
        answer = cli.ask("review", **request)
        say(f"{_PAST[request['verb']]}: {answer['path']}")
        return True


def _lines(item: Mapping[str, Any], before: str = "") -> Iterator[str]:
    state = "stored" if item["active"] else f"score {item['score']:.2f}"
    yield Heading(f"{before}{item['kind']}  {state}  {short_id(item['id'])}")
    yield from wrap(item["text"], "  ")
    about = [item["created"] and item["created"].partition("T")[0], item["source"], item["project"]]
    yield fit("—", ", ".join([fact for fact in about if fact] + item["derived_from"]), indent="  ")
    for other in item["contradicts"]:
        yield fit("contradicts:", other["title"] or other["path"], short_id(other["id"]), indent="  ")
