"""Lists the named operations, each with its request and the function that answers it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from mcp_memory.engine import requests
from mcp_memory.engine.background_jobs import digest
from mcp_memory.engine.handlers import (
    claim_handlers,
    gap_handlers,
    note_handlers,
    project_handlers,
    session_handlers,
    topic_handlers,
    vault_handlers,
)
from mcp_memory.engine.serializers import Payload

if TYPE_CHECKING:
    from mcp_memory.engine.parts import EngineParts


@dataclass(frozen=True, slots=True)
class Operation:
    """A request, and the function that answers it. `is_foreground`: somebody waits, so background work pauses."""

    request: type[Any]
    answer: Callable[[EngineParts, Any], Awaitable[Payload]]
    is_foreground: bool = False


OPERATIONS: Mapping[str, Operation] = {
    "search": Operation(requests.SearchRequest, note_handlers.search, is_foreground=True),
    "recall": Operation(requests.RecallRequest, note_handlers.recall, is_foreground=True),
    "brief": Operation(requests.BriefRequest, session_handlers.brief, is_foreground=True),
    "advise": Operation(requests.AdviseRequest, session_handlers.advise, is_foreground=True),
    "flush": Operation(requests.NoArguments, session_handlers.flush),
    "emptied": Operation(requests.TranscriptRequest, session_handlers.emptied),
    "grown": Operation(requests.TranscriptRequest, session_handlers.grown),
    "transcripts": Operation(requests.TranscriptsRequest, session_handlers.transcripts),
    "capture": Operation(requests.CaptureRequest, session_handlers.capture),
    "titles": Operation(requests.TitlesRequest, session_handlers.titles),
    "append": Operation(requests.AppendRequest, note_handlers.append, is_foreground=True),
    "update": Operation(requests.UpdateRequest, note_handlers.update, is_foreground=True),
    "forget": Operation(requests.ForgetRequest, note_handlers.forget, is_foreground=True),
    "restore": Operation(requests.RestoreRequest, note_handlers.restore, is_foreground=True),
    "list": Operation(requests.ListRequest, note_handlers.list_notes),
    "due": Operation(requests.DueRequest, note_handlers.due),
    "stats": Operation(requests.StatsRequest, note_handlers.stats),
    "forgotten": Operation(requests.ForgottenRequest, note_handlers.forgotten),
    "restore_all": Operation(requests.ForgottenRequest, note_handlers.restore_all),
    "changes": Operation(requests.ChangesRequest, vault_handlers.changes),
    "projects": Operation(requests.ProjectsRequest, project_handlers.projects),
    "refs": Operation(requests.RefsRequest, vault_handlers.refs),
    "undo": Operation(requests.UndoRequest, vault_handlers.undo),
    "adopt": Operation(requests.AdoptRequest, vault_handlers.adopt),
    "reindex": Operation(requests.NoArguments, lambda parts, _: parts.admin.reindex()),
    "reconcile": Operation(requests.NoArguments, lambda parts, _: parts.admin.reconcile()),
    "accept": Operation(requests.NoArguments, vault_handlers.accept),
    "doctor": Operation(requests.NoArguments, vault_handlers.doctor),
    "fix": Operation(requests.NoArguments, vault_handlers.repair),
    "lost": Operation(requests.NoArguments, vault_handlers.lost),
    "recover": Operation(requests.RecoverRequest, vault_handlers.recover),
    "erase": Operation(requests.EraseRequest, vault_handlers.erase),
    "taught": Operation(requests.TaughtRequest, vault_handlers.taught),
    "status": Operation(requests.NoArguments, vault_handlers.status),
    "compact": Operation(requests.CompactRequest, topic_handlers.compact),
    "edit_topic": Operation(requests.EditTopicRequest, topic_handlers.edit_topic),
    "archive_proposed": Operation(
        requests.ArchiveProposedRequest,
        lambda parts, wanted: parts.archivist.answer(wanted.ids),
    ),
    "unarchive": Operation(requests.TargetRequest, note_handlers.unarchive),
    "jobs": Operation(requests.JobsRequest, lambda parts, wanted: parts.scheduler.answer(**asdict(wanted))),
    "dream": Operation(requests.DreamRequest, topic_handlers.dream),
    "digest": Operation(requests.DigestRequest, digest),
    "runs": Operation(requests.NoArguments, topic_handlers.runs),
    "organize": Operation(requests.OrganizeRequest, topic_handlers.organize_pages),
    "tree": Operation(requests.TreeRequest, topic_handlers.tree),
    "show": Operation(requests.TargetRequest, topic_handlers.show, is_foreground=True),
    "history": Operation(requests.TargetRequest, note_handlers.history),
    "share": Operation(requests.TargetRequest, topic_handlers.share),
    "mute": Operation(requests.MuteRequest, session_handlers.mute),
    "why": Operation(requests.WhyRequest, session_handlers.why),
    "extract": Operation(requests.ExtractRequest, session_handlers.extract),
    "held": Operation(requests.HeldRequest, session_handlers.held),
    "inbox": Operation(requests.NoArguments, session_handlers.inbox),
    "review": Operation(requests.ReviewRequest, session_handlers.review),
    "claims": Operation(requests.ClaimsRequest, claim_handlers.claims),
    "claim_problems": Operation(requests.NoArguments, claim_handlers.claim_problems),
    "gaps": Operation(requests.GapsRequest, gap_handlers.gaps),
    "apply": Operation(requests.ApplyRequest, claim_handlers.apply),
    "conflicts": Operation(requests.ConflictsRequest, vault_handlers.conflicts),
    "decide": Operation(requests.DecideRequest, vault_handlers.decide),
    "links": Operation(requests.LinksRequest, vault_handlers.links),
    "lint": Operation(requests.LintRequest, vault_handlers.lint),
    "log": Operation(requests.LogRequest, note_handlers.log),
    "import": Operation(requests.ImportRequest, vault_handlers.import_notes),
    "export": Operation(requests.ExportRequest, vault_handlers.export_notes),
}
"""An operation's name → the operation."""
