"""Writes a page of claims for each project, person, service and tool, a dashboard, and INDEX.md, which lists the pages;
and keeps the index in MEMORY.md up to date. It does so when you ask for it, and in the background.

The same claims give the same bytes, and a run without changes writes nothing. INDEX.md quotes no note.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from mcp_memory.core.core import Core
from mcp_memory.core.serializers import Payload
from mcp_memory.curation.claims.claim import Claim, Evidence, Subject
from mcp_memory.curation.claims.claim_base import ClaimBase, ClaimProblem, list_problems
from mcp_memory.curation.dreams.dream_files import DreamFiles
from mcp_memory.curation.memory_index import memory_index, with_memory_index
from mcp_memory.jobs.job import AfterQuiet, Job, JobReport, JobTurn
from mcp_memory.models import Filters, NoteId, NotePath, NoteRecord, NoteState, etag_of
from mcp_memory.recall.note_list import date_of
from mcp_memory.runtime.threads import in_thread
from mcp_memory.text.language.sentences import capitalized
from mcp_memory.text.markdown import frontmatter
from mcp_memory.text.markdown.inline_text import escaped, is_harmless
from mcp_memory.text.markdown.link_targets import unlinked
from mcp_memory.text.pluralize import counted
from mcp_memory.topics.page import CONTENTS, ENTITIES, link, page_id
from mcp_memory.vault.note_file import MEMORY, NoteFile, slug

MOST_CLAIMS, MOST_OF_LOGS, MOST_CONTENTS_BYTES, MOST_PAGES = 100, 20, 2000, 5000
"""The most claims of a page, the most of these from logs, the size of INDEX.md, and the number of known pages read."""

PAGES_S = 3600.0
"""Seconds between two checks without a change: what expires changes no file."""
QUIET_S, SOON_S = 15.0, 60.0
"""The seconds after a change or a start until the pages are checked."""

DASHBOARD = f"{ENTITIES}/_dashboard.md"

_SYSTEM = {"agent", "workflow", "skill", "reference", "fix", "lesson"}


@dataclass(frozen=True)
class OrganizeRequest:
    """With `dry_run`, only which pages are out of date; `memory`: an index in MEMORY.md, too."""

    dry_run: bool = False
    memory: bool = False


class Organizer:
    """Writes the pages."""

    def __init__(self, core: Core, base: ClaimBase, files: DreamFiles) -> None:
        self._core = core
        self._vault = core.vault
        self._index = core.index
        self._base = base
        self._files = files
        self._due = AfterQuiet(quiet_s=QUIET_S, longest_wait_s=300, concerns=_are_notes)
        self._due.look_again(SOON_S)

    def job(self) -> Job:
        return Job("pages", "Brings the pages of claims up to date", self._due, self._run)

    async def organize(self, request: OrganizeRequest) -> Payload:
        """Write the pages that are out of date, or list them; with `memory`, also add an index to MEMORY.md, if it has
        none yet."""
        stale, written = await self._refresh(dry_run=request.dry_run, memory=request.memory)
        return {"pages": stale if request.dry_run else written}

    async def _run(self, _: JobTurn) -> JobReport | None:
        self._due.look_again(PAGES_S)
        _stale, written = await self._refresh(again=True)
        return JobReport(f"{counted(len(written), 'page')} written", written) if written else None

    async def _refresh(
        self, *, dry_run: bool = False, again: bool = False, memory: bool = False
    ) -> tuple[list[NotePath], list[NotePath]]:
        """Return the pages that are out of date, and those that were written."""
        write = partial(self._write, dry_run=dry_run, again=again)
        stale, pages = await in_thread(write, deadline_s=300, what="writing pages")
        for page in pages:
            await self._core.indexing.writer.index_note(page)
        written = [page.record.path for page in pages]
        refresh = partial(self._refresh_memory_index, anew=memory)
        if not dry_run and await in_thread(refresh, deadline_s=60, what="writing the index in MEMORY.md"):
            written.append(MEMORY)
        return stale, written

    # -- in threads --------------------------------------------------------------------------------------------

    def _refresh_memory_index(self, *, anew: bool) -> bool:
        """Return whether the index in MEMORY.md was written. Raises Refused for a lone mark, StorageFailed."""
        core, layout, text = self._core, self._vault.layout, self._files.text_of(MEMORY) or ""
        today = core.clock().astimezone(layout.tz).date()
        shown = Filters(private=core.config.recall.private_marks, now=core.clock(), foreign=False)
        lines = memory_index(self._index, core.recall.uses.read(), shown, layout, today)
        edited = partial(with_memory_index, lines=lines, anew=anew)
        is_new = edited(text) != text
        if is_new:
            self._files.edit(MEMORY, edited)
        return is_new

    def _write(self, *, dry_run: bool, again: bool) -> tuple[list[NotePath], list[NoteFile]]:
        """Return the paths of outdated pages, and the files written. With `again`, do nothing unless an earlier run
        wrote INDEX.md. Raises StorageFailed, IndexUnavailable."""
        in_home = self._vault.layout.in_home
        known = {note.path: note for note in self._index.notes(_PAGES, limit=MOST_PAGES)}
        if again and in_home(CONTENTS) not in known:
            return [], []
        listed = self._base.subjects(Filters())
        subjects = {in_home(f"{ENTITIES}/{one.folder}/{slug(one.name)}.md"): one for one in listed}
        made = {path: _page(path, one) for path, one in subjects.items()}
        entities = f"{in_home(ENTITIES)}/"
        for path, note in known.items():
            if path.startswith(entities) and path not in made:
                made[path] = _render(path, note.title, (), ["Nothing that is stored holds now."])
        made[in_home(CONTENTS)] = _contents(in_home(CONTENTS), self._base.claims(Filters()), sorted(subjects.items()))
        path = in_home(DASHBOARD)
        made[path] = _dashboard(path, list_problems(self._vault, self._index, self._base, made))
        stale = [path for path, data in made.items() if path not in known or known[path].etag != etag_of(data)]
        written = [] if dry_run else [self._vault.filing.refresh_page(path, made[path]) for path in stale]
        return stale, [page for page in written if page]


def _are_notes(paths: Collection[NotePath]) -> bool:
    """Return whether not all of these are our own pages."""
    return not all(f"{ENTITIES}/" in f"/{path}" or path.endswith(CONTENTS) for path in paths)


_PAGES = Filters(states=frozenset({NoteState.SUMMARY}))


def class_of(fact: NoteRecord) -> str:
    """Return the class: personal, project, task or system."""
    if fact.kind in {"task", "commitment"}:
        return "task"
    return "project" if fact.project else "system" if fact.kind in _SYSTEM else "personal"


def _page(path: NotePath, subject: Subject) -> bytes:
    """Render a page of claims by kind, logs last. If several projects use the name, the claims are ordered by
    project."""
    holding = [one for one in subject.claims if one.holds]
    disputed = [one for one in subject.claims if one.refuted_by]
    by_kind = subject.folder == "projects"
    sections: dict[tuple[bool, str], list[Claim]] = {}
    for one in holding:
        note = one.latest.note
        key = (note.is_log, note.kind.capitalize()) if by_kind else (one.project is None, one.project or "Everywhere")
        sections.setdefault(key, []).append(one)
    lines = [f"Claims that hold: {len(holding)}; disputed: {len(disputed)}."] if subject.claims else []
    shown = list[Claim]()
    for (is_log, name), about in sorted(sections.items()):
        few = about[: MOST_OF_LOGS if is_log and by_kind else MOST_CLAIMS][: MOST_CLAIMS - len(shown)]
        more = f" (the latest {len(few)} of {len(about)})" if len(few) < len(about) else ""
        lines += ["", f"## {name}{more}", "", *_by_note(path, few)]
        shown += few
    if disputed := disputed[: MOST_CLAIMS // 2]:
        lines += ["", "## Disputed", "", *_by_note(path, disputed)]
    sources = [one for claim in [*shown, *disputed] for one in (*claim.evidence, *claim.contradicts)]
    return _render(path, subject.name, list(dict.fromkeys(one.note.id for one in sources)), lines)


def _by_note(path: NotePath, claims: Sequence[Claim]) -> Iterator[str]:
    """Yield the claims of each note below a link to the note, without its title."""
    notes = defaultdict[NoteId, list[Claim]](list)
    for one in claims:
        notes[one.latest.note.id].append(one)
    for some in notes.values():
        note = some[0].latest.note
        if len(some) == 1:
            yield from _claim(path, some[0], some[0].text, link(path, _where(some[0].latest), note.path))
            continue
        yield f"- {link(path, note.title, note.path)}"
        for one in some:
            said = capitalized(one.text.removeprefix(f"{note.title}: "))
            yield from (f"  {line}" for line in _claim(path, one, said, _where(one.latest)))


def _claim(path: NotePath, claim: Claim, said: str, where: str) -> Iterator[str]:
    yield f"- {_quoted(path, said)} ({claim.in_short}; {where})"
    for one in claim.evidence[1:]:
        yield f"  - also {link(path, one.note.title, one.note.path)} ({date_of(one.note).date()}; {_where(one)})"
    for one in (*claim.contradicts, *([claim.refuted_by] if claim.refuted_by else ())):
        yield f"  - against it: {link(path, one.text, one.note.path)} ({date_of(one.note).date()}; {_where(one)})"


def _quoted(path: NotePath, text: str) -> str:
    """Return a sentence without its links, which would break here. A sentence that could hide the rest of the page or
    load something becomes plain text."""
    return unlinked(text, path) if is_harmless(text) else escaped(text)


def _where(one: Evidence) -> str:
    session = f", session {one.note.session[:8]}" if one.note.session else ""
    return f"line {one.line}{session}"


def _contents(path: NotePath, claims: Sequence[Claim], subjects: Sequence[tuple[NotePath, Subject]]) -> bytes:
    counts = Counter(class_of(one.latest.note) for one in claims if one.holds)
    lines = [", ".join(f"{name}: {count}" for name, count in sorted(counts.items())), ""]
    for page, subject in subjects:
        line = f"- {link(path, subject.name, page)} ({subject.folder}, {sum(one.holds for one in subject.claims)})"
        lines += [line] if len("\n".join([*lines, line]).encode()) < MOST_CONTENTS_BYTES - 200 else []
    return _render(path, "What memory holds", (), lines)


_TITLES: Mapping[str, str] = {
    "conflict": "Open conflicts", "orphan": "Claims that lost their evidence", "stale": "Pages that are not kept up",
    "unsure": "Uncertain claims",
}  # fmt: skip


def _dashboard(path: NotePath, problems: Sequence[ClaimProblem]) -> bytes:
    lines = [] if problems else ["Nothing needs a decision."]
    for kind, title in _TITLES.items():
        found = [one for one in problems if one.kind == kind]
        listed = (
            f"- {_quoted(path, one.text)} ({link(path, one.path.rpartition('/')[2], one.path)}): {one.why} → "
            f"`{one.remedy}`"
            for one in found
        )
        lines += ["", f"## {title} ({len(found)})", "", *listed] if found else []
    return _render(path, "What needs a decision", list(dict.fromkeys(n for one in problems for n in one.notes)), lines)


def _render(path: NotePath, title: str, sources: Sequence[NoteId], lines: Sequence[str]) -> bytes:
    meta = {
        "id": page_id(path),
        "title": title,
        "kind": "page",
        "derived_from": list(sources) or None,
        "node_kind": "entity",
    }
    return frontmatter.render(meta, "\n".join(lines).strip()).encode(errors="replace")
