"""extract, audit: what an agent's transcript holds, and what of it memory holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from mcp_memory.capture.readers.message import TranscriptMessage
from mcp_memory.capture.readers.plain import read_plain, write_plain
from mcp_memory.capture.session_reader import CapturedMessages, find_transcript, read_session
from mcp_memory.capture.transcript_paths import TranscriptPaths
from mcp_memory.cli.console import emit, head, print_status, say
from mcp_memory.cli.engine_call import ask
from mcp_memory.cli.options import CommonOptions, command_options
from mcp_memory.client.credentials import DEFAULT_CLIENT
from mcp_memory.errors import InvalidInput, Refused
from mcp_memory.extraction.candidate import Candidate
from mcp_memory.extraction.comparison import Holder
from mcp_memory.extraction.extractor import extract_candidates
from mcp_memory.settings.settings import Settings
from mcp_memory.text.pluralize import counted

MOST_BATCH_CHARS = 500_000
"""Of messages in one call: a daemon refuses requests over some megabytes."""
MOST_TEXTS = 100
LOST = 5
"""The exit code of an audit that found something that would be lost."""

_UNSEEN = "not checked: anything that the rules do not recognize"

_PLURALS = {"fix": "fixes"}


@click.command()
@click.argument("transcript")
@click.option("--session", help="The session's name; default: its own, or the file's.")
@click.option(
    "--client", help="Whose transcript it is: claude-code, codex …; default: the one in whose folder it lies."
)
@click.option("--project", help="The project that it is about; default: that of the folder it was worked in, or none.")
@click.option("--dry-run", is_flag=True, help="Show what would be found, without storing it.")
@command_options
def extract(
    common: CommonOptions,
    transcript: str,
    session: str | None,
    client: str | None,
    project: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Store what a transcript holds that is worth remembering: preferences, decisions, corrections, fixes, facts.

    What you state outright is stored at once and named when the next session starts (extraction.auto_accept); the rest
    waits in _inbox/ for: mcp-memory review. The same transcript again stores nothing. TRANSCRIPT is a client's file,
    the id of a session, or a file with one message per line, as JSON.

    \b
    mcp-memory extract talk.jsonl --dry-run
    echo '{"role": "user", "text": "We decided to use uv."}' > talk.jsonl; mcp-memory extract talk.jsonl
    """
    heard = read_transcript(transcript, common.settings())
    if dry_run:
        found = extract_candidates(heard.messages)
        if as_json:
            emit({"found": [_payload(each) for each in found]})
            return
        for each in found:
            _show(each, "store" if each.outright else f"{each.score:.2f}")
        say(f"{counted(len(found), 'candidate')} in {counted(len(heard.messages), 'message')}; nothing was stored")
        return
    taken: dict[str, Any] = {"active": [], "waiting": [], "known": 0, "problem": None}
    for batch in _batches(heard.messages):
        asked = {
            "file": heard.file, "client": client or heard.client, "session": session or heard.session,
            "project": project or heard.project, "messages": write_plain(batch),
        }  # fmt: skip
        answer = ask(common.settings(), "extract", asked)
        taken = {
            "active": [*taken["active"], *answer["active"]],
            "waiting": [*taken["waiting"], *answer["waiting"]],
            "known": taken["known"] + answer["known"],
            "problem": answer["problem"] or taken["problem"],
        }
    if as_json:
        emit(taken)
        return
    for each in taken["active"]:
        say(f"stored: {each}  (undo: mcp-memory review --undo {each})")
    waiting = len(taken["waiting"])
    say(f"{counted(waiting, 'candidate')} for review{': mcp-memory review' if waiting else ''}; {taken['known']} known")
    if taken["problem"]:
        print_status(f"note: no language model was asked: {taken['problem']}")


