"""Lists the named operations: of each its request, and the function that answers it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
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
    from mcp_memory.engine.engine import Engine

OPERATIONS: Mapping[str, tuple[type[Any], Callable[[Engine, Any], Awaitable[Payload]]]] = {
    "search": (requests.SearchRequest, note_handlers.search),
    "recall": (requests.RecallRequest, note_handlers.recall),
    "brief": (requests.BriefRequest, session_handlers.brief),
    "advise": (requests.AdviseRequest, session_handlers.advise),
    "flush": (requests.NoArguments, session_handlers.flush),
    "emptied": (requests.TranscriptRequest, session_handlers.emptied),
    "grown": (requests.TranscriptRequest, session_handlers.grown),
    "transcripts": (requests.TranscriptsRequest, session_handlers.transcripts),
    "capture": (requests.CaptureRequest, session_handlers.capture),
    "titles": (requests.TitlesRequest, session_handlers.titles),
    "append": (requests.AppendRequest, note_handlers.append),
    "update": (requests.UpdateRequest, note_handlers.update),
    "forget": (requests.ForgetRequest, note_handlers.forget),
    "restore": (requests.RestoreRequest, note_handlers.restore),
    "list": (requests.ListRequest, note_handlers.list_notes),
    "due": (requests.DueRequest, note_handlers.due),
    "stats": (requests.StatsRequest, note_handlers.stats),
    "forgotten": (requests.ForgottenRequest, note_handlers.forgotten),
    "restore_all": (requests.ForgottenRequest, note_handlers.restore_all),
    "changes": (requests.ChangesRequest, vault_handlers.changes),
    "projects": (requests.ProjectsRequest, project_handlers.projects),
    "refs": (requests.RefsRequest, vault_handlers.refs),
    "undo": (requests.UndoRequest, vault_handlers.undo),
    "pair": (requests.PairRequest, vault_handlers.pair),
    "adopt": (requests.AdoptRequest, vault_handlers.adopt),
    "reindex": (requests.NoArguments, lambda engine, _: engine.parts.admin.reindex()),
    "reconcile": (requests.NoArguments, lambda engine, _: engine.parts.admin.reconcile()),
    "accept": (requests.NoArguments, vault_handlers.accept),
    "doctor": (requests.NoArguments, vault_handlers.doctor),
    "fix": (requests.NoArguments, vault_handlers.repair),
    "lost": (requests.NoArguments, vault_handlers.lost),
    "recover": (requests.RecoverRequest, vault_handlers.recover),
    "erase": (requests.EraseRequest, vault_handlers.erase),
    "taught": (requests.TaughtRequest, vault_handlers.taught),
    "status": (requests.NoArguments, vault_handlers.status),
    "compact": (requests.CompactRequest, topic_handlers.compact),
    "edit_topic": (requests.EditTopicRequest, topic_handlers.edit_topic),
    "archive_proposed": (
        requests.ArchiveProposedRequest,
        lambda engine, wanted: engine.parts.archivist.answer(wanted.ids),
    ),
    "unarchive": (requests.TargetRequest, note_handlers.unarchive),
    "jobs": (requests.JobsRequest, lambda engine, wanted: engine.parts.scheduler.answer(**asdict(wanted))),
    "dream": (requests.DreamRequest, topic_handlers.dream),
    "digest": (requests.DigestRequest, lambda engine, wanted: digest(engine.parts, wanted)),
    "runs": (requests.NoArguments, topic_handlers.runs),
    "organize": (requests.OrganizeRequest, topic_handlers.organize_pages),
    "tree": (requests.TreeRequest, topic_handlers.tree),
    "show": (requests.TargetRequest, topic_handlers.show),
    "history": (requests.TargetRequest, note_handlers.history),
    "share": (requests.TargetRequest, topic_handlers.share),
    "mute": (requests.MuteRequest, session_handlers.mute),
    "why": (requests.WhyRequest, session_handlers.why),
    "extract": (requests.ExtractRequest, session_handlers.extract),
    "held": (requests.HeldRequest, session_handlers.held),
    "inbox": (requests.NoArguments, session_handlers.inbox),
    "review": (requests.ReviewRequest, session_handlers.review),
    "claims": (requests.ClaimsRequest, claim_handlers.claims),
    "claim_problems": (requests.NoArguments, claim_handlers.claim_problems),
    "gaps": (requests.GapsRequest, gap_handlers.gaps),
    "apply": (requests.ApplyRequest, claim_handlers.apply),
    "conflicts": (requests.ConflictsRequest, vault_handlers.conflicts),
    "decide": (requests.DecideRequest, vault_handlers.decide),
    "links": (requests.LinksRequest, vault_handlers.links),
    "lint": (requests.LintRequest, vault_handlers.lint),
    "log": (requests.LogRequest, note_handlers.log),
    "import": (requests.ImportRequest, vault_handlers.import_notes),
    "export": (requests.ExportRequest, vault_handlers.export_notes),
}
"""An operation's name → its request, and the function that answers it."""
