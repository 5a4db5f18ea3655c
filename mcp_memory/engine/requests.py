"""What can be asked of an engine, by name, as plain JSON values in and out.

The MCP tools, the daemon's own HTTP interface and the command line in process all answer through this table, so
that they cannot differ.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any, cast, get_args

from mcp_memory.engine.candidate_requests import extract, held, inbox, review
from mcp_memory.engine.capture_requests import capture, client_of, grown, transcripts
from mcp_memory.engine.doctor import examine, treat
from mcp_memory.engine.engine import Engine, Mode
from mcp_memory.engine.serializers import (
    Payload,
    forgotten_payload,
    lost_payload,
    receipt_payload,
    search_payload,
    tombstone_payload,
)
from mcp_memory.engine.topic_requests import compact, runs, share, show, tree
from mcp_memory.errors import InvalidInput, McpMemoryError
from mcp_memory.git.note_history import PAST_S
from mcp_memory.recall.flush import FLUSH
from mcp_memory.runtime.threads import LOOK_DEADLINE_S, in_thread
from mcp_memory.search.filters import checked_query
from mcp_memory.transfer.porting import ImportDestination, facts_of, incoming_of
from mcp_memory.vault.journals.tombstones import Caller

BRIEF_MS = 5000
"""Where nobody says how long they can wait."""


async def perform(engine: Engine, operation: str, arguments: Mapping[str, Any]) -> Payload:
    """Run one operation; an argument that is None counts as not given.

    Raises InvalidInput for an unknown name, an unknown or missing argument or one of the wrong type, and what the
    engine raises.
    """
    if operation not in _OPERATIONS:
        raise InvalidInput(f"unknown operation {operation[:100]!r}", hint=f"known: {', '.join(_OPERATIONS)}")
    work, allowed = _OPERATIONS[operation]
    given = {name: value for name, value in arguments.items() if value is not None}
    known = f"it takes: {', '.join(sorted(allowed)) or 'nothing'}"
    for name, value in given.items():
        if name not in allowed:
            raise InvalidInput(f"{operation} has no argument {name[:100]!r}", hint=known)
        wanted, fits = _TYPES.get(name, _TEXT)
        if not fits(value):
            raise InvalidInput(f"{name} must be {wanted}")
    if missing := _REQUIRED.get(operation, set()) - set(given):
        raise InvalidInput(f"{operation} needs {min(missing)}", hint=known)
    return await work(engine, given)


async def search(engine: Engine, arguments: Payload) -> Payload:
    return search_payload(await engine.search(**arguments))


async def recall(engine: Engine, arguments: Payload) -> Payload:
    return {"text": await engine.recall(**arguments)}


async def brief(engine: Engine, arguments: Payload) -> Payload:
    """What a session is to be told at its start, or with its `prompt`."""
    engine.parts.watcher.touch()
    session, project = arguments["session"], arguments.get("project")
    deadline_s = arguments.get("within_ms", BRIEF_MS) / 1000
    if transcript := arguments.get("transcript"):
        delegated = arguments.get("delegated", False)
        engine.parts.capture_worker.follow(client_of(session), transcript, due=False, delegated=delegated)
    prompt = arguments.get("prompt")
    if prompt is None:
        briefing = await engine.parts.briefer.start(session, project, deadline_s=deadline_s)
    else:
        lasting = arguments.get("lasting", True)
        briefing = await engine.parts.briefer.prompt(
            session, checked_query(prompt), project, deadline_s=deadline_s, lasting=lasting
        )
    facts = {"tokens": briefing.tokens, "notes": list(briefing.notes), "degraded": briefing.degraded}
    return {"text": briefing.text, **facts}


async def emptied(engine: Engine, arguments: Payload) -> Payload:
    """The session's context is emptied, or it is over; `transcript` is captured to its end, as with `grown`."""
    await grown(engine, arguments)
    await engine.parts.briefer.reset(arguments["session"])
    return {}


async def flush(engine: Engine, arguments: Payload) -> Payload:  # noqa: ARG001 -- each takes them
    """What an agent is asked to do before its context is compacted; nothing where it could not."""
    read_only = await in_thread(
        lambda: engine.parts.vault.read_only, deadline_s=LOOK_DEADLINE_S, what="looking at the vault"
    )
    return {"text": "" if read_only else FLUSH}


async def titles(engine: Engine, arguments: Payload) -> Payload:
    found = await engine.parts.briefer.titles(arguments["ids"])
    return {"notes": {each: {"path": note.path, "title": note.title} for each, note in found.items()}}


