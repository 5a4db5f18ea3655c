"""Turns facts about a vault into doctor findings, each with the command that helps. Pure."""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby

from mcp_memory.embedders.providers import offer
from mcp_memory.models import NoteId, NotePath, Problem
from mcp_memory.projects.matching import NearMatch
from mcp_memory.projects.project_book import FILE
from mcp_memory.runtime.health import Finding, Severity
from mcp_memory.text.pluralize import counted, first_of
from mcp_memory.vault.marker import MARKER
from mcp_memory.vault.marks.set_aside import Oddity, likely_originals_of, original_of
from mcp_memory.vault.note_file import ARCHIVE
from mcp_memory.vault.shared.lost_entries import LostEntry, Why

_LISTED = 10


@dataclass(frozen=True)
class VaultFacts:
    """The facts that findings are made from. `paths`: all files of the vault; `ids`: of its notes, by path. `faults`
    persist; `overcome` faults have been repaired. `keywords_only` and `deaf` (no file-system events) give the reason,
    or None.
    `uncaptured`: transcripts that could not be read."""

    root: str
    paths: Sequence[str]
    ids: Mapping[NotePath, NoteId]
    unheeded: Sequence[NotePath] = ()
    """Notes with `always_load` in their heads without your consent."""
    slips: Mapping[NotePath, Mapping[str, str]] = field(default_factory=dict[NotePath, Mapping[str, str]])
    """Maps a note to its properties that are nearly ours, each with our property."""
    problems: Sequence[Problem] = ()
    faults: Sequence[Problem] = ()
    overcome: Sequence[Problem] = ()
    leftovers: Sequence[Problem] = ()
    warnings: Sequence[str] = ()
    lost: Sequence[LostEntry] = ()
    pruning_paused: str | None = None
    keywords_only: str | None = None
    substitute: str | None = None
    """The service that could embed texts where the local model can't."""
    deaf: str | None = None
    read_only: bool = False
    is_full: bool = False
    ignored: int = 0
    damaged_ledger_lines: int = 0
    damaged_undo: Sequence[Problem] = ()
    failing_jobs: Mapping[str, str] = field(default_factory=dict[str, str])
    memory: tuple[int, int] = (0, 0)
    """Lines of MEMORY.md: how many a session start has room for, and all."""
    over_budget: str | None = None
    circles: Sequence[NotePath] = ()
    """Notes that are active because they are the newest of a circle."""
    hidden_circles: Sequence[NotePath] = ()
    """A note of each circle that is too long for that, so that none of its notes is active."""
    uncaptured: Sequence[Problem] = ()
    set_aside: Mapping[str, Oddity] = field(default_factory=dict[str, Oddity])
    """Files that aren't searched unasked, and why."""
    projects: str | None = None
    """The reason why the file of the projects can't be used."""
    near_projects: Sequence[NearMatch] = ()
    """Pairs of a project without notes and a project with notes that may be the same."""


def findings_of(facts: VaultFacts) -> list[Finding]:
    """The most severe first."""
    groups = (
        _vault(facts), _projects(facts), _lost(facts.lost), _files(facts), _copies(facts), _set_aside(facts),
        _service(facts),
    )  # fmt: skip
    return by_severity(chain(*groups))


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
    if facts.is_full:
        yield Finding("warning", "the vault's disk is full, so nothing can be stored", f"free some space: {facts.root}")
    for warning in facts.warnings:
        yield Finding("info", warning, "use a local disk for the vault if you can")
    if facts.ignored:
        yield Finding("info", f"{facts.ignored} files are left out by .memoryignore", "edit it if that is not intended")
    for damaged in facts.damaged_undo:
        remedy = f"rm {shlex.quote(damaged.path)}; the entry stays forgotten as long as its log says so"
        yield Finding("warning", f"{damaged.path}: {damaged.reason}", remedy)
    if facts.damaged_ledger_lines:
        what = f"{facts.damaged_ledger_lines} lines of the ledger are unreadable"
        yield Finding("warning", what, "if agents can no longer change their notes: mcp-memory adopt PATH")


