"""search, recall, append, forget, erase: the tools for people."""

from __future__ import annotations

import sys
from typing import Any

import click

from mcp_memory.cli.console import emit, is_styled, print_status, say
from mcp_memory.cli.engine_call import ask
from mcp_memory.cli.notes.explain_table import explain_table, list_left_out
from mcp_memory.cli.options import CommonOptions, TextCommand, command_options
from mcp_memory.cli.shell_hints import recall_to_commands, tools_to_commands
from mcp_memory.client.credentials import PERSON
from mcp_memory.errors import InvalidInput
from mcp_memory.text.escape_invisible import quoted, visible

project = click.option("--project", help="This project's notes and those without one; default: all.")


@click.command(cls=TextCommand)
@click.argument("query", nargs=-1, required=True)
@click.option("-n", "--limit", default=6, show_default=True, help="How many hits.")
@click.option("--kind", "kinds", multiple=True, help="Only this kind; may be repeated.")
@click.option("--tag", "tags", multiple=True, help="Only notes with this tag; may be repeated.")
@click.option("--since", help="Only notes dated from here on, e.g. 2026-11-01.")
@click.option("--until", help="Only notes dated before this.")
@click.option("--path", help="Only this folder or file.")
@click.option("--archived", is_flag=True, help="Also retired and expired notes.")
@click.option("--mode", type=click.Choice(["hybrid", "semantic", "keyword"]), default="hybrid", show_default=True)
@click.option("--explain", is_flag=True, help="Draw a table of why each hit is where it is.")
@project
@command_options
def search(
    common: CommonOptions,
    query: tuple[str, ...],
    limit: int,
    kinds: tuple[str, ...],
    tags: tuple[str, ...],
    since: str | None,
    until: str | None,
    path: str | None,
    archived: bool,
    mode: str,
    explain: bool,
    project: str | None,
    as_json: bool,
) -> None:
    """Find notes by what they say.

    \b
    mcp-memory search "why did we drop redis"
    mcp-memory search --kind fix --since 2026-11-01 timeout
    """
    arguments = {
        "query": " ".join(query), "limit": limit, "kinds": list(kinds) or None, "tags": list(tags) or None,
        "project": project, "since": since, "until": until, "path": path, "include_archived": archived or None,
        "mode": mode, "explain": explain or None,
    }  # fmt: skip
    answer = ask(common.settings(), "search", arguments)
    if as_json:
        emit(answer)
        return
    if answer.get("degraded"):
        print_status(f"note: {answer['degraded']}")
    if not answer["hits"]:
        say(tools_to_commands(answer.get("note") or "nothing found"))
        if answer.get("left_out"):
            say(list_left_out(answer["left_out"]))
        return
    for hit in answer["hits"]:
        _show_hit(hit)
    if explain:
        say(explain_table(answer["hits"]))
        if answer.get("left_out"):
            say(list_left_out(answer["left_out"]))
    if answer.get("note"):
        print_status(f"note: {answer['note']}")
    signs = ", ".join(f"{name} {value:.2f}" for name, value in answer.get("signs", {}).items())
    say(f"confidence {answer['confidence']:.2f}{f' ({signs})' if signs else ''}")


@click.command(cls=TextCommand)
@click.argument("query", nargs=-1)
@click.option("--id", "ids", multiple=True, help="A note or log entry in full; may be repeated.")
@click.option("--path", help="A note in full, by path.")
@click.option("--lines", help="With --path: only these lines, e.g. 10-20.")
@click.option("--phase", help="What comes next: start, prompt, plan, build, debug or review.")
@click.option("--kind", "kinds", multiple=True, help="Only this kind; may be repeated.")
@click.option("--budget", "budget_tokens", type=int, help="Most tokens (4 characters each).")
@project
@command_options
def recall(
    common: CommonOptions,
    query: tuple[str, ...],
    ids: tuple[str, ...],
    path: str | None,
    lines: str | None,
    phase: str | None,
    kinds: tuple[str, ...],
    budget_tokens: int | None,
    project: str | None,
    as_json: bool,
) -> None:
    """Read memory as an agent does: for a question, by id or path, or (with nothing) at session start.

    \b
    mcp-memory recall "how do we deploy"
    mcp-memory recall --path memory/2026-11-21.md --lines 1-20
    """
    arguments = {
        "query": " ".join(query) or None, "ids": list(ids) or None, "path": path, "lines": lines, "phase": phase,
        "kinds": list(kinds) or None, "budget_tokens": budget_tokens, "project": project,
    }  # fmt: skip
    answer = ask(common.settings(), "recall", arguments)
    emit(answer) if as_json else say(recall_to_commands(answer["text"]))


