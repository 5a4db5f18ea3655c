"""The part of review that decides which of two contradicting notes holds."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import permutations
from typing import Any

from mcp_memory.cli.command_context import CommandContext
from mcp_memory.cli.console import Heading, confirm, fail, fit, read_key, say, say_all, short_id, wrap
from mcp_memory.errors import McpMemoryError
from mcp_memory.text.pluralize import counted

KEYS = "keep [n]ewer, keep [o]lder, [b]oth apply, [s]kip [?] help [q]uit"
EXPLAINED = """\
n  keep newer: the whole older note is marked as superseded
o  keep older: the whole newer note is marked as superseded
b  both apply: the newer note records that, and they aren't shown as a conflict again
s  skip: the conflict stays open
q  quit: the rest stays open"""
QUIT = frozenset("q\x03\x04\x1b")
_PAST = {"keep": "kept", "both": "both apply"}


def show_conflicts(cli: CommandContext, project: str | None) -> None:
    """Decide on the open conflicts with keys on a terminal, else list them."""
    found = cli.ask("conflicts", project=project)
    items = found["conflicts"]
    if items and not cli.as_json and sys.stdin.isatty():
        _decide_with_keys(cli, items, project)
        return
    hint = "to decide: mcp-memory review --both ID, or --keep ID (the whole other note is superseded)"
    cli.show(found, [*(line for item in items for line in _lines(item)), hint if items else "no conflict is open"])


def decide_conflict(cli: CommandContext, verb: str, note: str, other: str | None, *, yes: bool) -> None:
    """Show the notes that would give way, ask if somebody can answer, and decide only about those notes."""
    shown = [
        rival
        for item in replace(cli, without_project=None).ask("conflicts")["conflicts"]
        for kept, rival in permutations((item["older"], item["newer"]))
        if _is_named(kept, note) and (other is None or _is_named(rival, other))
    ]
    if verb == "keep" and not cli.as_json:
        say_all(fit("goes", f"{rival['title']}  ({rival['path']})", short_id(rival["id"])) for rival in shown)
        if shown and not yes and sys.stdin.isatty():
            confirm(f"keep {short_id(note)} in place of {'this' if len(shown) == 1 else 'these'}?", abort=True)
    only = [rival["id"] for rival in shown]
    answer = cli.ask("decide", verb=verb, target=note, other=other, only=only)
    cli.show(answer, (f"{_PAST[verb]}: {short_id(note)}  ({one['why']})" for one in answer["decided"]))


def _is_named(side: Mapping[str, Any], name: str) -> bool:
    """Return whether a note has this name: its id, the end of its id in any case, or its path."""
    return name == side["path"] or side["id"].lower().endswith(name.lower())


def _decide_with_keys(cli: CommandContext, items: list[dict[str, Any]], project: str | None) -> None:
    for number, item in enumerate(items, 1):
        say()
        say_all(_lines(item, f"{number} of {len(items)}  "))
        key = _key()
        if key in QUIT:
            break
        older, newer = item["older"]["id"], item["newer"]["id"]
        verbs = {"n": ("keep", newer, older), "o": ("keep", older, newer), "b": ("both", newer, older)}
        if key in verbs:
            verb, target, other = verbs[key]
            try:
                cli.ask("decide", verb=verb, target=target, other=other)
                say(f"{_PAST[verb]}: {short_id(target)}")
            except McpMemoryError as error:  # you can still decide the others
                fail(error.message, error.hint)
    say(f"{counted(len(cli.ask('conflicts', project=project)['conflicts']), 'conflict')} left")


def _key() -> str:
    while True:
        key = read_key(KEYS)
        if key in QUIT or key in {"n", "o", "b", "s"}:
            return key
        if key == "?":
            say_all(wrap(EXPLAINED, "  "))


def _lines(item: Mapping[str, Any], before: str = "") -> Iterator[str]:
    yield Heading(f"{before}{item['why']}")
    for side in ("newer", "older"):
        one = item[side]
        about = [one["date"] and one["date"][:16].replace("T", " "), one["kind"], one["source"], one["project"]]
        yield fit(side, ", ".join(filter(None, about)), short_id(one["id"]), indent="  ")
        is_said = one["title"].rstrip("….") in one["text"]
        yield from wrap(one["text"] if is_said else f"{one['title']}: {one['text']}", "    ")