@click.command()
@click.argument("transcript")
@command_options
def audit(common: CommonOptions, transcript: str, as_json: bool) -> None:
    """Check which statements in a transcript are worth remembering but missing from memory.

    Exits with 5 if any are missing; `mcp-memory extract` stores them. Candidates that wait for review count as held.
    TRANSCRIPT is a client's file, a session id, or a file with one JSON message per line.

    \b
    mcp-memory audit talk.jsonl
    mcp-memory audit talk.jsonl --json | jq .share_lost
    """
    found = extract_candidates(read_transcript(transcript, common.settings()).messages)
    holders: list[dict[str, Any] | None] = []
    for at in range(0, len(found), MOST_TEXTS):
        texts = [each.text for each in found[at : at + MOST_TEXTS]]
        holders += ask(common.settings(), "held", {"texts": texts})["held"]
    audited = [(one, Holder(**by) if by else None) for one, by in zip(found, holders, strict=True)]
    lost = [candidate for candidate, holder in audited if not holder]
    share_lost = len(lost) / len(audited) if audited else 0.0
    if as_json:
        emit({"found": [_audited(*pair) for pair in audited], "lost": len(lost), "share_lost": round(share_lost, 3)})
    else:
        _print_audit(audited, lost, share_lost, transcript)
    if lost:
        raise click.exceptions.Exit(LOST)


def read_transcript(named: str, settings: Settings) -> CapturedMessages:
    """A client's transcript by its file or its session, or a file in the plain form. Raises NotFound, InvalidInput,
    Refused, StorageFailed."""
    zone = datetime.now().astimezone().tzinfo
    assert zone is not None
    places = TranscriptPaths(settings.capture.folders)
    try:
        return read_session(places, find_transcript(places, named), zone)
    except Refused:
        file = Path(named).expanduser().resolve()
        return CapturedMessages(str(file), DEFAULT_CLIENT, file.stem, None, read_plain(_bytes_of(named), zone))


def _bytes_of(named: str) -> bytes:
    try:
        return Path(named).expanduser().read_bytes()
    except OSError as error:
        raise InvalidInput(f"{named} cannot be read: {error.strerror}", hint="pass the path of a transcript") from error


def _batches(messages: Sequence[TranscriptMessage]) -> Iterator[list[TranscriptMessage]]:
    batch: list[TranscriptMessage] = []
    size = 0
    for message in messages:
        if batch and size + len(message.turn.text) > MOST_BATCH_CHARS:
            yield batch
            batch, size = [], 0
        batch.append(message)
        size += len(message.turn.text)
    if batch:
        yield batch


def _payload(each: Candidate) -> dict[str, Any]:
    return {
        "kind": each.kind.value, "title": each.title, "text": each.text, "score": each.score,
        "at_once": each.outright, "offset": each.offset, "speaker": each.speaker,
        "at": each.at.isoformat() if each.at else None,
    }  # fmt: skip


def _audited(candidate: Candidate, holder: Holder | None) -> dict[str, Any]:
    held_by = holder and {"id": holder.id, "path": holder.path}
    return {**_payload(candidate), "held_by": held_by, "waiting": bool(holder and holder.waiting)}


def _print_audit(
    audited: Sequence[tuple[Candidate, Holder | None]], lost: Sequence[Candidate], share_lost: float, transcript: str
) -> None:
    for candidate, holder in audited:
        if holder:
            waits = ", waiting for review" if holder.waiting else ""
            _show(candidate, "held", f"  ({holder.path}{waits})")
    for candidate in lost:
        _show(candidate, "LOST")
    kinds = Counter(candidate.kind.value for candidate in lost)
    if not audited:
        say("the rules found nothing worth remembering")
    elif lost:
        by_kind = ", ".join(counted(count, kind, _PLURALS.get(kind, "")) for kind, count in kinds.items())
        head(f"{len(lost)} of {len(audited)} would be lost ({share_lost:.0%}): {by_kind}")
        say(f"to store them: mcp-memory extract {transcript}")
    else:
        say(f"memory has all {len(audited)} that the rules found")
    say(_UNSEEN)


def _show(each: Candidate, mark: str, more: str = "") -> None:
    say(f"{mark:<8}{each.kind.value:<11}{' '.join(each.text.split())[:160]}{more}")
