"""Reviews what waits with one key for each item, on a terminal."""

from collections.abc import Iterator, Mapping, Sequence

import click

from mcp_memory.cli.command_context import CommandContext
from mcp_memory.cli.console import Facts, Heading, fail, fit, read_key, say, say_all, short_id, wrap
from mcp_memory.cli.notes.note_choice import NEAREST, notes_found, offer
from mcp_memory.errors import InvalidInput, McpMemoryError
from mcp_memory.text.pluralize import counted

Item = Facts

QUIT = frozenset("q\x03\x04\x1b")
_FURTHER = "[s]kip [?] help [q]uit"
_EXPLAINED = """\
s  skip: it waits for the next review
q  quit: the rest waits"""
LEAST_NEAR = 0.25
"""The least share of a candidate's words that the note beside it has."""
_WITH_OWN_ID = {"candidate", "stored", "proposal"}
"""The items whose id `--accept` and `--drop` take."""
_STORING = {"accept", "replace"}
_PAST = {
    "accept": "accepted", "replace": "stored in its place", "merge": "merged", "drop": "dropped", "finish": "done",
    "keep": "kept", "both": "both apply", "confirm": "confirmed", "archive": "moved to",
}  # fmt: skip


def review_with_keys(cli: CommandContext, items: list[Item], wanted: Facts) -> None:
    """Show one item after the other, and carry out the decisions. `wanted`: the arguments that listed the items."""
    items = by_subject([item for item in items if item["choices"]])
    for number, item in enumerate(items, 1):
        say()
        beside = _note_beside(cli, item)
        say_all(item_lines(item, f"{number} of {len(items)}  "))
        if beside and not item["notes"]:
            say_all([_note_line("nearest", beside)])
        try:
            if _is_quit(cli, item, beside):
                break
        except McpMemoryError as error:  # you can still review the others
            fail(error.message, error.hint)
    left = cli.ask("waiting", **wanted)["waiting"]
    say(f"{counted(sum(bool(item['choices']) for item in left), 'item')} left")


def by_subject(items: Sequence[Item]) -> list[Item]:
    """Put items about one subject behind the first of them."""
    from mcp_memory.comparison import subject

    notes = ((note.get("text") or note["title"] for note in item["notes"]) for item in items)
    texts = [" ".join([item["text"], *some]) for item, some in zip(items, notes, strict=True)]
    return [items[number] for group in subject.by_subject(texts) for number in group]


def item_lines(item: Facts, before: str = "") -> Iterator[str]:
    """Yield the lines that show an item."""
    has_own_id = item["what"] in _WITH_OWN_ID
    head = (item["kind"] or item["what"], item["why"], short_id(item["id"]) if has_own_id else "")
    yield Heading(f"{before}{'  '.join(filter(None, head))}")
    yield from wrap(item["text"], "  ")
    path = "" if has_own_id else item["path"]
    places, session = item["derived_from"], item["session"]
    if session:  # a transcript is named after its session, and a place in it is a byte offset
        places = [f"session {session[:8]}", *(f"@{place.rpartition('@')[2]}" for place in places)]
    if facts := [*filter(None, [path, *_facts(item)]), *places]:
        yield fit("from", ", ".join(facts), indent="  ")
    for note in item["notes"]:
        if "text" not in note:
            yield _note_line(note["role"], note)
            continue
        yield fit(note["role"], ", ".join([*_facts(note), note["kind"]]), short_id(note["id"]), indent="  ")
        is_said = note["title"].rstrip("….") in note["text"]
        yield from wrap(note["text"] if is_said else f"{note['title']}: {note['text']}", "    ")


def _note_line(role: str, note: Facts) -> str:
    return fit(f"{role}:", note["title"] or note["path"], short_id(note["id"]), indent="  ")


def decided_line(choice: str, done: Facts) -> str:
    """Return the line that shows a decision."""
    old = ", ".join(map(short_id, done.get("supersedes", ()))) if choice in {"accept", "replace"} else ""
    place = f"{done['path']}{f', in place of {old}' if old else ''}"
    return fit(f"{_PAST[choice]}:", f"{done['title']}  ({place})", short_id(done["id"]))