def _projects(facts: VaultFacts) -> Iterator[Finding]:
    if facts.projects:
        what = f"{facts.projects}; sessions are told as it was before, and new repositories nothing"
        yield Finding("error", what, f"correct it: {shlex.quote(f'{facts.root}/{FILE}')}")
    for near in facts.near_projects:
        what = f"the project {near.label} {near.why} {near.other}, and sessions in one see no notes of the other"
        merge = f"mcp-memory projects merge {shlex.quote(near.label)} {shlex.quote(near.other)}"
        yield Finding("info", what, f"if they are one project: {merge}")


_ABSENT: dict[Why, tuple[Severity, str]] = {
    "overwritten": ("error", "was overwritten with an older version and lost {}"),
    "missing": ("warning", "no longer holds {}, removed on purpose or overwritten"),
    "edited": ("info", "holds {} in other words"),
    "unanswered": ("info", "does not hold {}, whose append was cut short and never answered"),
}


def _lost(lost: Sequence[LostEntry]) -> Iterator[Finding]:
    def kind(entry: LostEntry) -> tuple[str, Why]:
        return entry.added.path, entry.why

    for (path, why), group in groupby(sorted(lost, key=kind), kind):
        entries = list(group)
        severity, words = _ABSENT[why]
        gists = "; ".join(entry.gist for entry in entries[:3])
        named = f"{counted(len(entries), 'entry', 'entries')} ({gists}{'; …' if len(entries) > 3 else ''})"
        is_whole = len(entries) == sum(entry.added.path == path for entry in lost)
        target = shlex.quote(path) if is_whole else " ".join(shlex.quote(entry.id) for entry in entries)
        remedy = f"to have it back: mcp-memory doctor --repair {target}"
        if why == "overwritten":
            remedy = "mcp-memory doctor --repair"
        elif why != "edited":
            remedy += f"; else: mcp-memory doctor --dismiss {target}"
        yield Finding(severity, f"{path} {words.format(named)}", remedy, fixable=why == "overwritten")


def _files(facts: VaultFacts) -> Iterator[Finding]:
    put_off = Counter(problem.reason for problem in facts.problems if problem.is_put_off)
    for reason, count in put_off.items():
        what = f"searches may lack the latest change of {counted(count, 'note')}: {reason}"
        yield Finding("warning", what, "the notes are stored; once that is mended, the next sweep indexes them")
    for problem in facts.problems:
        is_named = problem.is_put_off or (problem.path == MARKER and facts.pruning_paused)
        if not is_named:
            remedy = "let the user that runs mcp-memory read it" if problem.unread else "repair or remove the file"
            yield Finding("warning", f"{problem.path}: {problem.reason}", f"{remedy}; the rest is indexed")
    for path in facts.unheeded:
        what = f"{path} says always_load, but this installation didn't write it: no session starts with it"
        yield Finding("info", what, f"if you want that: mcp-memory adopt {shlex.quote(path)}, or edit it")
    for path, slips in facts.slips.items():
        for written, ours in slips.items():
            what = f"{path} has the property {written!r}, which is not read; {ours!r} is nearly the same"
            yield Finding("info", what, "correct its name, if that is what you meant")
    for left in facts.leftovers:
        file = shlex.quote(f"{facts.root}/{left.path}")
        yield Finding("warning", f"{left.path}: {left.reason}", f"look at it (less {file}), keep what you need, rm it")
    for note_id, count in Counter(note_id for path, note_id in facts.ids.items() if not original_of(path)).items():
        if count > 1:
            remedy = f"give all but one of them another id: grep -rl {shlex.quote(note_id)} {shlex.quote(facts.root)}"
            yield Finding("warning", f"{count} notes have the id {note_id}", remedy)


