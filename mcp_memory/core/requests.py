"""Defines the requests to an engine, each as a frozen dataclass; over 300 lines because all requests are here.

The MCP tools, the HTTP interface, the command line and `Memory` are all made from these, so that they can't differ. The
text in a field's annotation is its description for agents; the server fills in the braces. A field without a
description isn't offered to agents. A field marked `UNLISTED` is accepted from them but not shown, since every session
pays for each description.
"""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from typing import Annotated, Any, Literal

Mode = Literal["hybrid", "semantic", "keyword"]
Kinds = Annotated[Sequence[str] | None, "E.g. ['decision', 'fix']."]
Project = Annotated[str | None, "'*' = all. Default: yours, and notes without one."]
Until = Annotated[str | None, "As it was at this date."]
UNLISTED = object()
Agent = Annotated[str | None, "Author: 'own', 'all' (default) or a client's name.", UNLISTED]
Session = Annotated[str | None, "Your session's id, if you know it.", UNLISTED]
CLAIMS = "@claims"
"""The path at which agents search only claims."""
BRIEF_MS = 5000
"""How long the text for a session may take, in milliseconds, if the caller names no limit."""


@dataclass(frozen=True)
class NoArguments:
    """A request that consists of its name."""


@dataclass(frozen=True, kw_only=True)
class RetiredNotes:
    """The notes that a question covers only on request. `include_inbox`: proposals, for a person only, because nobody
    has checked them."""

    include_archived: Annotated[bool, "Include retired notes.", UNLISTED] = False
    include_inbox: bool = False

    def covered(self) -> Mapping[str, bool]:
        return {field.name: getattr(self, field.name) for field in fields(RetiredNotes)}


@dataclass(frozen=True)
class SearchRequest(RetiredNotes):
    """The best passages for a question. `is_prompt`: the query is a prompt that someone typed for an agent, and
    `confidence` says whether it needs memory at all. `is_look`: a person looks around, which counts as no use."""

    query: Annotated[str, "A question or keywords."]
    _: KW_ONLY
    limit: Annotated[int, "1 to 1000. Default 6."] = 6
    kinds: Kinds = None
    tags: Annotated[Sequence[str] | None, "Only with all of these tags.", UNLISTED] = None
    project: Project = None
    agent: Agent = None
    since: Annotated[str | None, "From this date on."] = None
    until: Until = None
    path: Annotated[str | None, "A folder; @transcripts = past sessions, @claims = what is known."] = None
    mode: Annotated[Mode, "Default hybrid; keyword: exact words.", UNLISTED] = "hybrid"
    explain: Annotated[bool, "Explain each hit, and list what filters excluded.", UNLISTED] = False
    is_prompt: bool = False
    is_look: bool = False
    session: Session = None


@dataclass(frozen=True)
class RecallRequest(RetiredNotes):
    """Text within a token budget: notes by id or path, what fits a question, or what a session starts with. `explain`:
    also what became of the budget."""

    query: Annotated[str | None, "A question."] = None
    _: KW_ONLY
    ids: Annotated[Sequence[str] | None, "These notes in full; the last 6 characters suffice."] = None
    path: Annotated[str | None, "One note in full."] = None
    lines: Annotated[str | None, "With path: e.g. '10-20' or '40-'.", UNLISTED] = None
    phase: Annotated[str | None, "Phase of your work: {phases}.", UNLISTED] = None
    kinds: Kinds = None
    project: Project = None
    agent: Agent = None
    until: Until = None
    budget_tokens: Annotated[
        int | None, "100 to 200000. Default {budget_tokens}; {start_budget_tokens} at session start."
    ] = None
    explain: bool = False
    session: Session = None


@dataclass(frozen=True)
class AppendRequest:
    """A note or log entry to store. `created`: when it was said, if not now. `once`: the same content is not stored
    again even if it was forgotten or replaced since, unless `created` is later."""

    content: Annotated[str, "Self-contained Markdown, up to {max_append_bytes:,} bytes."]
    _: KW_ONLY
    kind: Annotated[str, "Default note. One of: {kinds}."] = "note"
    title: Annotated[str | None, "5 to 15 words."] = None
    tags: Annotated[Sequence[str] | None, "Broad subject first, like a folder; then details."] = None
    when: Annotated[
        Sequence[str] | None, "Up to 3 phrases in the user's language: what they do or ask when it helps."
    ] = None
    project: Annotated[str | None, "'*' = none. Default: your client's."] = None
    supersedes: Annotated[str | None, "Id of what this replaces."] = None
    session: Session = None
    expires: Annotated[str | None, "Date, e.g. 2026-12-31."] = None
    path: Annotated[str | None, "Rare. MEMORY.md: for all sessions. projects/X/plan.md."] = None
    etag: Annotated[str | None, "With path: replace the text, if the note still has this etag.", UNLISTED] = None
    section: Annotated[str | None, "Heading in MEMORY.md.", UNLISTED] = None
    due: Annotated[str | None, "For a commitment: day or time."] = None
    refs: Annotated[Sequence[str] | None, "Code that the note is about, e.g. ['src/a.py:Class.method'].", UNLISTED] = (
        None
    )
    source: str | None = None
    created: str | None = None
    once: bool = False


