"""Turns facts about a vault into doctor findings, each with the command that helps. Pure."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any, Literal

from mcp_memory.models import NoteId, NotePath, Problem
from mcp_memory.runtime.health import CommitHealth
from mcp_memory.topics.page import PAGE, PROPOSAL
from mcp_memory.vault.lost_entries import LostEntry, Why
from mcp_memory.vault.note_file import original_of

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Finding:
    """`severity`: `error` needs you, `warning` may need you, `info` needs nothing.
    `fixable`: `doctor --fix` handles it."""

    severity: Severity
    what: str
    remedy: str
    fixable: bool = False

    def payload(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class VaultFacts:
    """What findings are made from. `paths` are all files of the vault, `ids` those of its notes by path; `faults` are
    going on, `overcome` are over; `keywords_only` says why no model answers, `deaf` why no file-system events come,
    `compaction` says why it keeps failing; else they are None. `uncaptured` are transcripts that could not be read.
    `noticing` is how changes are noticed."""

    root: str
    paths: Sequence[str]
    ids: Mapping[NotePath, NoteId]
    problems: Sequence[Problem] = ()
    faults: Sequence[Problem] = ()
    overcome: Sequence[Problem] = ()
    leftovers: Sequence[Problem] = ()
    warnings: Sequence[str] = ()
    lost: Sequence[LostEntry] = ()
    pruning_paused: str | None = None
    keywords_only: str | None = None
    noticing: str = ""
    deaf: str | None = None
    read_only: bool = False
    ignored: int = 0
    damaged_ledger_lines: int = 0
    damaged_undo: Sequence[Problem] = ()
    compaction: str | None = None
    memory: tuple[int, int] = (0, 0)
    """Lines of MEMORY.md: for how many a session start has room, and all."""
    inbox: int = 0
    """How many candidates wait, where that is many."""
    commits: CommitHealth | None = None
    open_objects: str | None = None
    """The folder of the person's git repository that other users can read, though they cannot read the notes."""
    uncaptured: Sequence[Problem] = ()


def findings_of(facts: VaultFacts) -> list[Finding]:
    """The gravest first."""
    found = [
        *_vault(facts), *_lost(facts.lost), *_files(facts), *_copies(facts), *_proposals(facts), *_service(facts)
    ]  # fmt: skip
    return by_severity(found)


def by_severity(found: Iterable[Finding]) -> list[Finding]:
    order: dict[Severity, int] = {"error": 0, "warning": 1, "info": 2}
    return sorted(found, key=lambda finding: order[finding.severity])


def _vault(facts: VaultFacts) -> Iterator[Finding]:
    if facts.pruning_paused:
        yield Finding(
            "error",
            f"{facts.pruning_paused}; nothing is removed from the index until you confirm",
            "bring the files back (mount the disk, finish the sync), or run: mcp-memory doctor --accept",
        )
    if facts.read_only:
        yield Finding("warning", "the vault cannot be written", f"check its permissions and its mount: {facts.root}")
    for each in facts.warnings:
        yield Finding("info", each, "use a local disk for the vault if you can")
    if facts.ignored:
        yield Finding("info", f"{facts.ignored} files are left out by .memoryignore", "edit it if that is not intended")
    if facts.commits and facts.commits.why:
        waiting = "1 file is" if facts.commits.waiting == 1 else f"{facts.commits.waiting} files are"
        severity = "info" if facts.commits.passes else "warning"
        yield Finding(severity, f"{waiting} not committed yet: {facts.commits.why}", f"{facts.commits.remedy}")
    for damaged in facts.damaged_undo:
        remedy = f"rm {shlex.quote(damaged.path)}; the entry stays forgotten as long as its log says so"
        yield Finding("warning", f"{damaged.path}: {damaged.reason}", remedy)
    if facts.open_objects:
        folder = shlex.quote(facts.open_objects)
        what = f"notes that only you may read are in {facts.open_objects}, which other users can read"
        yield Finding("warning", what, f"chmod go-rwx {folder}")
    if facts.damaged_ledger_lines:
        yield Finding(
            "warning",
            f"{facts.damaged_ledger_lines} lines of the ledger are unreadable",
            "if agents can no longer change their notes: mcp-memory adopt PATH",
        )


_ABSENT: dict[Why, tuple[Severity, str]] = {
    "overwritten": ("error", "was overwritten with an older version and lost {}"),
    "missing": ("warning", "no longer holds {}, removed on purpose or overwritten"),
    "edited": ("info", "holds {} in other words"),
    "unanswered": ("info", "does not hold {}, whose append was cut short and never answered"),
}


