"""Runs under the fault shim: acts on a vault and its state folder, killed or failed at each call in turn, each time in
a forked child on a fresh copy.

Usage: faulty.py FOLDER ACT:STRIDE:ACTION,… …; at every STRIDEth call; prints a JSON object an act: what was tried, and
each broken promise.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import anyio

from mcp_memory.compaction.job_builder import JobBuilder, PlannedMove
from mcp_memory.compaction.topic_edits import VERBS, EditTopicRequest, TopicEditor
from mcp_memory.compaction.topic_index import MapEntry, render_map
from mcp_memory.core.core import Core, EngineConfig
from mcp_memory.curation.dreams.dream_files import DreamFiles
from mcp_memory.curation.dreams.dream_sources import DreamSources
from mcp_memory.curation.dreams.dreamer import Dreamer
from mcp_memory.errors import McpMemoryError
from mcp_memory.index.base import Watermark
from mcp_memory.index.sqlite.sqlite_index import SqliteIndex
from mcp_memory.indexing.writer import IndexWriter
from mcp_memory.models import Conflict, Filters, NoteRecord, NoteState, Outcome, Receipt
from mcp_memory.runs.execute_job import finish_jobs, run_job, undo_step
from mcp_memory.runs.journal import JobEntry, RunJournal, WriteStep
from mcp_memory.runs.link_rewriter import LinkRewriter
from mcp_memory.runtime.json_lines import JsonLines
from mcp_memory.summarizers.extractive import ExtractiveSummarizer
from mcp_memory.text.markdown import frontmatter, logs, sections
from mcp_memory.text.markdown.link_targets import redirected
from mcp_memory.text.markdown.links import find_links, resolve
from mcp_memory.topics.page import (
    MAP,
    PAGE,
    is_topic_name,
    render_related,
    summary_text,
    with_related_section,
    without_stale_flag,
)
from mcp_memory.topics.page_parts import parts_of
from mcp_memory.topics.topic_tree import build_tree
from mcp_memory.vault.draft import Draft, WriteResult
from mcp_memory.vault.journals.change_journal import acting
from mcp_memory.vault.journals.tombstones import Caller
from mcp_memory.vault.note_file import DREAMS, MEMORY
from mcp_memory.vault.vault import Vault
from tests.faults.driver import ACTIONS, shim
from tests.support.world import NOON, draft, vault_in

MAPPED = f"topics/{MAP}"
PROPOSALS = "memory/.dreams"
OLD, LOG = "notes/fact/tea-at-four.md", f"memory/{NOON.date()}.md"
GREEN_TEA = sections.entries("Green tea")[0].hash
MEMORIES = "# Memory\n\n## Tea\n\n- Green tea\n- Milk first\n"
TICKED, OPEN = "Oolong at five.", "Mate at noon."
ANSWERED, REFUSED = 0, 10


@dataclass(frozen=True)
class Act:
    """`prepare` may be None; `judge` says what is wrong after the next start, where `answered` tells whether it was."""

    prepare: Callable[[Vault], object] | None
    act: Callable[[Vault], object]
    judge: Callable[[Vault, bool], list[str]]


def judge_append(vault: Vault, answered: bool) -> list[str]:
    again = vault.append(draft("Tea at five"))
    faults = [] if not answered or again.outcome is Outcome.DUPLICATE else ["an answered append was lost"]
    return faults + only_one(vault, "Tea at five") + mine(vault, again)


def judge_supersede(vault: Vault, answered: bool) -> list[str]:
    again = vault.append(draft("Tea at five"), supersedes=OLD)
    faults = [] if not answered or again.outcome is Outcome.DUPLICATE else ["an answered append was lost"]
    if vault.read(OLD).record.state is not NoteState.ARCHIVED or b"Tea at four" not in vault.read(OLD).text.encode():
        faults.append("the old note is not what it should be")
    return faults + only_one(vault, "Tea at five") + mine(vault, again)


def judge_log(vault: Vault, answered: bool) -> list[str]:
    vault.append(draft("Tea was served", "log", session="s"))
    file = vault.read(LOG)
    found = [file.text[entry.start : entry.end] for entry in logs.entries(file.text, file.body_start)]
    wanted = [text for text in found if "Tea was served" in text]
    faults = [] if len(wanted) == 1 and len(found) == 2 else [f"{len(wanted)} of {len(found)} entries"]
    return faults + [f"{lost.id} is taken for lost" for lost in vault.shared.compare()]


def judge_forget(vault: Vault, answered: bool) -> list[str]:
    deleted = vault.read(OLD).record.state is NoteState.DELETED
    faults = ["an answered forget was lost"] if answered and not deleted else []
    vault.forget(OLD)
    return faults + came_back(vault)


def judge_restore(vault: Vault, answered: bool) -> list[str]:
    deleted = vault.read(OLD).record.state is NoteState.DELETED
    return (["an answered restore was lost"] if answered and deleted else []) + came_back(vault)


def remember(vault: Vault, content: str, **more: str) -> WriteResult:
    return vault.append(draft(content, path=MEMORY, section="Tea", **more))


def replace_entry(vault: Vault) -> WriteResult:
    return remember(vault, "Black tea", replaces=GREEN_TEA)


def judge_replace(vault: Vault, answered: bool) -> list[str]:
    text = vault.read(MEMORY).text
    faults = [] if text in (MEMORIES, MEMORIES.replace("Green", "Black")) else ["the file is neither old nor new"]
    again = replace_entry(vault)
    faults += ["an answered replacement was lost"] if answered and again.outcome is not Outcome.DUPLICATE else []
    faults += [] if vault.read(MEMORY).text == MEMORIES.replace("Green", "Black") else ["it was not replaced"]
    faults += [f"{lost.id} is taken for lost" for lost in vault.shared.compare()]
    vault.restore(MEMORY, GREEN_TEA)
    return faults + ([] if vault.read(MEMORY).text == MEMORIES else ["the old entry did not come back"])


def judge_edit(vault: Vault, answered: bool) -> list[str]:
    body = vault.read(OLD).body.strip()
    again = vault.editing.edit(OLD, None, "Tea at six", None)
    faults = [] if body in ("Tea at four", "Tea at six") else ["the note is neither old nor new"]
    faults += ["an answered edit was lost"] if answered and again.outcome is not Outcome.UNCHANGED else []
    return faults + only_one(vault, "\nTea at six\n") + mine(vault, again)


def tea_notes(vault: Vault) -> None:
    """Three that nobody links to, one that links to a fact, and the fact, which links to one of the three."""
    first, *_ = [vault.append(draft(f"Tea number {number} is green.", "note")).file.record.path for number in range(3)]
    fact = vault.append(draft(f"[Tea](../../{first}#cold) and [[{first.removesuffix('.md')}|it]] are [old](gone.md)."))
    vault.append(draft(f"Tea number 3 is [told](../../{fact.file.record.path}) of.", "note"))


def compact(vault: Vault) -> None:
    files = {path: vault.read(path) for path in TEA}
    leaves = [file.record for path, file in sorted(files.items()) if path.startswith("topics/_fresh/")]
    entry = JobBuilder(vault, NO_WORDS, ExtractiveSummarizer(), lambda: NOON).build_new_topic(
        "topics", [], PlannedMove(leaves)
    )
    entry, _ = LinkRewriter(vault, files.__contains__, lambda _: files).follow_moves(entry)
    run_job(vault, journal_of(vault), "run", entry, lambda _: None)


def judge_compact(vault: Vault, answered: bool) -> list[str]:
    """After any end each leaf is there once; after the next start all are filed, or none was touched."""
    faults: list[str] = []
    before = tea_of(vault)
    if without_targets(before) != without_targets(TEA):
        faults.append(f"{len(before)} leaves before the next start")
    finish_jobs(vault, journal_of(vault), lambda _: None)
    after = tea_of(vault)
    filed = [path for path in after if is_topic_name(path.split("/")[1])]
    if without_targets(after) != without_targets(TEA) or len(filed) not in ([4] if answered else [0, 4]):
        faults.append(f"{len(filed)} of {len(after)} leaves are filed")
    faults += dangling(vault)
    pages = [path for path in vault.list().files if path.endswith(PAGE)]
    if len(pages) != bool(filed):
        faults.append(f"{len(pages)} pages")
    for page in pages:
        file = vault.read(page)
        linked = {resolve(link.target, page) for link in find_links(file.body)}
        if linked != set(filed) or not vault.filing.is_as_we_wrote(file):
            faults.append("the page does not lead to the leaves")
    if finish_jobs(vault, journal_of(vault), lambda _: None):
        faults.append("there is still something to finish")
    return faults


def filed(vault: Vault) -> None:
    tea_notes(vault)
    TEA.update(tea_of(vault))
    compact(vault)


def tend(vault: Vault) -> None:
    """What follows at the end of a run and between two: the page gets a list of related topics, the map is drawn; then
    the page is marked as stale."""
    page = page_of_tea()
    file = vault.read(page)
    spot = MapEntry(file.record.id, file.record.title, page, 0, 4)
    text = render_map("01MAP", MAPPED, [spot], lambda _: summary_text(file.body), 500, NOON, NOON)
    related = with_related_section(file.text, render_related(page, [("Itself", page)]))
    steps = [
        WriteStep(page, related, file.text, parts_of(related)),
        WriteStep(MAPPED, text),
    ]
    run_job(vault, journal_of(vault), "tended", JobEntry("tended", steps), lambda _: None)
    vault.filing.write_page(page, frontmatter.patch(related, {"stale": True}).encode(), vault.read(page).record.etag)


def page_of_tea() -> str:
    (folder,) = {path.rpartition("/")[0] for path in TEA if is_topic_name(path.split("/")[1])}
    return f"{folder}/{PAGE}"


def judge_tend(vault: Vault, answered: bool) -> list[str]:
    """After the next start all is done or nothing is; the page is ours, marked or not; undone, it is as it was."""
    before = len(vault.list().files)
    finish_jobs(vault, journal_of(vault), lambda _: None)
    files = vault.list().files
    page = page_of_tea()
    text = vault.read(page).text
    done = [MAPPED in files, "Itself" in without_stale_flag(text)]
    faults = [] if len(set(done)) == 1 and (done[0] or not answered) else [f"done in part: {done}"]
    if answered and without_stale_flag(text) == text:
        faults.append("the mark was lost")
    if not vault.filing.is_as_we_wrote(vault.read(page)) or before not in {6, 7}:
        faults.append(f"the page is not ours, or one of {before} files is somebody's")
    if finish_jobs(vault, journal_of(vault), lambda _: None):
        faults.append("there is still something to finish")
    faults += dangling(vault)
    for entry in journal_of(vault).read_run("tended") if done[0] else ():
        for step in reversed(entry.steps):
            undo_step(step, vault, lambda _: False)
    if "Itself" in vault.read(page).text or MAPPED in vault.list().files or len(vault.list().files) != 6:
        faults.append("it could not be taken back")
    return faults


def two_topics(vault: Vault) -> None:
    """Those of `filed`, with a line of a person's on the page, and one of rail notes; a fact links to both pages."""
    filed(vault)
    notes = [vault.append(draft(f"The night train {number} is late.", "note")).file.record for number in range(2)]
    builder = JobBuilder(vault, NO_WORDS, ExtractiveSummarizer(), lambda: NOON)
    entry = builder.build_new_topic("topics", ["01-tea"], PlannedMove(notes), "Rail")
    run_job(vault, journal_of(vault), "rail", entry, lambda _: None)
    pages = sorted(path for path in vault.list().files if path.endswith(PAGE))
    tea = vault.roots()[""] / pages[0]
    tea.write_text(tea.read_text().replace("## Children", "Mine.\n\n## Children"))
    vault.append(draft(" ".join(f"[Page](../../{page}) of a topic." for page in pages)))