@dataclass(frozen=True)
class UpdateRequest:
    """The new `text` of a note or entry (`target`: id or path); without one, the text that it has. `expected`: the
    etag that you read; if another program has changed the note since, nothing is written. `create`: `target` is the
    path of a new file, anywhere in the vault."""

    target: str
    text: str | None = None
    _: KW_ONLY
    expected: str | None = None
    create: bool = False


@dataclass(frozen=True)
class RestoreRequest:
    """A forgotten note or log entry to bring back."""

    target: str
    _: KW_ONLY
    session: str | None = None


@dataclass(frozen=True)
class ForgetRequest:
    """A note or log entry (`target`: id or path) to hide from every answer; its file stays. `archive`: hide it only
    from answers that don't ask for archived notes. `done`: archive it as a commitment that is kept. `restore`: show it
    again."""

    target: str
    _: KW_ONLY
    reason: Annotated[str | None, "Why."] = None
    restore: Annotated[bool, "true brings it back."] = False
    archive: Annotated[bool, "true only archives it.", UNLISTED] = False
    done: Annotated[bool, "true: the commitment is kept."] = False
    session: Session = None


@dataclass(frozen=True)
class ForgottenRequest:
    """Forgotten notes to list. `client`, `session`, `since` and `until` apply to the forgetting; `kinds`,
    `tags`, `project` ('*' = all) and `path` (a folder) to the notes."""

    client: str | None = None
    session: str | None = None
    since: str | None = None
    until: str | None = None
    kinds: Sequence[str] | None = None
    tags: Sequence[str] | None = None
    project: str | None = None
    path: str | None = None


@dataclass(frozen=True)
class RestoreAllRequest:
    """Forgotten notes and log entries to bring back, by id."""

    targets: Sequence[str]


@dataclass(frozen=True)
class ListRequest(ForgottenRequest):
    """Notes and log entries by date, the newest first: stored by this client (`you`; `disk` = by hand) or session …
    `archived`: instead those that no longer count. `text`: with the beginning of each one's text."""

    archived: bool = False
    text: bool = False
    limit: int = 20


@dataclass(frozen=True)
class DueRequest:
    """Commitments: the open ones, of this project ('*' = all) and none, made by this client; `done`: those that are
    kept instead."""

    project: str | None = None
    client: str | None = None
    done: bool = False


@dataclass(frozen=True)
class SelectedChanges:
    """Changes of notes: of this note or log entry, by this client, in this session, since this date."""

    target: str | None = None
    client: str | None = None
    session: str | None = None
    since: str | None = None


@dataclass(frozen=True)
class ChangesRequest(SelectedChanges):
    """The latest `limit` changes before `until`, in this project ('*' = all) or in none. `diff`: each with the lines
    that it changed, as far as both texts are kept."""

    project: str | None = None
    until: str | None = None
    limit: int = 50
    diff: bool = False


@dataclass(frozen=True)
class ProjectsRequest:
    """Which projects there are. `verb`: instead, `merge` the project `name` into the `other`, or `split` the repository
    in the folder `other` from it."""

    verb: str | None = None
    name: str | None = None
    other: str | None = None


@dataclass(frozen=True)
class StatsRequest:
    """Figures of all that is stored, the use of one note or log entry (`target`: id or path), or the questions that
    were `unanswered`."""

    target: str | None = None
    unanswered: bool = False


@dataclass(frozen=True)
class MuteRequest:
    """A note or log entry (`target`: id or path) that agents shall not be given unasked, in this project or anywhere;
    `undo` takes that back."""

    target: str
    project: str | None = None
    undo: bool = False


@dataclass(frozen=True)
class WhyRequest:
    """The latest `limit` briefings of a `session`: its id, `last` or `all`. `target`: only those with this note or log
    entry."""

    session: str = "last"
    limit: int = 50
    target: str | None = None


@dataclass(frozen=True)
class ShownRequest:
    """The latest `limit` sessions that got notes unasked."""

    limit: int = 30


@dataclass(frozen=True)
class UndoRequest(SelectedChanges):
    """Changes to take back; `target`, or each of several `targets`, may also be the id of a change or run, and a note
    means its last change. `only`: of these, those with these ids. Unless `sure`, only what that would mean."""

    targets: Sequence[str] = ()
    only: Sequence[str] | None = None
    sure: bool = False


