"""Lists the operations of the core, each with its request and the function that answers it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from mcp_memory.core import requests
from mcp_memory.core.core import Core
from mcp_memory.core.feature import Operation
from mcp_memory.core.serializers import Payload
from mcp_memory.engine.handlers import (
    note_handlers,
    project_handlers,
    review_handlers,
    session_handlers,
    vault_handlers,
)


@dataclass(frozen=True, slots=True)
class CoreOperation:
    """A request, and the function that answers it with the core. `is_foreground`: somebody waits."""

    request: type[Any]
    answer: Callable[[Core, Any], Awaitable[Payload]]
    is_foreground: bool = False


CORE_OPERATIONS: Mapping[str, CoreOperation] = {
    "search": CoreOperation(requests.SearchRequest, note_handlers.search, is_foreground=True),
    "recall": CoreOperation(requests.RecallRequest, note_handlers.recall, is_foreground=True),
    "brief": CoreOperation(requests.BriefRequest, session_handlers.brief, is_foreground=True),
    "advise": CoreOperation(requests.AdviseRequest, session_handlers.advise, is_foreground=True),
    "flush": CoreOperation(requests.NoArguments, session_handlers.flush),
    "emptied": CoreOperation(requests.TranscriptRequest, session_handlers.emptied),
    "grown": CoreOperation(requests.TranscriptRequest, session_handlers.grown),
    "transcripts": CoreOperation(requests.TranscriptsRequest, session_handlers.transcripts),
    "capture": CoreOperation(requests.CaptureRequest, session_handlers.capture),
    "titles": CoreOperation(requests.TitlesRequest, session_handlers.titles),
    "append": CoreOperation(requests.AppendRequest, note_handlers.append, is_foreground=True),
    "update": CoreOperation(requests.UpdateRequest, note_handlers.update, is_foreground=True),
    "forget": CoreOperation(requests.ForgetRequest, note_handlers.forget, is_foreground=True),
    "restore": CoreOperation(requests.RestoreRequest, note_handlers.restore, is_foreground=True),
    "list": CoreOperation(requests.ListRequest, note_handlers.list_notes),
    "due": CoreOperation(requests.DueRequest, note_handlers.due),
    "stats": CoreOperation(requests.StatsRequest, note_handlers.stats),
    "forgotten": CoreOperation(requests.ForgottenRequest, note_handlers.forgotten),
    "restore_all": CoreOperation(requests.ForgottenRequest, note_handlers.restore_all),
    "history": CoreOperation(requests.TargetRequest, note_handlers.history),
    "changes": CoreOperation(requests.ChangesRequest, vault_handlers.changes),
    "undo": CoreOperation(requests.UndoRequest, vault_handlers.undo),
    "projects": CoreOperation(requests.ProjectsRequest, project_handlers.projects),
    "adopt": CoreOperation(requests.AdoptRequest, vault_handlers.adopt_notes),
    "reindex": CoreOperation(requests.NoArguments, lambda core, _: core.indexing.sweeper.reindex()),
    "reconcile": CoreOperation(requests.NoArguments, lambda core, _: core.indexing.sweeper.reconcile()),
    "accept": CoreOperation(requests.NoArguments, vault_handlers.accept),
    "doctor": CoreOperation(requests.NoArguments, vault_handlers.doctor),
    "fix": CoreOperation(requests.NoArguments, vault_handlers.repair),
    "lost": CoreOperation(requests.NoArguments, vault_handlers.lost),
    "recover": CoreOperation(requests.RecoverRequest, vault_handlers.recover_entries),
    "erase": CoreOperation(requests.EraseRequest, vault_handlers.erase),
    "status": CoreOperation(requests.NoArguments, vault_handlers.status),
    "jobs": CoreOperation(
        requests.JobsRequest, lambda core, wanted: core.background.scheduler.answer(**asdict(wanted))
    ),
    "mute": CoreOperation(requests.MuteRequest, session_handlers.mute),
    "why": CoreOperation(requests.WhyRequest, session_handlers.why),
    "inbox": CoreOperation(requests.NoArguments, review_handlers.inbox),
    "review": CoreOperation(requests.ReviewRequest, review_handlers.review),
}
"""An operation's name → the operation."""


def list_operations(core: Core) -> dict[str, Operation]:
    """Return the operations of the core and of its features, by name."""
    found = {
        name: Operation(one.request, partial(one.answer, core), one.is_foreground)
        for name, one in CORE_OPERATIONS.items()
    }
    for feature in core.features:
        found |= feature.operations
    return found