def topic_edit(verb: str) -> Callable[[Vault], None]:
    def act(vault: Vault) -> None:
        files = [vault.read(path) for path in vault.list().files]
        standing = {file.record.path for file in files}
        filing = vault.filing
        tree = build_tree([file.record for file in files], "topics", filing.made_by_us, filing.page_state)
        tea, rail = (topic.folder for topic in tree)
        builder = JobBuilder(vault, NO_WORDS, ExtractiveSummarizer(), lambda: NOON)
        editor = TopicEditor(vault, builder, LinkRewriter(vault, standing.__contains__, lambda _: standing), "topics")
        edit = EditTopicRequest(verb, tea, name="3 told" if verb == "split" else "Kettle", into=rail)
        run_job(vault, journal_of(vault), "edit", editor.build(edit, tree)[0], lambda _: None)

    return act


def judge_edit_of_topic(vault: Vault, answered: bool) -> list[str]:
    """After any end each note is there once; after the next start all or nothing is done; undone, it is as it was."""
    faults: list[str] = []
    if without_targets(tea_of(vault)) != without_targets(TEA):
        faults.append(f"{len(tea_of(vault))} notes before the next start")
    finish_jobs(vault, journal_of(vault), lambda _: None)
    after, journal = all_of(vault), journal_of(vault)
    entries = journal.read_run("edit") if "edit" in journal.list_runs() else []
    done = [entry for entry in entries if entry.outcome == "done"]
    if without_targets(tea_of(vault)) != without_targets(TEA) or (answered and not done):
        faults.append("a note was lost, doubled or changed, or an answered edit isn't done")
    if (after != WHOLE) != bool(done):
        faults.append(f"done in part: {sorted(after.keys() ^ WHOLE.keys())}")
    if not any("Mine." in text for text in after.values()):
        faults.append("a person's line is gone")
    faults += dangling(vault)
    if finish_jobs(vault, journal, lambda _: None):
        faults.append("there is still something to finish")
    for entry in done:
        for step in reversed(entry.steps):
            undo_step(step, vault, lambda _: False)
    if all_of(vault) != WHOLE:
        faults.append("it could not be taken back")
    return faults