def _copies(facts: VaultFacts) -> Iterator[Finding]:
    present = set(facts.paths)
    for path in facts.paths:
        original = None if path.startswith("@") else original_of(path)
        is_likely = original is None and facts.set_aside.get(path) == "copy"
        if is_likely:
            original = next((name for name in likely_originals_of(path) if name in present), None)
        if original is None or f"/{ARCHIVE}/" in f"/{path}":
            continue
        copy, beside = (shlex.quote(f"{facts.root}/{name}") for name in (path, original))
        remedy = f"compare: diff {beside} {copy}; keep what you need, then rm {copy}"
        if original not in present:
            remedy = f"the original is gone: mv {copy} {beside}, or rm {copy}"
        elif is_likely:
            remedy += "; if it is a note of its own, give it another name"
        what = f"{path} is a conflict copy: another version of {original}"
        yield Finding("warning", f"{what}; it isn't searched unasked" if path in facts.set_aside else what, remedy)


def _set_aside(facts: VaultFacts) -> Iterator[Finding]:
    own = {path: oddity for path, oddity in facts.set_aside.items() if not path.startswith("@")}
    for path in (path for path, oddity in own.items() if oddity == "merge"):
        what = f"{path} has unresolved merge conflicts; it isn't searched unasked"
        yield Finding("warning", what, f"choose between the versions: mcp-memory edit {shlex.quote(path)}")
    if templates := [path for path, oddity in own.items() if oddity == "template"]:
        what = f"{counted(len(templates), 'template')} not searched unasked: {first_of(templates, _LISTED)}"
        remedy = "nothing to do; if one is a note, fill its {{gaps}} in, or move it out of the folder for templates"
        yield Finding("info", what, remedy)
    if others := sorted(facts.set_aside.keys() - own.keys()):
        what = f"{counted(len(others), 'conflict copy or template', 'conflict copies and templates')} of sources"
        remedy = "nothing to do; mcp-memory search --path PATH finds what is in one"
        yield Finding("info", f"{what} not searched unasked: {first_of(others, _LISTED)}", remedy)


def _service(facts: VaultFacts) -> Iterator[Finding]:
    for fault in facts.faults:
        yield Finding("warning", f"{fault.path}: {fault.reason}", "mcp-memory doctor --repair", fixable=True)
    for fault in facts.overcome:
        yield Finding("info", f"{fault.path}: {fault.reason}", "nothing to do: it was rebuilt from the files")
    if facts.deaf:
        what = f"no file-system events ({facts.deaf}): changes are only noticed at the next sweep"
        remedy = "if a limit is reached, raise it: sysctl fs.inotify.max_user_watches; it is tried again every minute"
        yield Finding("warning", what, remedy)
    for problem in facts.uncaptured:
        what = f"a session is not captured: {problem.path}: {problem.reason}"
        remedy = f"mcp-memory help sessions; then: mcp-memory sessions capture {shlex.quote(problem.path)}"
        yield Finding("warning", what, remedy)
    if facts.keywords_only:
        what = f"searches use keywords only: the model is {facts.keywords_only}"
        remedy = "see [embedder] in: mcp-memory config show"
        if facts.substitute:
            remedy += f", or use a service: {offer(facts.substitute)}; then: mcp-memory restart"
        yield Finding("warning", what, remedy)
    shown, lines = facts.memory
    if shown < lines:
        yield Finding(
            "warning",
            f"MEMORY.md has {lines} lines, and a session start has room for the first {shown}: none sees the rest",
            "keep in it what every session must know, and move the rest into notes, which mcp-memory dream proposes; "
            "or raise start_budget_tokens under [recall]",
        )
    elif facts.over_budget:
        yield Finding("info", facts.over_budget, "mcp-memory dream, then tick in DREAMS.md what may go")
    for job, why in facts.failing_jobs.items():
        what = f"the background job {job} keeps failing: {why}"
        yield Finding("warning", what, f"see mcp-memory jobs log {job}; to try it now: mcp-memory jobs run {job}")
    counting = ((path, "counts as the newest of notes that") for path in facts.circles)
    for path, fate in (*counting, *((path, "is hidden with all notes that") for path in facts.hidden_circles)):
        yield Finding(
            "warning",
            f"{path} {fate} replaced one another in a circle",
            f"take status and superseded_by out of the head of the one that holds: mcp-memory edit {shlex.quote(path)}",
        )
