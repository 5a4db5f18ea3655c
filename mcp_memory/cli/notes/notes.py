"""Commands that find, read and store notes: search, recall, append."""

import sys
from collections.abc import Iterator
from typing import Any

import click

from mcp_memory.cli import note_options
from mcp_memory.cli.command_context import CommandContext, TextCommand, command_options, flag
from mcp_memory.cli.console import (
    Facts,
    Heading,
    emit,
    fit,
    print_status,
    recall_to_commands,
    say,
    say_all,
    short_id,
    tools_to_commands,
    wrap,
)
from mcp_memory.client.credentials import PERSON
from mcp_memory.errors import InvalidInput
from mcp_memory.text.escape_invisible import QUOTED

_project = note_options.project("This project's notes and those without one")
_until = note_options.until("As of this date: notes that were active then, even if replaced since")


@click.command(cls=TextCommand)
@click.argument("query", nargs=-1, required=True)
@note_options.limit(6, 1000, "Show at most this many hits.")
@note_options.kinds
@note_options.tags
@note_options.agent
@note_options.since("Only notes dated from this time on")
@_until
@click.option("--path", help="Only this folder or file.")
@note_options.archived
@note_options.inbox
@click.option("--mode", type=click.Choice(["hybrid", "semantic", "keyword"]), default="hybrid", show_default=True)
@flag("--smart", help="Let your configured language model choose the words and filters.")
@_project
@command_options
def search(cli: CommandContext, query: tuple[str, ...], smart: bool, **filters: Any) -> None:
    """Find notes by their words and meaning.

    \b
    mcp-memory search "why did we drop redis"
    mcp-memory search -k fix --since "last week" timeout"""
    wanted: dict[str, Any] = {"query": " ".join(query), **filters}
    intent: dict[str, Any] = cli.ask("intent", query=wanted["query"]) if smart else {}
    chosen = {name: value for name, value in intent.items() if name == "query" or not wanted.get(name, "given")}
    answer = cli.ask("search", **{**wanted, **chosen})
    if smart:
        words = "; ".join(f"{name}: {value}" for name, value in chosen.items())
        answer["smart"] = intent.get("note") or f"{intent['model']} chose {words}"
        print_status(answer["smart"])
    if cli.as_json:
        emit(answer)
        return
    if answer.get("degraded"):
        print_status(f"note: {answer['degraded']}")
    for hit in answer["hits"]:
        _print_hit(hit)
    if not answer["hits"]:
        say(tools_to_commands(answer.get("note") or "nothing found"))
        return
    if answer.get("note"):
        print_status(f"note: {answer['note']}")
    say(f"confidence {answer['confidence']:.2f}")


@click.command(cls=TextCommand)
@click.argument("query", nargs=-1)
@click.option("--id", "ids", multiple=True, help="A note or log entry in full; may be repeated.")
@click.option("--path", help="A note in full, by path.")
@click.option("--lines", help="With --path: only these lines, e.g. 10-20.")
@click.option("--phase", help="start, prompt, subagent, plan, build, debug, review, documenter, or one of yours.")
@note_options.kinds
@note_options.agent
@_until
@note_options.archived
@note_options.inbox
@click.option("--budget", "budget_tokens", type=int, help="Return at most this many tokens of 4 characters.")
@flag("--explain", help="Show what each kind took of the budget, and what had no room.")
@_project
@command_options
def recall(cli: CommandContext, query: tuple[str, ...], **wanted: Any) -> None:
    """Read memory as an agent does: for a question, by id or path, or, without arguments, at the start of a session.

    \b
    mcp-memory recall "how do we deploy"
    mcp-memory recall --path memory/2026-11-21.md --lines 1-20
    mcp-memory recall --until "3 weeks ago" "which port"
    mcp-memory recall --phase documenter --explain
    """
    if wanted["ids"] or wanted["path"]:
        del wanted["project"]  # a note that you name is yours to read in any project
    answer = cli.ask("recall", query=" ".join(query) or None, **wanted)
    cli.show(answer, [*recall_to_commands(answer["text"]).split("\n"), *answer["explained"]])