def dreamer(vault: Vault) -> Dreamer:
    async def append(wanted: Draft) -> Receipt:
        with acting(Caller(wanted.source)):
            written = vault.append(wanted)
        receipt = SimpleNamespace(id=f"{MEMORY}#{written.entry}", path=MEMORY, outcome=written.outcome)
        return cast(Receipt, receipt)

    async def forget(*_: object, **__: object) -> None:
        raise AssertionError("nothing is moved out of MEMORY.md here")

    async def at_once(*_: object) -> None: ...

    writer = cast(IndexWriter, SimpleNamespace(reindex_later=lambda _: None))
    files = DreamFiles(vault, writer, JsonLines(vault.roots()[""].parent / "dreams.jsonl"))
    place = vault.roots()[""].parent
    core = SimpleNamespace(
        vault=vault,
        index=NO_WORDS,
        recall=SimpleNamespace(
            uses=SimpleNamespace(read=dict),
            answerer=SimpleNamespace(current=SimpleNamespace(conflicts=None)),
        ),
        search=SimpleNamespace(
            model=SimpleNamespace(at_hand=None, settled=SimpleNamespace(wait=at_once), wait_loaded=at_once)
        ),
        config=EngineConfig(vault.roots()[""], place, place),
        clock=lambda: NOON,
    )
    sources = DreamSources(cast(Core, core))
    return Dreamer(cast(Core, core), files, sources, append, forget)


