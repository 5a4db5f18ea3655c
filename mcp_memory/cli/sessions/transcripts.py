"""The sessions commands: capture transcripts, extract what is worth remembering, sum up a time."""

from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from mcp_memory.capture.readers.message import Transcript, TranscriptMessage
from mcp_memory.capture.readers.own_format import read_plain, write_plain
from mcp_memory.capture.session_reader import CapturedMessages, find_transcript, read_session
from mcp_memory.capture.transcript_paths import TranscriptPaths
from mcp_memory.cli import note_options
from mcp_memory.cli.command_context import CommandContext, command_options, flag, located
from mcp_memory.cli.console import Facts, Heading, Remark, print_status, progress_bar
from mcp_memory.cli.sessions.review_keys import item_lines
from mcp_memory.client.credentials import DEFAULT_CLIENT
from mcp_memory.errors import InvalidInput, Refused
from mcp_memory.runtime.paths import absolute
from mcp_memory.settings.settings import Settings
from mcp_memory.text.pluralize import counted

MOST_BATCH_CHARS = 500_000
"""The most characters of messages in one question; a daemon refuses requests over a few megabytes."""
MOST_AT_ONCE = 200
"""The most transcripts in one question to the engine."""
MOST_WAITING = 15
"""The most items of a digest that wait for you."""

_SUMS = ("messages", "leaves", "secrets", "unreadable")


@click.group()
@located
def sessions() -> None:
    """Make agents' sessions searchable, extract what is worth remembering, and sum up a period.

    The daemon does all of this by itself for sessions with hooks.

    \b
    mcp-memory sessions capture --all
    mcp-memory sessions extract talk.jsonl --dry-run
    mcp-memory sessions digest --since monday"""


@sessions.command(short_help="Make past sessions searchable.")
@click.argument("file", required=False)
@flag("--all", "everything", help="Every session in the clients' folders, however old.")
@click.option(
    "--client", help="The transcript's client, or with --all, the only client: claude-code, codex, openclaw or gemini."
)
@flag("--dry-run", help="Show what would be captured, without writing it.")
@command_options
def capture(cli: CommandContext, file: str | None, everything: bool, client: str | None, dry_run: bool) -> None:
    """Make agents' past sessions searchable, as the daemon does automatically for sessions with hooks.

    Each transcript is read from where the last capture ended. Secrets are removed before anything is written, and tool
    output is skipped. To search the sessions, pass --path @transcripts. Only files in the clients' own folders are read
    ([capture.folders]).

    \b
    mcp-memory sessions capture --all --dry-run
    mcp-memory sessions capture ~/.claude/projects/-home-ada-app/861705d5-deca-4e9c-984e-9c2ca4b78b28.jsonl
    mcp-memory search "what did we say about tabs" --path @transcripts"""
    if everything == bool(file):
        what = "a file can't be combined with --all" if file else "no file and no --all"
        raise InvalidInput(what, hint="pass either a file or --all")
    # The daemon needs an absolute path; what follows a `#` names a session in a database.
    found = cli.ask("transcripts", file=absolute(file) if file else None, client=client)["transcripts"]
    reports = capture_files(cli, [transcript["file"] for transcript in found], dry_run=dry_run)
    sums = {name: sum(report[name] for report in reports) for name in _SUMS}
    sessions = counted(sum(report["messages"] > 0 for report in reports), "session")
    verb, notes = "would capture" if dry_run else "captured", counted(sums["leaves"], "note")
    lines = [f"{verb} {counted(sums['messages'], 'message')} of {sessions} in {notes}"]
    lines += [f"{counted(sums['secrets'], 'secret')} removed"] if sums["secrets"] else []
    lines += [f"{counted(sums['unreadable'], 'line')} could not be read"] if sums["unreadable"] else []
    cli.show({"dry_run": dry_run, "transcripts": reports}, lines)
    if any("error" in report for report in reports):
        click.get_current_context().exit(1)


