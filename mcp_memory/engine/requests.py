"""Defines what can be asked of an engine: a frozen dataclass for each request.

The MCP tools, the HTTP interface, the command line and `Memory` are all made from these, so that they cannot differ.
The text in a field's annotation is what agents read about it; the server fills in what stands in braces. A field
without one is not offered to agents, and one marked `INTERNAL` is not accepted from other processes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal

Mode = Literal["hybrid", "semantic", "keyword"]
Kinds = Annotated[Sequence[str] | None, "Only these kinds, e.g. ['decision', 'fix']."]
Project = Annotated[
    str | None, "Project name: its notes and those without a project. '*' = all projects. Default: yours."
]
Session = Annotated[str | None, "Your session's id, if you know it."]
INTERNAL = object()
BRIEF_MS = 5000
"""How long the text for a session may take, in milliseconds, where the caller names no limit."""


@dataclass(frozen=True, slots=True)
class NoArguments:
    """A request that its name says whole."""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """The best passages for a question. `is_prompt`: the query is a prompt that somebody typed for an agent, and
    `confidence` says whether it needs memory at all."""

    query: Annotated[str, "What you want to know, as a question or key words."]
    _: KW_ONLY
    limit: Annotated[int, "How many hits, 1 to 1000. Default 6."] = 6
    kinds: Kinds = None
    tags: Annotated[Sequence[str] | None, "Only notes that carry all of these tags."] = None
    project: Project = None
    since: Annotated[str | None, "Only notes dated from here on, e.g. 2026-11-01."] = None
    until: Annotated[str | None, "Only notes dated before this, e.g. 2026-11-21."] = None
    path: Annotated[
        str | None, "Only this folder or file, e.g. notes/fix; @transcripts = what was said in sessions."
    ] = None
    include_archived: Annotated[bool, "Also retired and expired notes."] = False
    mode: Annotated[Mode, "Default hybrid; keyword for exact words."] = "hybrid"
    explain: Annotated[bool, "Add why each hit is there, and what filters left out."] = False
    is_prompt: Annotated[bool, INTERNAL] = False


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """Text within a token budget: notes by id or path, what fits a question, or what a session starts with."""

    query: Annotated[str | None, "A question; the passages that answer it come back."] = None
    _: KW_ONLY
    ids: Annotated[Sequence[str] | None, "Ids from memory_search: those notes in full."] = None
    path: Annotated[str | None, "One note by path, in full."] = None
    lines: Annotated[str | None, "With path: only these lines, e.g. '10-20' or '40-'."] = None
    phase: Annotated[
        str | None, "What you are about to do; one of {phases}. With prompt, silence is likelier than noise."
    ] = None
    kinds: Kinds = None
    project: Project = None
    budget_tokens: Annotated[
        int | None,
        "Most tokens to return, 100 to 200000. Default {budget_tokens}; {start_budget_tokens} at session start.",
    ] = None


@dataclass(frozen=True, slots=True)
class AppendRequest:
    """A note or log entry to store. `created`: when it was said, if not now. `once`: the same content is not stored
    again even where it was forgotten or replaced since, unless `created` is after that."""

    content: Annotated[str, "The text to remember, Markdown, self-contained, up to {max_append_bytes:,} bytes."]
    _: KW_ONLY
    kind: Annotated[str, "Default note. One of:\n{kinds}"] = "note"
    title: Annotated[str | None, "5 to 15 words one would search for; else derived."] = None
    tags: Annotated[Sequence[str] | None, "A few plain words, one line each."] = None
    project: Annotated[
        str | None,
        "The project it belongs to; default: yours; '*' = none, for all. A log entry has it "
        "and its tags in its heading: ## 10:30 Title (project: x; tags: a, b).",
    ] = None
    supersedes: Annotated[str | None, "Id of the note that this one replaces."] = None
    session: Session = None
    expires: Annotated[str | None, "When it stops counting, e.g. 2026-12-31."] = None
    path: Annotated[str | None, "A new file's exact path; normally leave it out."] = None
    source: str | None = None
    created: str | None = None
    once: bool = False


@dataclass(frozen=True, slots=True)
class RestoreRequest:
    """A forgotten note or log entry to bring back. `source` is the client that asks; `personal`: a person does."""

    target: str
    _: KW_ONLY
    source: str | None = None
    session: str | None = None
    personal: bool = False


@dataclass(frozen=True, slots=True)
class ForgetRequest:
    """A note or log entry (`target`: id or path) to take out of every answer, or to bring back; its file stays.
    `source` and `personal` are as in `RestoreRequest`."""

    target: str
    _: KW_ONLY
    reason: Annotated[str | None, "Why, in a few words."] = None
    restore: Annotated[bool, INTERNAL, "true brings a forgotten note back."] = False
    session: Session = None
    source: str | None = None
    personal: bool = False


@dataclass(frozen=True, slots=True)
class ForgottenRequest:
    """Which forgotten notes to list or restore: those that this client or session forgot, or that were forgotten
    since a date."""

    client: str | None = None
    session: str | None = None
    since: str | None = None


@dataclass(frozen=True, slots=True)
class EraseRequest:
    """A note or log entry to delete for good; unless `sure`, only what that would mean."""

    target: str
    _: KW_ONLY
    sure: bool = False


@dataclass(frozen=True, slots=True)
class AdoptRequest:
    """Files of yours that agents may change: a note, a folder, or all; `revoke` takes that back."""

    path: str | None = None
    dry_run: bool = False
    revoke: bool = False


@dataclass(frozen=True, slots=True)
class RecoverRequest:
    """Lost entries (ids or paths) to add again, or with `dismiss` to ignore from now on."""

    ids: Sequence[str]
    dismiss: bool = False


@dataclass(frozen=True, slots=True)
class BriefRequest:
    """What a session is shown at its start, or with its `prompt`. `within_ms`: how long that may take."""

    session: str
    prompt: str | None = None
    project: str | None = None
    within_ms: int = BRIEF_MS
    lasting: bool = True
    transcript: str | None = None
    delegated: bool = False


@dataclass(frozen=True, slots=True)
class TranscriptRequest:
    """A session whose `transcript` is to be captured to its end. `delegated`: another agent runs the session, so its
    prompts are nobody's own words."""

    session: str
    transcript: str | None = None
    delegated: bool = False