def _facts(about: Facts) -> list[str]:
    """Return the time, source and project of an item or note, as far as they are known."""
    time = about.get("date") or about.get("created") or ""
    return [fact for fact in (time[:16].replace("T", " "), about["source"], about["project"]) if fact]


def _note_beside(cli: CommandContext, item: Item) -> Facts | None:
    """Return the note that a candidate may replace: a note that it contradicts, else the nearest note about its
    subject."""
    from mcp_memory.text.language.terms import content_words, coverage

    if item["what"] != "candidate" or item["notes"]:
        return next(iter(item["notes"]), None)
    wanted = content_words(item["text"])
    near = [note for note in notes_found(cli, item["text"]) if "#" not in note["id"]][:NEAREST]
    best = max(near, key=lambda note: coverage(wanted, content_words(note["text"])), default=None)
    return best if best and coverage(wanted, content_words(best["text"])) >= LEAST_NEAR else None


def _is_quit(cli: CommandContext, item: Item, beside: Facts | None) -> bool:
    """Ask for keys until one decides or skips; return whether you quit."""
    choices = {choice["key"]: choice for choice in item["choices"]}
    keys = f"{' '.join(choice['label'] for choice in item['choices'])} {_FURTHER}"
    changes: dict[str, str] = {}
    other: dict[str, str] | None = None
    while True:
        key = read_key(keys)
        if key == "s" or key in QUIT:
            return key != "s"
        if key == "?":
            say_all(wrap("\n".join([*(f"{one['key']}  {one['about']}" for one in item["choices"]), _EXPLAINED]), "  "))
        elif choice := choices.get(key):
            if choice["asks"] in {"kind", "project"}:
                changes |= _ask_change(item, choice["asks"], changes)
                continue
            if choice["asks"] == "beside":
                other = _other_note(cli, item["text"])
                continue
            if choice["asks"] == "text":
                given = _edited(item["text"])
            elif choice["asks"] == "note":
                given = other or ({"note": beside["id"]} if beside else _other_note(cli, item["text"]))
            else:
                given = other or {} if choice["name"] == "replace" else {}
            if given is None:
                continue
            try:
                _carry_out(cli, item, choice, {**changes, **given} if choice["name"] in _STORING else given)
                return False
            except InvalidInput as error:  # such as an unknown kind
                fail(error.message, error.hint)
                changes.pop("kind", None)


def _carry_out(cli: CommandContext, item: Item, choice: Facts, given: Mapping[str, str]) -> None:
    arguments: Facts = {"note": choice["note"], "etag": item["etag"] or None, **given}
    answer = cli.ask("review", items=[item["id"]], choice=choice["name"], **arguments)
    say_all(decided_line(choice["name"], done) for done in answer["done"])


def _ask_change(item: Item, name: str, changes: Mapping[str, str]) -> dict[str, str]:
    now = changes.get(name, item[name]) or "none"
    if name == "kind":
        return {name: click.prompt(f"kind (now {now})")}
    return {name: click.prompt(f"project (now {now}; empty: none)", default="", show_default=False)}


def _edited(text: str) -> dict[str, str] | None:
    try:
        edited = (click.edit(text, extension=".md") or "").strip()
    except click.ClickException as error:
        fail(error.message, "set VISUAL to your editor")
        return None
    if edited in ("", text.strip()):
        say("the text is as it was, so nothing is accepted")
        return None
    return {"text": edited}


def _other_note(cli: CommandContext, text: str) -> dict[str, str] | None:
    near: Sequence[Facts] = notes_found(cli, text)[:NEAREST]
    offer(near)
    which = f"1 to {len(near)}, " if near else ""
    named = click.prompt(f"which note ({which}an id or path; empty: none)", default="", show_default=False).strip()
    if named.isdecimal() and 0 < int(named) <= len(near):
        return {"note": near[int(named) - 1]["id"]}
    return {"note": named} if named else None