def ticked(vault: Vault) -> None:
    """One proposal is ticked and one waits; a person has written on both pages."""
    root = vault.roots()[""]
    (root / MEMORY).write_text(MEMORIES)
    (root / DREAMS).write_text(
        f"# Dreams\n\n## Tea\n\n- [x] {TICKED} ^dream-0123abcd\n- [ ] {OPEN} ^dream-89abcdef\n\nMine.\n"
    )
    for name, text in (("0123abcd", TICKED), ("89abcdef", OPEN)):
        facts = {"id": name, "text": text, "kind": "decision", "status": "proposed", "score": 0.7}
        facts |= {"days": ["2026-11-20"], "sources": ["memory/2026-11-20.md"]}
        (root / PROPOSALS).mkdir(parents=True, exist_ok=True)
        (root / PROPOSALS / f"{name}.json").write_text(json.dumps(facts))


def judge_dream(vault: Vault, answered: bool) -> list[str]:
    """After any end the next run has done what was ticked, once, and every other line is as it was."""
    root = vault.roots()[""]
    faults: list[str] = []
    anyio.run(dreamer(vault).run)
    memory, page = (root / MEMORY).read_text(), (root / DREAMS).read_text()
    kept = "".join(line for line in memory.splitlines(keepends=True) if TICKED not in line)
    if memory.count(TICKED) != 1 or kept != MEMORIES:
        faults.append(f"MEMORY.md has what was ticked {memory.count(TICKED)} times, or another line is not as it was")
    if TICKED in page or f"- [ ] {OPEN} ^dream-89abcdef\n" not in page or "\nMine.\n" not in page:
        faults.append("DREAMS.md is not what it should be")
    status = json.loads((root / PROPOSALS / "0123abcd.json").read_text())["status"]
    return faults + ([] if status == "promoted" else [f"the proposal is still {status}"])