@dataclass(frozen=True, slots=True)
class TranscriptsRequest:
    """Where there is something to capture: what `file` holds, or all of a client's or of every client's."""

    client: str | None = None
    file: str | None = None


@dataclass(frozen=True, slots=True)
class CaptureRequest:
    """Transcripts to capture now, or with `dry_run` what that would store."""

    files: Sequence[str]
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class TitlesRequest:
    """Ids of notes whose titles and paths are wanted."""

    ids: Sequence[str]


@dataclass(frozen=True, slots=True)
class ExtractRequest:
    """Messages, in the plain form, to take what is worth remembering from."""

    file: str
    session: str
    messages: str
    client: str = "default"
    project: str | None = None


@dataclass(frozen=True, slots=True)
class HeldRequest:
    """Statements that may be in memory already."""

    texts: Sequence[str]


@dataclass(frozen=True, slots=True)
class ReviewRequest:
    """What becomes of a candidate. `verb`: accept (with `content` in place of its text, `supersede` to replace what it
    contradicts), merge (`into` another note), drop, or undo what became active at once."""

    verb: str
    target: str
    etag: str | None = None
    content: str | None = None
    into: str | None = None
    supersede: bool = False


@dataclass(frozen=True, slots=True)
class CompactRequest:
    """Fresh notes to file under topics, of one `topic` or all; or a run to `undo`."""

    undo: str | None = None
    dry_run: bool = False
    topic: str | None = None


@dataclass(frozen=True, slots=True)
class TreeRequest:
    """The topics, so many levels deep."""

    depth: int | None = None


@dataclass(frozen=True, slots=True)
class TargetRequest:
    """One note, entry or topic: an id, a path, or a topic's folder."""

    target: str


@dataclass(frozen=True, slots=True)
class LogRequest:
    """The git history of `target` (an id or path) or of the whole vault. `at`: a commit, for the note's text in it."""

    target: str | None = None
    at: str | None = None
    limit: int = 20


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """`items` with `path`, `data` (base64) and `id`: for a `folder` below home, from the source `mark`; without these
    files of an exported vault, under their own paths."""

    items: Sequence[Mapping[str, Any]]
    folder: str | None = None
    mark: str = ""
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """A page of what there is to export: what comes `after` the last page's `next`."""

    after: str | None = None
