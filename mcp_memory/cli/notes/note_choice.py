"""Finds the note that you mean by a few words, and asks where several fit."""

import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from mcp_memory.cli.command_context import CommandContext
from mcp_memory.cli.console import Facts, fit, print_status, short_id
from mcp_memory.errors import InvalidInput, NotFound

T = TypeVar("T")

Note = Facts
"""A note of an answer, with `id`, `path`, `title` and more."""

MOST_OFFERED = 9
NEAREST = 3
LOOKED_AT = 30

_ID_OR_PATH = re.compile(r".*\.md|\S*[/#]\S*|(?=.*\d)[0-9A-Z]{6,}")


def _joined(_context: click.Context, _argument: click.Parameter, words: tuple[str, ...]) -> str:
    return " ".join(words)


note_words = click.argument("note", metavar="NOTE", nargs=-1, required=True, callback=_joined)
"""The argument that `with_note` takes: an id, a path, or words."""


ACTIVE, WITH_SUPERSEDED, NOT_FORGOTTEN = ("active",), ("active", "superseded"), ("active", "superseded", "archived")
"""The statuses of the notes among which a command looks."""


def with_note(
    cli: CommandContext,
    words: str,
    act: Callable[[str], T],
    statuses: Sequence[str] = ACTIVE,
    more: Callable[[], Sequence[Note]] = list[Note],
    *,
    asks: bool = False,
) -> T:
    """Return the answer of `act` for the note with this id or path, or for the note of these statuses, or of `more`,
    that has all these words in its title.

    On a terminal you choose if several notes have the words, if none has them, if a note has them only in its text, or
    if the command `asks` in any case. Raises NotFound, and InvalidInput where nobody can choose."""
    try:
        return act(words)
    except NotFound:
        if _ID_OR_PATH.fullmatch(words):
            raise
    found = notes_found(cli, words, statuses) if statuses else ()
    return act(_choose(cli, words, [*more(), *found], asks=asks))


def notes_found(cli: CommandContext, words: str, statuses: Sequence[str] = ACTIVE) -> list[Note]:
    """Return the notes and entries of these statuses that a search finds, the best first, each once, with the passages
    found."""
    found: dict[str, dict[str, Any]] = {}
    for hit in cli.ask("search", query=words, limit=LOOKED_AT, include_archived=True, project="*")["hits"]:
        if hit["status"] in statuses and not hit["path"].startswith("@"):
            title = f"{hit['heading']} {hit['snippet']}".strip() if "#" in hit["id"] else hit["title"]
            note = found.setdefault(hit["id"], {"id": hit["id"], "path": hit["path"], "title": title, "text": ""})
            note["text"] += f" {hit['snippet']}"
    return list(found.values())


def offer(notes: Sequence[Note]) -> None:
    """Print numbered notes on standard error."""
    for number, note in enumerate(notes, 1):
        ending = short_id(note["id"]).removesuffix(note["path"])
        print_status(fit(f"  {number}", f"{note['title']}  ({note['path']})", ending))


def _choose(cli: CommandContext, words: str, notes: Sequence[Note], *, asks: bool) -> str:
    from mcp_memory.text.language.terms import terms

    wanted = set(terms(words))

    def fits(note: Note, *more: str) -> bool:
        stem = note["path"].rpartition("/")[2].removesuffix(".md")
        return wanted <= set(terms(" ".join((note["title"], stem, *more))))

    fitting = [note for note in notes if fits(note, note["path"], note.get("text", ""))]
    named = [note for note in fitting if note["title"].casefold() == words.casefold()] or fitting
    is_one = len(named) == 1 and bool(wanted) and fits(named[0])
    if is_one and not asks:
        return named[0]["id"]
    offered = (named or notes)[: MOST_OFFERED if named else NEAREST]
    what = f"{len(named)} notes have" if len(named) > 1 else "one note has, in its text," if named else "no note has"
    what = "one note has" if is_one else what
    if cli.as_json or not sys.stdin.isatty() or not offered:
        error = InvalidInput if named else NotFound
        some = "".join(f"\n{fit('', note['title'], short_id(note['id']), indent='    ')}" for note in offered)
        hint = f"name one by its id:{some}" if some else "mcp-memory search finds notes by meaning"
        raise error(f"{what} the words {words!r}", hint=hint)
    print_status(f"{what} the words {words!r}{'' if named else '; the nearest are'}:")
    offer(offered)
    question = f"which one (1 to {len(offered)}; 0: none)"
    kind = click.IntRange(0, len(offered))
    if number := click.prompt(question, type=kind, default=0, show_default=False, err=True):
        return offered[number - 1]["id"]
    raise click.Abort