@click.command(cls=TextCommand)
@click.argument("words", metavar="[CONTENT]...", nargs=-1)
@click.option("-k", "--kind", default="note", show_default=True, help="decision, preference, fix, log, …")
@click.option("--title", help="5 to 15 words to find it by; default: from the content.")
@click.option("--tag", "tags", multiple=True, help="May be repeated.")
@click.option("--supersedes", metavar="ID", help="The note that this one replaces.")
@click.option("--expires", help="When it stops counting, e.g. 2026-12-31.")
@click.option("--path", help="A new file's exact path inside home.")
@click.option("--project", help="The project it belongs to; default: none.")
@command_options
def append(
    common: CommonOptions,
    words: tuple[str, ...],
    kind: str,
    title: str | None,
    tags: tuple[str, ...],
    supersedes: str | None,
    expires: str | None,
    path: str | None,
    project: str | None,
    as_json: bool,
) -> None:
    """Store a note: from the argument, or from standard input.

    \b
    mcp-memory append -k decision "We use SQLite: one file, no server."
    git log -1 --format=%B | mcp-memory append -k log
    """
    content = " ".join(words)
    if words in ((), ("-",)):
        if sys.stdin.isatty():
            raise InvalidInput("no content", hint="pass it as an argument, or pipe it in")
        content = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    arguments = {
        "content": content, "kind": kind, "title": title, "tags": list(tags) or None, "supersedes": supersedes,
        "expires": expires, "path": path, "project": project, "source": PERSON,
    }  # fmt: skip
    answer = ask(common.settings(), "append", arguments)
    if as_json:
        emit(answer)
        return
    say(f"{answer['outcome']}  {answer['path']}  ({answer['id']})")
    if answer["similar"]:
        say(f"similar notes: {', '.join(answer['similar'])}")


@click.command()
@click.argument("note")
@click.option("--reason", help="Why, in a few words.")
@command_options
def forget(common: CommonOptions, note: str, reason: str | None, as_json: bool) -> None:
    """Hide a note or log entry (id or path) from every answer, including your own files. The file stays.

    \b
    mcp-memory forget notes/fact/old-port.md
    mcp-memory restore notes/fact/old-port.md
    """
    arguments = {"target": note, "reason": reason, "source": PERSON, "personal": True}
    answer = ask(common.settings(), "forget", arguments)
    emit(answer) if as_json else say(f"forgotten  {answer['path']}  (mcp-memory restore {answer['id']})")


@click.command()
@click.argument("note")
@click.option("--yes", is_flag=True, help="Do not ask.")
@command_options
def erase(common: CommonOptions, note: str, yes: bool, as_json: bool) -> None:
    """Erase a note or log entry (id or path) and everything mcp-memory kept of it. This cannot be undone.

    \b
    mcp-memory erase notes/fact/old-port.md
    """
    settings = common.settings()
    if not yes:
        if as_json:
            raise InvalidInput("--json cannot ask", hint="pass --yes if you are sure")
        planned = ask(settings, "erase", {"target": note})
        say("this goes for good:")
        for line in planned["erased"]:
            say(f"  {line}")
        click.confirm("erase it?", abort=True)
    answer = ask(settings, "erase", {"target": note, "sure": True})
    if as_json:
        emit(answer)
        return
    for line in answer["erased"]:
        say(f"erased: {line}")
    say("not erased:")
    for line in answer["beyond"]:
        say(f"  {line}")


def _show_hit(hit: dict[str, Any]) -> None:
    # A stored text must not steer the terminal: control characters are shown, not sent.
    score, place = f"{hit['score']:.2f}", visible(f"{hit['path']}:{hit['start_line']}-{hit['end_line']}")
    named = hit["heading"] or hit["title"]
    shown = (None if named == hit["snippet"].strip() else named, hit["kind"], hit["date"], hit["id"])
    about = visible(" · ".join(part for part in shown if part and part != f"path:{hit['path']}"))
    if is_styled():
        # Not rich: its import would be a quarter of what a search takes.
        score, place = click.style(score, dim=True), click.style(place, fg="cyan", bold=True)
        about = click.style(about, dim=True)
    print(f"{score} {place}  {about}")
    print(quoted(hit["snippet"].strip()))
    say()