@click.command(cls=TextCommand)
@click.argument("words", metavar="[CONTENT]...", nargs=-1)
@click.option("-k", "--kind", default="note", show_default=True, help="decision, preference, fix, log, …")
@click.option("--title", help="5 to 15 words to find it by; default: from the content.")
@click.option("--tag", "tags", multiple=True, help="May be repeated, or list several: a,b.")
@click.option("--when", multiple=True, help="A task or question that the note helps with; up to 3 times.")
@click.option("--supersedes", metavar="ID", help="The note or entry to replace.")
@click.option("--expires", metavar="WHEN", help="When it expires: Friday, in 2 weeks, 2026-12-31.")
@click.option("--due", metavar="WHEN", help="When a commitment is due: Friday, tomorrow 15:00, 2026-12-31.")
@click.option("--path", help="The new file's exact path inside the managed folder, or MEMORY.md.")
@click.option("--etag", help="With --path: replace that note's text if it still has this etag.")
@click.option("--section", help="With --path MEMORY.md: the heading to put the entry under.")
@note_options.project("The project it belongs to", otherwise=note_options.NO_PROJECT)
@command_options
def append(cli: CommandContext, words: tuple[str, ...], **fields: Any) -> None:
    """Store a note from the argument or from standard input.

    \b
    mcp-memory append -k decision "We use SQLite: one file, no server."
    git log -1 --format=%B | mcp-memory append -k log
    mcp-memory append --path MEMORY.md --section Preferences "Tabs, not spaces."
    """
    content = " ".join(words)
    if words in ((), ("-",)):
        if sys.stdin.isatty():
            raise InvalidInput("no content", hint="pass it as an argument, or pipe it in")
        content = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    answer = cli.ask("append", content=content, source=PERSON, **fields)
    lines = [*_receipt_lines(answer), *([f"expires {fields['expires']}"] if fields["expires"] else [])]
    cli.show(answer, lines)


def _receipt_lines(answer: Facts) -> Iterator[str]:
    yield fit(answer["outcome"], answer["path"], short_id(answer["id"]))
    yield from (fit("similar", one["text"], short_id(one["id"])) for one in answer["similar"])
    yield from chain_lines("replaced", answer.get("superseded"))
    yield from chain_lines("already stored, but since replaced by", answer.get("superseded_by"))
    if "due" in answer:
        no_date = "no date was found in the text, so nobody will be reminded: pass --due"
        yield f"due {answer['due']}" if answer["due"] else no_date
    for one in answer["contradicts"]:
        yield fit("contradicts", one["why"], short_id(one["id"]))
        yield from wrap(one["text"], "  ")
    if answer["contradicts"]:
        yield f"to decide: mcp-memory review --keep {short_id(answer['id'])}"


def chain_lines(what: str, link: Facts | None) -> list[str]:
    """Return lines about another note of the chain, or no lines without a link."""
    if not link:
        return []
    why = f"({link['why']})  " if "why" in link else ""
    return [fit(f"{what}:", link["path"], f"{why}{short_id(link['id'])}"), *wrap(link["text"], "  ")]


def _print_hit(hit: Facts) -> None:
    from mcp_memory.text.language.terms import content_words

    score, place = f"{hit['score']:.2f}", hit["path"]
    place += "" if hit["is_whole"] else f":{hit['start_line']}-{hit['end_line']}"
    heading, snippet = hit["heading"] or hit["title"], hit["snippet"].strip()
    status = hit["status"].replace("active", "")
    status = f"{status} by {short_id(hit['superseded_by'])}" if "superseded_by" in hit else status
    status = hit.get("outdated", status)
    is_told = content_words(heading) <= content_words(f"{snippet} {hit['path']}")
    kind = None if f"/{hit['kind']}/" in f"/{hit['path']}" else hit["kind"]
    author = f"by {hit['client']}" if "client" in hit else None
    facts = (hit["date"], kind, hit["project"], author, status, None if is_told else heading)
    about = " · ".join(filter(None, facts))
    ending = "" if hit["id"] == f"path:{hit['path']}" else short_id(hit["id"])
    whole = "  ".join(filter(None, (f"{score} {place}", about, ending)))
    head, *more = wrap(whole)
    say_all([Heading(fit(score, place, ending)), *wrap(about, "  ")] if more else [Heading(head)])
    say_all([*wrap(snippet, QUOTED), ""])