@dataclass(frozen=True)
class EraseRequest:
    """A note or log entry to delete for good; unless `sure`, only what that would mean."""

    target: str
    _: KW_ONLY
    sure: bool = False


@dataclass(frozen=True)
class AdoptRequest:
    """Files of yours that agents may change: a note, a folder, or all; `revoke` undoes that."""

    path: str | None = None
    dry_run: bool = False
    revoke: bool = False


@dataclass(frozen=True)
class RecoverRequest:
    """Lost entries (ids or paths) to add again, with `dismiss` to ignore from now on, or with `look` only to read."""

    ids: Sequence[str]
    dismiss: bool = False
    look: bool = False


@dataclass(frozen=True)
class TranscriptRequest:
    """A session whose `transcript` is to be captured to its end. `delegated`: another agent runs the session, so its
    prompts aren't a person's words. `ended`: the session ended, and may be resumed."""

    session: str
    transcript: str | None = None
    delegated: bool = False
    ended: bool = False


@dataclass(frozen=True)
class BriefRequest(TranscriptRequest):
    """The text for a session's start, or for its `prompt`, within `within_ms`. `subagent`: the session belongs to a
    sub-agent, and the prompt is its task. `withdrawn`: add which notes shown earlier no longer apply. `due`: only the
    commitments that are due. `ask_below`: name notes that are less likely to help, to ask the person about. `left_off`:
    at a start, add where the project's last session left off. `for_person`: at a start, return what was stored without
    review apart, for the client's message to the person. `folder`: where the session works; at a start, files that the
    client reads there by itself are skipped."""

    prompt: str | None = None
    project: str | None = None
    within_ms: int = BRIEF_MS
    lasting: bool = True
    subagent: bool = False
    withdrawn: bool = True
    due: bool = False
    ask_below: float = 0.0
    left_off: bool = False
    for_person: bool = False
    folder: str = ""


@dataclass(frozen=True)
class PreviewRequest:
    """Preview the notes that a fresh session would get with this prompt, after this `answer` of its agent, and those
    that it wouldn't. Nothing is recorded."""

    prompt: str
    project: str | None = None
    answer: str = ""
    within_ms: int = BRIEF_MS


@dataclass(frozen=True)
class AdviseRequest:
    """A call of a client's tool that a session is about to make with these `arguments` in a `folder`, or the `output`
    of a call that failed or may have failed. `stop`: refuse a call that memory forbids. `orders`: return nothing else,
    since the client can't show it."""

    session: str
    arguments: Mapping[str, Any] | None = None
    output: str | None = None
    folder: str = ""
    project: str | None = None
    stop: bool = False
    orders: bool = False
    within_ms: int = BRIEF_MS


@dataclass(frozen=True)
class TranscriptsRequest:
    """Transcripts to capture from: what `file` holds, or all of a client's or of every client's."""

    client: str | None = None
    file: str | None = None


@dataclass(frozen=True)
class CaptureRequest:
    """Transcripts to capture now, or with `dry_run` what that would store."""

    files: Sequence[str]
    dry_run: bool = False


@dataclass(frozen=True)
class TitlesRequest:
    """Ids of notes whose titles and paths are wanted."""

    ids: Sequence[str]


@dataclass(frozen=True)
class JobsRequest:
    """`list` the background jobs, `log` the latest runs of one or all, or `run`, `pause` or `resume` one by name."""

    _: KW_ONLY
    action: str = "list"
    name: str | None = None
    limit: int = 20


@dataclass(frozen=True)
class WaitingRequest:
    """The items that wait for a decision: all, or `only` those of these kinds, e.g. `candidate` or `conflict`; of this
    project and of none ('*', None: all). `limit`: of each feature and kind at most this many of the latest items, as
    the last sweep left them; otherwise notes that have changed since are compared first. `near`: with the notes that
    share most words with a candidate."""

    only: Sequence[str] | None = None
    project: str | None = None
    limit: int | None = None
    near: bool = False


@dataclass(frozen=True)
class ReviewRequest:
    """A decision: the same choice for `items` (ids) of one kind. `note`: the note that a choice names. A candidate
    is accepted with another `text`, `kind` or `project` ("" for none). `etag`: what you saw of a single note; if it has
    changed since, nothing is done."""

    items: Sequence[str]
    choice: str
    _: KW_ONLY
    note: str | None = None
    text: str | None = None
    kind: str | None = None
    project: str | None = None
    etag: str | None = None


@dataclass(frozen=True)
class TargetRequest:
    """One note, entry or topic: an id, a path, or a topic's folder."""

    target: str