async def append(engine: Engine, arguments: Payload) -> Payload:
    return receipt_payload(await engine.append(**arguments))


async def forget(engine: Engine, arguments: Payload) -> Payload:
    record = await engine.forget(arguments["target"], reason=arguments.get("reason"), by=_caller(arguments))
    return forgotten_payload(record, arguments["target"], restored=False)


async def restore(engine: Engine, arguments: Payload) -> Payload:
    record = await engine.forget(arguments["target"], restore=True, by=_caller(arguments))
    return forgotten_payload(record, arguments["target"], restored=True)


async def forgotten(engine: Engine, arguments: Payload) -> Payload:
    return {"forgotten": [tombstone_payload(each) for each in await engine.forgotten(**arguments)]}


async def restore_all(engine: Engine, arguments: Payload) -> Payload:
    """What `forgotten` lists for the same arguments; what one refuses keeps no other from coming back."""
    restored: list[Payload] = []
    refused: list[Payload] = []
    for each in await engine.forgotten(**arguments):
        told = tombstone_payload(each)
        try:
            await engine.forget(each.target, restore=True, by=Caller(is_person=True))
        except McpMemoryError as error:
            refused.append({**told, "why": str(error)})
        else:
            restored.append(told)
    return {"restored": restored, "refused": refused}


def _caller(arguments: Payload) -> Caller:
    return Caller(arguments.get("source"), arguments.get("session"), arguments.get("personal", False))


async def adopt(engine: Engine, arguments: Payload) -> Payload:
    path, dry_run = arguments.get("path"), arguments.get("dry_run", False)
    if arguments.get("revoke", False):
        return {"returned": await engine.parts.admin.give_back(path, dry_run=dry_run)}
    return {"adopted": await engine.parts.admin.adopt(path, dry_run=dry_run)}


async def reindex(engine: Engine, _: Payload) -> Payload:
    return await engine.parts.admin.reindex()


async def reconcile(engine: Engine, _: Payload) -> Payload:
    return await engine.parts.admin.reconcile()


async def accept(engine: Engine, _: Payload) -> Payload:
    return {"pruned": await engine.parts.admin.accept_loss()}


async def doctor(engine: Engine, _: Payload) -> Payload:
    findings = await in_thread(lambda: examine(engine), deadline_s=LOOK_DEADLINE_S, what="the examination")
    return {"findings": [finding.payload() for finding in findings]}


async def fix(engine: Engine, _: Payload) -> Payload:
    return {"done": await treat(engine)}


async def lost(engine: Engine, _: Payload) -> Payload:
    return {"lost": [lost_payload(each) for each in await engine.parts.admin.lost_entries()]}


async def recover(engine: Engine, arguments: Payload) -> Payload:
    found = await engine.parts.admin.recover(arguments["ids"], dismiss=arguments.get("dismiss", False))
    return {"recovered": [lost_payload(each) for each in found]}


async def erase(engine: Engine, arguments: Payload) -> Payload:
    return asdict(await engine.erase(arguments["target"], sure=arguments.get("sure", False)))


async def log(engine: Engine, arguments: Payload) -> Payload:
    """`target`: an id or path, or nothing for the whole vault. `at`: a commit, for the note's text in it."""
    target, at, limit = arguments.get("target"), arguments.get("at"), arguments.get("limit", 20)
    look = partial(engine.parts.note_history.describe, target, at, limit)
    return await in_thread(look, deadline_s=PAST_S + 10, what="reading the history")


async def take_in(engine: Engine, arguments: Payload) -> Payload:
    """`items` with `path`, `data` (base64) and `id`: for a `folder` below home, from the source `mark`; without these
    files of an exported vault, under their own paths."""
    destination = ImportDestination(arguments["folder"], arguments.get("mark", "")) if "folder" in arguments else None
    incoming = list(map(incoming_of, arguments["items"]))
    taken = await engine.parts.transfer.take_in(incoming, destination, dry_run=arguments.get("dry_run", False))
    return {"taken": [{"deed": each.deed.value, "path": each.path, "why": each.why} for each in taken]}


async def export(engine: Engine, arguments: Payload) -> Payload:
    """What there is to export, a page after the other; the files are read by the process of the person who asked."""
    found, further = await engine.parts.transfer.catalogue(arguments.get("after"))
    notes = [facts_of(record) for record in found]
    return {"home": engine.parts.marker.home, "notes": notes, "next": further}


async def status(engine: Engine, _: Payload) -> Payload:
    facts = await in_thread(engine.parts.admin.status, deadline_s=LOOK_DEADLINE_S, what="the state of the index")
    return {**facts, "capture": engine.parts.capture_worker.status()}