def all_of(vault: Vault) -> dict[str, str]:
    return {path: vault.read(path).text for path in vault.list().files}


def without_targets(files: dict[str, str]) -> list[str]:
    """The texts, with their links leading nowhere."""
    return sorted(
        redirected(text, [(link.target_start, link.target, "") for link in find_links(text)]) for text in files.values()
    )


def dangling(vault: Vault) -> list[str]:
    files = vault.list().files
    return [
        f"{path} links to {link.target}"
        for path in files
        for link in find_links(vault.read(path).body)
        if link.target != "gone.md"
        and (f"{link.target}.md" if link.kind == "wiki" else resolve(link.target, path)) not in files
    ]


def tea_of(vault: Vault) -> dict[str, str]:
    files = {path: vault.read(path) for path in vault.list().files}
    return {path: file.text for path, file in files.items() if file.record.state is not NoteState.SUMMARY}


def journal_of(vault: Vault) -> RunJournal:
    return RunJournal(vault.roots()[""].parent / "compaction")


class NoWords(SqliteIndex):
    """An index that was never opened: the job is drafted without it."""

    def __init__(self) -> None: ...

    def watermark(self) -> Watermark:
        return Watermark(0, 0, 1, 0)

    def frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        return dict.fromkeys(terms, 0)

    def conflicts(self) -> list[Conflict]:
        return []

    def notes(self, filters: Filters, limit: int = 1000) -> list[NoteRecord]:
        return []


NO_WORDS = NoWords()


def came_back(vault: Vault) -> list[str]:
    vault.restore(OLD)
    return [] if vault.read(OLD).text == ORIGINAL else ["the bytes did not come back"]


def only_one(vault: Vault, content: str) -> list[str]:
    files = [vault.read(path) for path in vault.list().files]
    count = sum(content in file.text and file.record.state is NoteState.ACTIVE for file in files)
    return [] if count == 1 else [f"there {count} times"]


def mine(vault: Vault, stored: WriteResult) -> list[str]:
    try:
        vault.restore(vault.forget(stored.file.record.path).record.path)
    except McpMemoryError as error:
        return [f"not ours: {error}"]
    return []