@sessions.command(short_help="Store what is worth remembering.")
@click.argument("transcript")
@click.option("--session", help="The session's name; default: its own, or the file's.")
@click.option("--client", help="The transcript's client: claude-code, codex …; default: from its folder.")
@note_options.project("The transcript's project, if it doesn't name one", otherwise=note_options.NO_PROJECT)
@flag("--dry-run", help="Show what would be found, without storing it.")
@command_options
def extract(
    cli: CommandContext, transcript: str, session: str | None, client: str | None, project: str | None, dry_run: bool
) -> None:
    """Store what is worth remembering from a transcript: preferences, decisions, corrections, fixes, facts.

    Outright statements are stored at once and listed when the next session starts (extraction.auto_accept). The rest
    waits in _inbox/ for `mcp-memory review`. Extracting the same transcript again adds nothing. TRANSCRIPT is a
    client's file, a session id, or a file with one JSON message per line: its role (user, assistant or tool), text, and
    time (at); for a tool also its name (tool), arguments, and failed.

    \b
    mcp-memory sessions extract talk.jsonl --dry-run
    echo '{"role": "user", "text": "We decided to use uv."}' > talk.jsonl; mcp-memory sessions extract talk.jsonl"""
    captured = read_transcript(transcript, cli.settings, cli.projects.label_of)
    result: Facts = {"active": [], "waiting": [], "known": 0, "found": []}
    for batch in _batches(captured.messages):
        answer = cli.ask(
            "extract",
            file=captured.file,
            client=client or captured.client,
            session=session or captured.session,
            project=project or (None if cli.is_without_project else captured.project),
            messages=write_plain(batch),
            dry_run=dry_run,
        )
        for name in ("found",) if dry_run else ("active", "waiting", "known"):
            result[name] += answer[name]
    found = result.pop("found")
    if dry_run:
        lines: list[str] = []
        for one in found:
            mark = "store" if one["at_once"] else f"{one['score']:.2f}"
            lines.append(f"{mark:<8}{one['kind']:<11}{' '.join(one['text'].split())[:160]}")
        messages = counted(len(captured.messages), "message")
        lines.append(f"{counted(len(found), 'candidate')} in {messages}; nothing was stored")
        cli.show({"found": found}, lines)
        return
    waiting = len(result["waiting"])
    command = ": mcp-memory review" if waiting else ""
    lines = [f"stored: {note}  → mcp-memory undo {note}" for note in result["active"]]
    lines.append(f"{counted(waiting, 'candidate')} for review{command}; {result['known']} known")
    cli.show(result, lines)


@sessions.command(short_help="Sum up a day, a week or a phase.")
@note_options.since("From this time on; default: a week before the end")
@note_options.until("Until this time; default: now")
@note_options.project("This project's notes and those without one")
@flag("--save", help="Keep it as a page in summaries/digests/.")
@command_options
def digest(cli: CommandContext, **wanted: Any) -> None:
    """Sum up a period, such as a phase of a project: its sessions, decisions, lessons, promises and log entries, and
    what each project's last session left open. It also names what waits for you now, with the command that confirms it.

    Days with several sessions get a page in summaries/days/ automatically.

    \b
    mcp-memory sessions digest --since monday
    mcp-memory sessions digest -p shop --since 2026-11-01 --until 2026-11-15 --save"""
    answer = cli.ask("digest", deadline_s=300, **wanted)
    found = cli.ask("waiting", project=wanted["project"])["waiting"]
    waiting = [item for item in found if item["choices"] and item["what"] != "stored"]
    lines = [Heading(answer["title"]), *(answer["text"] or "nothing happened").splitlines()]
    lines += [line for item in waiting[:MOST_WAITING] for line in item_lines(item)]
    lines += [Remark("this waits for you: mcp-memory review, or mcp-memory review --accept ID")] if waiting else []
    lines += [Remark(f"saved: {answer['path']}")] if answer["path"] else []
    cli.show(answer, lines)


def capture_files(cli: CommandContext, files: list[str], *, dry_run: bool) -> list[Facts]:
    """Capture the transcripts part by part, and print each part, with a bar on a terminal. A faulty transcript doesn't
    stop the others. Returns a report on each."""
    done: list[Facts] = []
    sums: Facts = dict.fromkeys(_SUMS, 0)
    with progress_bar("reading sessions", len(files)) as update:
        while left := files[len(done) :]:
            for report in cli.ask("capture", files=left[:MOST_AT_ONCE], dry_run=dry_run)["reports"]:
                number = f"{len(done) + 1} of {len(files)}: {report['file']}"
                if "error" in report:
                    print_status(f"{number}  {report['error']}")
                    done.append({**sums, **report})
                else:
                    sums = {**report, **{name: sums[name] + report[name] for name in _SUMS}}
                    if not update and (sums["messages"] or not report["at_end"]):
                        share = f"{100 * report['offset'] // report['size']} %" if report["size"] else "empty"
                        print_status(f"{number}  {share}, {counted(sums['messages'], 'message')}")
                    done += [sums] if report["at_end"] else []
                sums = sums if not report["at_end"] else dict.fromkeys(_SUMS, 0)
                if update:
                    update(completed=len(done))
    return done


def read_transcript(target: str, settings: Settings, project_of: Callable[[str, str], str | None]) -> CapturedMessages:
    """Read a transcript of a client, by its file or its session, or a file in the plain form. `project_of` returns the
    project of a folder. Raises NotFound, InvalidInput, Refused and StorageFailed."""
    zone = datetime.now().astimezone().tzinfo
    assert zone is not None
    places = TranscriptPaths(settings.capture.folders)
    try:
        return read_session(places, find_transcript(places, target), zone, project_of)
    except Refused:
        file = Path(target).expanduser().resolve()
    try:
        data = file.read_bytes()
    except OSError as error:
        hint = "pass the path of a transcript"
        raise InvalidInput(f"{target} cannot be read: {error.strerror}", hint=hint) from error
    return CapturedMessages(str(file), DEFAULT_CLIENT, file.stem, None, read_plain(data, zone))


def _batches(messages: Transcript) -> Iterator[list[TranscriptMessage]]:
    batch: list[TranscriptMessage] = []
    size = 0
    for message in messages:
        if batch and size + len(message.text) > MOST_BATCH_CHARS:
            yield batch
            batch, size = [], 0
        batch.append(message)
        size += len(message.text)
    if batch:
        yield batch
