"""Reads due dates of promises and ends of statements, and finds promises in daily logs."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta, tzinfo

from mcp_memory.capture.readers.message import Role, TranscriptMessage
from mcp_memory.capture.session_reader import CapturedMessages
from mcp_memory.client.credentials import PERSON
from mcp_memory.extraction.candidate_log import CandidateLog
from mcp_memory.models import NoteId, NotePath, PrivateMarks
from mcp_memory.recall.moments.note_mentions import activities_in
from mcp_memory.statements.candidate import Candidate, StatementKind, Voice, make_title
from mcp_memory.statements.statement_rules import OUTRIGHT, classify
from mcp_memory.statements.user_sentences import user_sentences
from mcp_memory.text.conversation.messages import Turn
from mcp_memory.text.dates.due import find_due
from mcp_memory.text.dates.ends import find_limit
from mcp_memory.text.language.denials import denies
from mcp_memory.text.language.sentences import sentences
from mcp_memory.text.markdown import logs
from mcp_memory.vault.marks.privacy import PRIVATE
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.succession.entry_marks import private_entries
from mcp_memory.vault.vault import Vault

LATE = timedelta(days=2)
"""The time after which an overdue promise waits for review when it is read: you know its outcome."""

_LABEL = re.compile(r"^\W*(?:[^\W\d]+[ -]){0,2}[^\W\d]+ ?: ")
"""Matches a subject before a statement: `Deploys: no merges until Friday`."""
LAST_SECOND = time(23, 59, 59)

MOST_ENTRIES = 200
"""The most entries of a log that are read at once, in some 0.8 s."""


def with_dates(candidate: Candidate, zone: tzinfo, now: datetime, message: str) -> Candidate:
    """Add the due date to a promise, and to a statement of a `message` for a time its end. With a date, your own
    promise is stored without review; without a date, a promise waits."""
    if candidate.at is None:
        return candidate
    said = candidate.at.astimezone(zone)
    if candidate.kind is not StatementKind.COMMITMENT:
        return _with_end(candidate, said, now, message)
    due = find_due(candidate.text, said)
    candidate = replace(candidate, due=due)
    if due is None or candidate.voice is Voice.UNSURE or datetime.combine(due.day, time.max, zone) < now - LATE:
        return candidate
    return replace(candidate, outright=True, score=OUTRIGHT)


def _with_end(candidate: Candidate, said: datetime, now: datetime, message: str) -> Candidate:
    """Add the end of a statement, also to its words, so that `this week` is clear later. What has ended isn't worth
    storing. `until Thursday` includes Thursday, because a freeze that ends too early does the most harm. But it ends on
    Wednesday if the message plans the forbidden act for Thursday."""
    first = next((sentence.text for sentence in sentences(candidate.statement)), "")
    limit = find_limit(_LABEL.sub("", first), said)
    if limit is None or candidate.kind in {StatementKind.LESSON, StatementKind.FIX}:
        return candidate
    own, acts = first.rstrip(".!").lower(), activities_in(first)
    if denies(first) and any(
        (due := find_due(one.text, said)) and due.day == limit.day and {*acts} & {*activities_in(one.text)}
        for one in user_sentences(message)
        if own not in one.text.lower()
    ):
        limit = limit._replace(day=limit.day - timedelta(days=1))
    expires = datetime.combine(limit.day, LAST_SECOND, said.tzinfo)
    if limit.is_certain and expires <= now:
        return replace(candidate, outright=False, score=0.0)
    text = candidate.text.replace(first, limit.added_to(first), 1)
    is_first_words = candidate.title == make_title(candidate.text.partition("\n")[0])
    title = make_title(text.partition("\n")[0]) if is_first_words else candidate.title
    return replace(candidate, text=text, title=title, expires=expires if limit.is_certain else None)


@dataclass(frozen=True)
class LogReading:
    """The promises in some entries of a daily log, and the ids of these entries."""

    entries: Sequence[NoteId]
    promises: Sequence[tuple[CapturedMessages, list[Candidate]]]


def read_new_entries(vault: Vault, path: NotePath, known: CandidateLog) -> LogReading:
    """Read some entries of the log that aren't `known`; the result without entries means that all are known. Record the
    entries once their promises are stored: 1,000 entries take some 4 s of processor time, and a log only grows. Raises
    like `Vault.read`."""
    file = vault.read(path)
    path = file.record.path
    found = logs.entries(file.text, file.body_start) if logs.is_log_path(path) is not None else ()
    new = {NoteId(f"{path}#{entry.hash}"): entry for entry in found if entry.hash not in file.forgotten_entries}
    some = [note_id for note_id in new if not known.find(note_id)][:MOST_ENTRIES]
    return LogReading(some, list(log_promises(file, [new[note_id] for note_id in some], vault.layout.tz)))


def log_promises(
    file: NoteFile, entries: Sequence[logs.LogEntry], zone: tzinfo
) -> Iterator[tuple[CapturedMessages, list[Candidate]]]:
    """Yield the promises and reminders in each of these entries of a daily log, with their source. Entries of an agent
    are only proposals. A promise in a private entry is private."""
    day, private = logs.is_log_path(file.record.path), private_entries(file, PrivateMarks())
    for entry in entries:
        heading, _, body = file.text[entry.start : entry.end].partition("\n")
        of, at = logs.labels([heading.lstrip("# ")]), datetime.fromisoformat(f"{day}T{entry.time}").replace(tzinfo=zone)
        source = of.source or file.record.source
        voice = Voice.WROTE if source in {None, PERSON} else Voice.UNSURE
        found: list[Candidate] = []
        for line in (entry.title, *body.splitlines()):
            for sentence in user_sentences(line):
                statement = classify(sentence)
                if statement and statement.kind is StatementKind.COMMITMENT:
                    turn = Turn(source or "", sentence.text, at)
                    message = TranscriptMessage(Role.USER, turn, entry.start_line)
                    found.append(
                        Candidate.from_message(
                            message, statement.kind, sentence.text, statement.score, False, voice=voice
                        )
                    )
        if found:
            tags = tuple(dict.fromkeys((*of.tags, *([PRIVATE] if entry.hash in private else ()))))
            yield CapturedMessages(file.record.path, source or "log", of.session or "", of.project, (), tags), found