Operation = Callable[[Engine, Payload], Awaitable[Payload]]
Type = tuple[str, Callable[[Any], bool]]
"""A type's name for people, and whether a value is of it."""

_TEXT: Type = ("a string", lambda value: isinstance(value, str))
_TEXTS: Type = ("a list of strings", lambda value: isinstance(value, list) and all(map(_TEXT[1], cast("Any", value))))
_ITEMS: Type = ("a list of objects", lambda value: isinstance(value, list))
_WHOLE: Type = ("a whole number", lambda value: isinstance(value, int) and not isinstance(value, bool))
_YES_NO: Type = ("true or false", lambda value: isinstance(value, bool))
_MODE: Type = (f"one of {', '.join(get_args(Mode))}", lambda value: value in get_args(Mode))

_TYPES: Mapping[str, Type] = {
    "kinds": _TEXTS, "tags": _TEXTS, "ids": _TEXTS, "files": _TEXTS, "limit": _WHOLE, "budget_tokens": _WHOLE,
    "include_archived": _YES_NO, "explain": _YES_NO, "dismiss": _YES_NO,
    "sure": _YES_NO, "once": _YES_NO, "lasting": _YES_NO, "mode": _MODE, "dry_run": _YES_NO, "depth": _WHOLE,
    "delegated": _YES_NO, "within_ms": _WHOLE, "items": _ITEMS, "texts": _TEXTS, "supersede": _YES_NO,
    "personal": _YES_NO, "revoke": _YES_NO,
}  # fmt: skip
"""Of the arguments that are not text."""

_REQUIRED = {
    "search": {"query"},
    "brief": {"session"},
    "emptied": {"session"},
    "grown": {"session"},
    "capture": {"files"},
    "titles": {"ids"},
    "append": {"content"},
    "forget": {"target"},
    "restore": {"target"},
    "recover": {"ids"},
    "show": {"target"},
    "share": {"target"},
    "import": {"items"},
    "extract": {"file", "session", "messages"},
    "held": {"texts"},
    "review": {"verb", "target"},
}

_SEARCH = {
    "query", "limit", "kinds", "tags", "project", "since", "until", "path", "include_archived", "mode", "explain",
}  # fmt: skip
_RECALL = {"query", "ids", "path", "lines", "phase", "kinds", "project", "budget_tokens"}
_APPEND = {
    "content", "kind", "title", "tags", "project", "supersedes", "session", "expires", "path", "source", "created",
    "once",
}  # fmt: skip

_OPERATIONS: Mapping[str, tuple[Operation, set[str]]] = {
    "search": (search, _SEARCH),
    "recall": (recall, _RECALL),
    "brief": (brief, {"session", "prompt", "project", "within_ms", "lasting", "transcript", "delegated"}),
    "flush": (flush, set()),
    "emptied": (emptied, {"session", "transcript", "delegated"}),
    "grown": (grown, {"session", "transcript", "delegated"}),
    "transcripts": (transcripts, {"client", "file"}),
    "capture": (capture, {"files", "dry_run"}),
    "titles": (titles, {"ids"}),
    "append": (append, _APPEND),
    "forget": (forget, {"target", "reason", "source", "session", "personal"}),
    "restore": (restore, {"target", "source", "session", "personal"}),
    "forgotten": (forgotten, {"client", "session", "since"}),
    "restore_all": (restore_all, {"client", "session", "since"}),
    "adopt": (adopt, {"path", "dry_run", "revoke"}),
    "reindex": (reindex, set()),
    "reconcile": (reconcile, set()),
    "accept": (accept, set()),
    "doctor": (doctor, set()),
    "fix": (fix, set()),
    "lost": (lost, set()),
    "recover": (recover, {"ids", "dismiss"}),
    "erase": (erase, {"target", "sure"}),
    "status": (status, set()),
    "compact": (compact, {"undo", "dry_run", "topic"}),
    "runs": (runs, set()),
    "tree": (tree, {"depth"}),
    "show": (show, {"target"}),
    "share": (share, {"target"}),
    "extract": (extract, {"file", "client", "session", "messages", "project"}),
    "held": (held, {"texts"}),
    "inbox": (inbox, set()),
    "review": (review, {"verb", "target", "etag", "content", "into", "supersede"}),
    "log": (log, {"target", "at", "limit"}),
    "import": (take_in, {"items", "folder", "mark", "dry_run"}),
    "export": (export, {"after"}),
}
