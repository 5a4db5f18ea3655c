"""The review command: decide on candidates found in transcripts, and on contradictions."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from mcp_memory.cli import note_options
from mcp_memory.cli.command_context import CommandContext
from mcp_memory.cli.console import Heading, fail, fit, read_key, say, say_all, short_id, wrap
from mcp_memory.cli.notes.note_choice import NEAREST, notes_found, offer
from mcp_memory.cli.options import command_options
from mcp_memory.cli.sessions.conflicts import decide_conflict, show_conflicts
from mcp_memory.errors import InvalidInput, McpMemoryError
from mcp_memory.text.pluralize import counted

_FURTHER = "[k]ind [p]roject [s]kip [b]ack [?] help [q]uit"
KEYS = f"[a]ccept [e]dit [m]erge [d]rop {_FURTHER}"
KEYS_CONTRARY = f"[a]ccept beside it, [r]eplace it, [e]dit [m]erge [d]rop {_FURTHER}"
KEYS_ACTIVE = f"[a]ccept [e]dit [d]rop {_FURTHER}"
KEYS_DREAM = "[a]ccept [e]dit [d]rop [s]kip [b]ack [?] help [q]uit"
KEYS_PROMISE = f"[a]ccept [f]inished [e]dit [d]rop {_FURTHER}"
EXPLAINED = """\
a  accept: store it as a note, beside any note that it contradicts
r  replace: store it, and mark what it contradicts as superseded
e  edit: change the text in your editor, and store that; if you change nothing, nothing is stored
m  merge: choose a similar note or another note; this text is added to it, or replaces it
d  drop: never propose it again; if it is already stored, forget it
f  finished: the commitment is done, as with mcp-memory due --done
k  kind: store it as another kind, such as decision; asked before you accept
p  project: store it for another project, or for none
s  skip: it waits for the next review
b  back: to the previous candidate, if you skipped or dropped it
q  quit: the rest waits"""
QUIT = frozenset("q\x03\x04\x1b")

_PAST = {"accept": "accepted", "drop": "dropped", "merge": "merged", "done": "done"}


@click.command()
@click.option("--accept", metavar="ID", multiple=True, help="Store this candidate. May be repeated.")
@click.option("--drop", metavar="ID", multiple=True, help="Discard this candidate, and never propose it again.")
@click.option(
    "--accept-all-above", type=click.FloatRange(0, 1), metavar="SCORE",
    help="Accept every candidate with at least this score that contradicts nothing.",
)  # fmt: skip
@click.option("--conflicts", "only_conflicts", is_flag=True, help="Review notes that contradict each other instead.")
@click.option("--keep", metavar="ID", help="In a conflict, keep this note and supersede the other.")
@click.option("--both", metavar="ID", help="In a conflict, keep both notes.")
@click.option("--with", "other", metavar="ID", help="With --keep or --both: only its conflict with this note.")
@click.option("--yes", is_flag=True, help="With --keep: don't ask.")
@note_options.project("With --conflicts: only this project's notes and those without one")
@command_options
def review(
    cli: CommandContext,
    accept_all_above: float | None,
    only_conflicts: bool,
    keep: str | None,
    both: str | None,
    other: str | None,
    yes: bool,
    project: str | None,
    **chosen: tuple[str, ...],
) -> None:
    """Review the candidates in _inbox/ with one key each; `?` explains the keys.

    Then it shows statements that were stored immediately and that you haven't accepted yet, and proposals from
    DREAMS.md, which the next `mcp-memory dream` applies. A dropped candidate isn't proposed again; `mcp-memory restore
    ID` brings it back. If another program changes a candidate meanwhile, it is left alone, and you see an error.

    --conflicts lists notes that contradict each other, latest first. Until you decide, agents see the newer note with
    the older value. --keep supersedes the whole other note, after showing it to you. If that note contains more than
    the old value, edit the value instead; this settles the conflict, too. --both records in the newer note that both
    are right. `mcp-memory undo NOTE` undoes a decision.

    \b
    mcp-memory review                          with keys, on a terminal
    mcp-memory review --json                   what awaits review, for scripts
    mcp-memory review --accept-all-above 0.8
    mcp-memory review --drop KABTV4
    mcp-memory undo KABTV4                     undo your decision about it
    mcp-memory review --conflicts              with keys, on a terminal
    mcp-memory review --keep KABTV4
    mcp-memory review --both KABTV4 --with b7d3e468"""
    deciding = any(chosen.values()) or accept_all_above is not None
    if deciding and (keep or both or only_conflicts):
        hint = "decide on candidates and on conflicts one after the other"
        raise InvalidInput(
            "--accept and --drop are for candidates; --keep, --both and --conflicts are for conflicts", hint=hint
        )
    if keep or both:
        if keep and both:
            raise InvalidInput("--keep can't be combined with --both", hint="pass only one option")
        decide_conflict(cli, "keep" if keep else "both", keep or both or "", other, yes=yes)
        return
    if other or yes:
        raise InvalidInput("--with and --yes are for --keep and --both", hint="mcp-memory review --keep ID")
    if only_conflicts:
        show_conflicts(cli, project)
        return
    if project:
        raise InvalidInput("--project needs --conflicts", hint="mcp-memory review --conflicts --project NAME")
    decisions = [(verb, target) for verb in ("accept", "drop") for target in chosen[verb]]
    if accept_all_above is not None:
        decisions += [
            ("accept", item["id"])
            for item in _waiting(cli)
            if item["score"] >= accept_all_above and _is_candidate(item) and not (item["active"] or item["contradicts"])
        ]
    if decisions or accept_all_above is not None:
        _carry_out(cli, decisions)
        return
    items = _waiting(cli)
    if items and not cli.as_json and sys.stdin.isatty():
        _review_with_keys(cli, items)
        return
    hint = "to decide with keys, run this in a terminal; for scripts: mcp-memory review --help"
    lines = [*(line for item in items for line in _lines(item)), hint if items else "nothing waits for review"]
    cli.show({"waiting": items}, lines)


def _carry_out(cli: CommandContext, decisions: Sequence[tuple[str, str]]) -> None:
    """Carry out decisions, each a verb and its target."""
    done: list[dict[str, Any]] = []
    for verb, target in dict.fromkeys(decisions):
        done.append({"verb": verb, **cli.ask("review", verb=verb, target=target)})
        if not cli.as_json:
            say(f"{_PAST[verb]}: {done[-1]['title']}  ({done[-1]['path']})")
    cli.show({"done": done}, [] if done else ["no candidate has that score"])


def _waiting(cli: CommandContext) -> list[dict[str, Any]]:
    return cli.ask("inbox")["waiting"]


def _review_with_keys(cli: CommandContext, items: list[dict[str, Any]]) -> None:
    done: dict[int, str] = {}
    number = 0
    while number < len(items):
        item = items[number]
        say()
        say_all(_lines(item, f"{number + 1} of {len(items)}  "))
        try:
            verb = _decide(cli, item)
            if verb == "back":
                number = _previous(cli, items, done, number)
                continue
            if verb == "quit":
                break
            done |= {number: verb}
        except McpMemoryError as error:  # you can still review the others
            fail(error.message, error.hint)
        number += 1
    say(f"{counted(len(_waiting(cli)), 'candidate')} left")


def _previous(cli: CommandContext, items: list[dict[str, Any]], done: dict[int, str], number: int) -> int:
    """Return the number of the last item before this one that can be decided again: a skipped item, or a dropped item,
    which comes back."""
    for before in range(number - 1, -1, -1):
        verb, is_candidate = done.get(before, "skip"), _is_candidate(items[before])
        if verb == "drop" and is_candidate:
            cli.ask("restore", target=items[before]["id"])
            items[before] = next((one for one in _waiting(cli) if one["id"] == items[before]["id"]), items[before])
        if verb in {"skip", "drop"}:
            return before
        undo = f"; to take that back: mcp-memory undo {short_id(items[before]['id'])}" if is_candidate else ""
        say(f"{before + 1} is {_PAST[verb]} already{undo}")
    return number


def _decide(cli: CommandContext, item: Mapping[str, Any]) -> str:
    """Ask for keys until one decides. Returns what was done: a verb, `skip`, `back` or `quit`."""
    is_promise = item["active"] and item["kind"] == "commitment"
    keys = _keys(item, is_promise=is_promise)
    plain: dict[str, dict[str, Any]] = {"a": {"verb": "accept"}, "d": {"verb": "drop"}}
    plain |= {"r": {"verb": "accept", "supersede": True}} if item["contradicts"] else {}
    changes: dict[str, Any] = {}
    while True:
        key = read_key(keys)
        if key in QUIT or key in {"s", "b"}:
            return {"s": "skip", "b": "back"}.get(key, "quit")
        wanted = plain.get(key, {})
        match key:
            case "e":
                wanted = _edited(str(item["text"]))
            case "m" if not item["active"] and _is_candidate(item):
                wanted = _other_note(cli, item)
            case "f" if is_promise:
                kept = cli.ask("forget", target=item["id"], done=True)
                say(f"done: {kept['path']}")
                return "done"
            case "k" if _is_candidate(item):
                changes["kind"] = click.prompt(f"kind (now {changes.get('kind', item['kind'])})")
            case "p" if _is_candidate(item):
                now = changes.get("project", item["project"]) or "none"
                changes["project"] = click.prompt(f"project (now {now}; empty: none)", default="", show_default=False)
            case "?":
                say_all(wrap(EXPLAINED, "  "))
            case _:
                pass
        try:
            if wanted:
                more = changes if wanted["verb"] == "accept" else {}
                answer = cli.ask("review", target=item["id"], etag=item["etag"], **wanted, **more)
                say(f"{_PAST[wanted['verb']]}: {answer['path']}")
                return str(wanted["verb"])
        except InvalidInput as error:  # such as an unknown kind
            fail(error.message, error.hint)
            changes.pop("kind", None)


def _keys(item: Mapping[str, Any], *, is_promise: bool) -> str:
    if _is_dream(item):
        return KEYS_DREAM
    if is_promise:
        return KEYS_PROMISE
    if item["active"]:
        return KEYS_ACTIVE
    return KEYS_CONTRARY if item["contradicts"] else KEYS


def _is_dream(item: Mapping[str, Any]) -> bool:
    """Return whether an item is a proposal of DREAMS.md, which a run of `mcp-memory dream` stores."""
    return str(item["id"]).startswith("dream-")


def _is_candidate(item: Mapping[str, Any]) -> bool:
    return not _is_dream(item)


def _edited(text: str) -> dict[str, Any]:
    """Open the text in an editor. Return a decision with the new text, or an empty dict if the text is unchanged."""
    try:
        edited = (click.edit(text, extension=".md") or "").strip()
    except click.ClickException as error:
        fail(error.message, "set VISUAL to your editor")
        return {}
    if edited in ("", text.strip()):
        say("the text is as it was, so nothing is accepted")
        return {}
    return {"verb": "accept", "content": edited}


def _other_note(cli: CommandContext, item: Mapping[str, Any]) -> dict[str, Any]:
    """Ask for another note, and return a decision about it, or an empty dict without a note."""
    near = notes_found(cli, item["text"])[:NEAREST]
    offer(near)
    which = f"1 to {len(near)}, " if near else ""
    into = click.prompt(f"which note ({which}an id or path; empty: none)", default="", show_default=False).strip()
    into = near[int(into) - 1]["id"] if into.isdecimal() and 0 < int(into) <= len(near) else into
    key = read_key("[m]erge into it, [r]eplace it, or [q]uit") if into else ""
    return {"m": {"verb": "merge", "into": into}, "r": {"verb": "accept", "supersede": True, "into": into}}.get(key, {})


def _lines(item: Mapping[str, Any], before: str = "") -> Iterator[str]:
    state = "stored" if item["active"] else f"score {item['score']:.2f}"
    yield Heading(f"{before}{item['kind']}  {state}  {short_id(item['id']) if _is_candidate(item) else item['id']}")
    yield from wrap(item["text"], "  ")
    about = [item["created"] and item["created"].partition("T")[0], item["source"], item["project"]]
    yield fit("—", ", ".join([fact for fact in about if fact] + item["derived_from"]), indent="  ")
    for other in item["contradicts"]:
        yield fit("contradicts:", other["title"] or other["path"], short_id(other["id"]), indent="  ")