def _lost(lost: Sequence[LostEntry]) -> Iterator[Finding]:
    def kind(each: LostEntry) -> tuple[str, Why]:
        return each.added.path, each.why

    for (path, why), group in groupby(sorted(lost, key=kind), kind):
        some = list(group)
        severity, words = _ABSENT[why]
        count = "1 entry" if len(some) == 1 else f"{len(some)} entries"
        named = f"{count} ({'; '.join(each.gist for each in some[:3])}{'; …' if len(some) > 3 else ''})"
        whole = len(some) == sum(each.added.path == path for each in lost)
        target = shlex.quote(path) if whole else " ".join(shlex.quote(each.id) for each in some)
        remedy = f"to have it back: mcp-memory recover {target}"
        if why == "overwritten":
            remedy = f"mcp-memory doctor --fix, or: mcp-memory recover {target}"
        elif why != "edited":
            remedy += f"; else: mcp-memory recover --dismiss {target}"
        yield Finding(severity, f"{path} {words.format(named)}", remedy, fixable=why == "overwritten")


def _files(facts: VaultFacts) -> Iterator[Finding]:
    for problem in facts.problems:
        yield Finding("warning", f"{problem.path}: {problem.reason}", "repair or remove the file; the rest is indexed")
    for left in facts.leftovers:
        file = shlex.quote(f"{facts.root}/{left.path}")
        yield Finding("warning", f"{left.path}: {left.reason}", f"look at it (less {file}), keep what you need, rm it")
    for note_id, count in Counter(each for path, each in facts.ids.items() if not original_of(path)).items():
        if count > 1:
            yield Finding(
                "warning",
                f"{count} notes carry the id {note_id}",
                f"give all but one of them another id: grep -rl {shlex.quote(note_id)} {shlex.quote(facts.root)}",
            )


def _copies(facts: VaultFacts) -> Iterator[Finding]:
    present = set(facts.paths)
    for path in facts.paths:
        original = None if path.startswith("@") else original_of(path)
        if original is None:
            continue
        copy, beside = (shlex.quote(f"{facts.root}/{each}") for each in (path, original))
        remedy = f"compare: diff {beside} {copy}; keep what you need, then rm {copy}"
        if original not in present:
            remedy = f"the original is gone: mv {copy} {beside}, or rm {copy}"
        yield Finding("warning", f"{path} is a conflict copy: another version of {original}", remedy)


def _proposals(facts: VaultFacts) -> Iterator[Finding]:
    for path in facts.paths:
        folder, slash, name = path.rpartition("/")
        if name == PROPOSAL and not path.startswith("@"):
            page = f"{folder}{slash}{PAGE}"
            proposal, mine = (shlex.quote(f"{facts.root}/{each}") for each in (path, page))
            yield Finding(
                "info",
                f"{page} was edited by you and is out of date; {name} beside it is the current version",
                f"to use it: mv {proposal} {mine}; to have a new one made: rm {mine}",
            )


def _service(facts: VaultFacts) -> Iterator[Finding]:
    for fault in facts.faults:
        yield Finding("warning", f"{fault.path}: {fault.reason}", "mcp-memory doctor --fix", fixable=True)
    for fault in facts.overcome:
        yield Finding("info", f"{fault.path}: {fault.reason}", "nothing to do: it was rebuilt from the files")
    if facts.noticing:
        yield Finding("info", f"changes are noticed by: {facts.noticing}", "nothing to do")
    if facts.deaf:
        yield Finding(
            "warning",
            f"no file-system events ({facts.deaf}): changes are only noticed at the next sweep",
            "where a limit is reached, raise it: sysctl fs.inotify.max_user_watches; it is tried again every minute",
        )
    for problem in facts.uncaptured:
        what = f"a session is not captured: {problem.path}: {problem.reason}"
        yield Finding(
            "warning", what, f"mcp-memory help sessions; then: mcp-memory capture {shlex.quote(problem.path)}"
        )
    if facts.keywords_only:
        yield Finding(
            "warning",
            f"searches use keywords only: the model is {facts.keywords_only}",
            "see [embedder] in: mcp-memory config show",
        )
    told, lines = facts.memory
    if told < lines:
        yield Finding(
            "warning",
            f"MEMORY.md has {lines} lines, and a session start has room for the first {told}: no session sees the rest",
            "keep in it what every session must know, and move the rest into notes (they are found by their words); "
            "or raise start_budget_tokens under [recall]",
        )
    if facts.compaction:
        yield Finding(
            "warning",
            f"fresh notes are not filed: compaction keeps failing ({facts.compaction})",
            "for details: mcp-memory compact; search still finds the notes",
        )
    if facts.inbox:
        yield Finding(
            "info",
            f"{facts.inbox} candidates from transcripts wait in _inbox/",
            "mcp-memory review, or: mcp-memory review --accept-all-above 0.8",
        )
