"""The review command: decide on candidates found in transcripts."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import click

from mcp_memory.cli.console import emit, fail, head, say
from mcp_memory.cli.engine_call import ask
from mcp_memory.cli.options import CommonOptions, command_options
from mcp_memory.errors import McpMemoryError
from mcp_memory.settings.settings import Settings
from mcp_memory.text.pluralize import counted

KEYS = "[a]ccept [e]dit [m]erge [d]rop [s]kip [q]uit"
KEYS_CONTRARY = "[a]ccept beside it, [r]eplace it, [e]dit [m]erge [d]rop [s]kip [q]uit"
KEYS_ACTIVE = "[a]ccept [e]dit [d] undo [s]kip [q]uit"
QUIT = frozenset("q\x03\x04\x1b")


@click.command()
@click.option("--accept", "accepted", metavar="ID", multiple=True, help="Store it. May be repeated.")
@click.option("--drop", "dropped", metavar="ID", multiple=True, help="Discard it, and never propose it again.")
@click.option("--undo", "undone", metavar="ID", multiple=True, help="Undo one that was stored immediately.")
@click.option(
    "--accept-all-above", type=click.FloatRange(0, 1), metavar="SCORE",
    help="Accept every candidate with at least this score that contradicts nothing.",
)  # fmt: skip
@command_options
def review(
    common: CommonOptions,
    accepted: tuple[str, ...],
    dropped: tuple[str, ...],
    undone: tuple[str, ...],
    accept_all_above: float | None,
    as_json: bool,
) -> None:
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
    settings = common.settings()
    done: list[dict[str, Any]] = []
    chosen = [("accept", each) for each in accepted] + [("drop", each) for each in dropped]
    chosen += [("undo", each) for each in undone]
    if accept_all_above is not None:
        chosen += [
            ("accept", each["id"])
            for each in _waiting(settings)
            if each["score"] >= accept_all_above and not each["active"] and not each["contradicts"]
        ]
    if chosen or accept_all_above is not None:
        for verb, target in dict.fromkeys(chosen):
            done.append({"verb": verb, **ask(settings, "review", {"verb": verb, "target": target})})
            if not as_json:
                say(f"{_PAST[verb]}: {done[-1]['title']}  ({done[-1]['path']})")
        if as_json:
            emit({"done": done})
        elif not done:
            say("no candidate has that score")
        return
    items = _waiting(settings)
    if as_json:
        emit({"waiting": items})
    elif not items:
        say("nothing waits for review")
    elif sys.stdin.isatty():
        _walk(settings, items)
    else:
        for item in items:
            _show(item)
        say("to decide with keys, run this in a terminal; for scripts: mcp-memory review --help")


_PAST = {"accept": "accepted", "drop": "dropped", "undo": "undone", "merge": "merged"}


def _waiting(settings: Settings) -> list[dict[str, Any]]:
    return ask(settings, "inbox", {})["waiting"]


def _walk(settings: Settings, items: list[dict[str, Any]]) -> None:
    for number, item in enumerate(items, 1):
        say()
        _show(item, f"{number} of {len(items)}  ")
        try:
            if not _decided(settings, item):
                break
        except McpMemoryError as error:  # the others can be looked at all the same
            fail(error.message, error.hint)
    say(f"{counted(len(_waiting(settings)), 'candidate')} left")


def _decided(settings: Settings, item: Mapping[str, Any]) -> bool:
    """False if you quit."""
    keys = KEYS_ACTIVE if item["active"] else KEYS_CONTRARY if item["contradicts"] else KEYS
    asked: dict[str, Any] = {"target": item["id"], "etag": item["etag"]}
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
                asked |= {"verb": "accept"}
            case "r" if item["contradicts"]:
                asked |= {"verb": "accept", "supersede": True}
            case "e":
                text = click.edit(str(item["text"]), extension=".md")
                if text is None or not text.strip():
                    continue
                asked |= {"verb": "accept", "content": text.strip()}
            case "m" if not item["active"]:
                into = click.prompt("into which note (id or path; empty: none)", default="", show_default=False)
                if not into.strip():
                    continue
                asked |= {"verb": "merge", "into": into.strip()}
            case "d" if item["active"]:
                asked = {"verb": "undo", "target": item["id"]}
            case "d":
                asked |= {"verb": "drop"}
            case _:
                continue
        answer = ask(settings, "review", asked)
        say(f"{_PAST[asked['verb']]}: {answer['path']}")
        return True


def _show(item: Mapping[str, Any], before: str = "") -> None:
    state = "stored" if item["active"] else f"score {item['score']:.2f}"
    head(f"{before}{item['kind']}  {state}  {item['id']}")
    for line in item["text"].splitlines():
        say(f"  {line}")
    about = [item["created"] and item["created"].partition("T")[0], item["source"], item["project"]]
    say(f"  — {', '.join([each for each in about if each] + item['derived_from'])}")
    for other in item["contradicts"]:
        say(f"  contradicts: {other['title']}  ({other['path'] or other['id']})")