ORIGINAL = ""
TEA: dict[str, str] = {}
WHOLE: dict[str, str] = {}
ACTS = {
    "dream": Act(ticked, lambda vault: anyio.run(dreamer(vault).run), judge_dream),
    "compact": Act(tea_notes, compact, judge_compact),
    "tend": Act(filed, tend, judge_tend),
    **{f"topic-{verb}": Act(two_topics, topic_edit(verb), judge_edit_of_topic) for verb in VERBS},
    "append": Act(None, lambda vault: vault.append(draft("Tea at five")), judge_append),
    "supersede": Act(
        lambda vault: vault.append(draft("Tea at four")),
        lambda vault: vault.append(draft("Tea at five"), supersedes=OLD),
        judge_supersede,
    ),
    "replace": Act(
        lambda vault: (remember(vault, "Green tea"), remember(vault, "Milk first")), replace_entry, judge_replace
    ),
    "edit": Act(
        lambda vault: vault.append(draft("Tea at four")),
        lambda vault: vault.editing.edit(OLD, None, "Tea at six", None),
        judge_edit,
    ),
    "log": Act(
        lambda vault: vault.append(draft("Earlier", "log")),
        lambda vault: vault.append(draft("Tea was served", "log", session="s")),
        judge_log,
    ),
    "forget": Act(lambda vault: vault.append(draft("Tea at four")), lambda vault: vault.forget(OLD), judge_forget),
    "restore": Act(
        lambda vault: (vault.append(draft("Tea at four")), vault.forget(OLD)), lambda v: v.restore(OLD), judge_restore
    ),
}


def main(name: str, folder: Path, stride: int, actions: list[str]) -> None:
    global ORIGINAL  # noqa: PLW0603 -- known only when the scene is set
    act, scene = ACTS[name], folder / "scene"
    TEA.clear()  # of the act before
    vault = vault_in(scene)
    if act.prepare:
        act.prepare(vault)
        if (scene / "vault" / OLD).exists():
            vault.restore(OLD)
            ORIGINAL = vault.read(OLD).text
            if name == "restore":
                vault.forget(OLD)
    TEA.clear()
    TEA.update(tea_of(vault))
    WHOLE.clear()
    WHOLE.update(all_of(vault))
    calls = attempt(act, scene, folder / "case", 0, "kill-before")[1]
    broken: list[dict[str, object]] = []
    outcomes = Counter[str]()
    for action in actions:
        for number in range(1, calls + 1, stride):
            outcome, hit = attempt(act, scene, folder / "case", number, action)
            try:
                faults = act.judge(vault_in(folder / "case"), outcome == "answered")
            except McpMemoryError as error:
                faults = [f"the next start fails: {error}"]
            if outcome == "crashed":
                faults.append("an error that is not of the tree")
            outcomes[outcome] += 1
            if faults:
                broken.append({"call": number, "hit": hit, "action": action, "outcome": outcome, "faults": faults})
    print(json.dumps({"act": name, "calls": calls, "broken": broken, "outcomes": outcomes}), flush=True)


def attempt(act: Act, scene: Path, case: Path, number: int, action: str) -> tuple[str, str | int]:
    """The outcome and what was hit; for number 0 how many calls there are."""
    shutil.rmtree(case, ignore_errors=True)
    shutil.copytree(scene, case)
    vault = vault_in(case)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        shim.shim_arm(os.fsencode(case), number, *(ACTIONS[action] if number else (0, 0)))
        code = ANSWERED
        try:
            act.act(vault)
        except McpMemoryError:
            code = REFUSED
        except BaseException:
            code = 1
        os.write(writer, str(shim.shim_count()).encode() if not number else shim.shim_name())
        os._exit(code)
    os.close(writer)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reader) as said:
        hit = said.read()
    if os.WIFSIGNALED(status):
        return "killed", hit
    outcome = {ANSWERED: "answered", REFUSED: "refused"}.get(os.WEXITSTATUS(status), "crashed")
    return outcome, hit if number else int(hit)


if __name__ == "__main__":
    for order in sys.argv[2:]:
        wanted, every, ways = order.split(":")
        main(wanted, Path(sys.argv[1]).resolve() / wanted, int(every), ways.split(","))
