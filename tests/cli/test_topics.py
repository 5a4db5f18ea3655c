"""The topic tree from the command line: notes are filed, drawn, shown, and put back as they were."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_memory.client.connection import Address, DaemonConnection
from mcp_memory.errors import NotFound
from mcp_memory.text.markdown import frontmatter
from tests.daemon.place import Place, Running, eventually
from tests.daemon.wire import Wire
from tests.support.constants import with_constants
from tests.support.hostile_text import EVIL, SIGNS
from tests.support.mounts import mount, permit, unmounted_at_last
from tests.support.topics import BREAD, SETTINGS

SOON = {
    "MCP_MEMORY_TOPICS_AUTOMATIC": "true",
    **with_constants(topics_quiet_s=0.5, topics_longest_wait_s=2.0),
}

STARS = [
    "The telescope shows four moons of Jupiter.",
    "Jupiter is best seen with the telescope at midnight.",
    "Clean the telescope mirror before watching the moons of Jupiter.",
]
CAT = "The cat is called Minka."


@pytest.fixture
def stocked(tmp_path: Path, model_cache: Path) -> Iterator[Place]:
    """A daemon with the real model, and notes about two subjects and a cat."""
    place = Place(tmp_path, model_cache, SETTINGS).make()
    with place.started() as running:
        with Wire(running, client="tests") as wire:
            for text in [*BREAD, *STARS, CAT]:
                assert wire.api("append", {"content": text}).status == 200
        yield place


def files(place: Place) -> dict[str, bytes]:
    return {
        file.relative_to(place.vault).as_posix(): file.read_bytes()
        for file in place.vault.rglob("*")
        if file.is_file() and not file.relative_to(place.vault).as_posix().startswith(".mcp-memory")
    }


def folders(place: Place) -> set[str]:
    return {file.relative_to(place.vault).as_posix() for file in place.vault.rglob("*") if file.is_dir()}


def test_filed_drawn_shown_and_put_back(stocked: Place):
    before, places = files(stocked), folders(stocked)
    assert stocked.run("topics").ok().out.splitlines()[0] == "not filed yet: 7 notes"

    planned = stocked.run("topics", "compact", "--dry-run").ok().out
    assert planned.count("a new topic: 3 notes") == 2
    assert planned.count("  topics/_fresh/") == 6
    assert "1 fresh note waiting" in planned
    dry = stocked.run("topics", "compact", "--dry-run", "--json").ok().json
    assert [(job["topic"], len(job["notes"])) for job in dry["plan"]] == [(None, 3)] * 2
    assert {note["path"] for job in dry["plan"] for note in job["notes"]} <= before.keys()
    assert (files(stocked), folders(stocked)) == (before, places), "nothing was changed"

    told = stocked.run("topics", "compact").ok().out
    after = files(stocked)
    pages = {path for path in after if path.endswith("_summary.md")} | {"topics/_index.md"}
    assert len(pages) == 3
    assert before.keys() - after.keys() == {note["path"] for job in dry["plan"] for note in job["notes"]}
    assert sorted(after[path] for path in after.keys() - pages) == sorted(before.values()), "moved, never edited"
    assert told.count(": 3 notes under") == 2
    assert "1 fresh note waiting: a topic begins with 3 notes that share a subject" in told
    (run,) = {change["run"] for change in stocked.run("changes", "--json").ok().json["changes"]} - {None}
    assert f"→ mcp-memory undo {run}" in told
    assert len(re.findall(r"\(shows [1-9]\d* of \d+ facts\)", stocked.run("topics", "--dropped").ok().out)) == 2
    assert stocked.run("topics", "compact").ok().out.splitlines()[0] == "nothing to do"
    assert files(stocked) == after

    drawn = stocked.run("topics").ok().out
    assert "\x1b" not in drawn
    for text in [*BREAD, *STARS]:
        assert f"─ {text}  (" in drawn
    assert drawn.count("(3 notes, 2") == 2
    assert "stale" not in drawn
    tree = stocked.run("topics", "--json").ok().json
    assert (tree["notes"], tree["waiting"], [note["title"] for note in tree["fresh"]]) == (6, 1, [CAT])
    top = stocked.run("topics", "--depth", "1", "--json").ok().json
    assert [(topic["notes"], topic["leaves"]) for topic in top["topics"]] == [(3, [])] * 2
    assert stocked.run("topics", "--depth", "1").ok().out.count("\n") == 3
    bread = next(topic for topic in tree["topics"] if any(BREAD[0] == note["title"] for note in topic["leaves"]))

    page = stocked.run("show", bread["path"], "--json").ok().json
    assert (page["path"], page["id"], page["in"]) == (bread["page"], bread["id"], [])
    assert page["text"].encode() == after[bread["page"]]
    assert {child["title"] for child in page["children"]} == set(BREAD)
    assert stocked.run("show", bread["title"].lower(), "--json").ok().json == page
    only = stocked.run("topics", bread["title"].lower()).ok().out
    assert all(f"─ {text}  (" in only for text in BREAD) and STARS[0] not in only and "not filed yet" not in only
    assert stocked.run("topics", "--depth", "1", bread["path"]).ok().out.count("\n") == 1
    assert "no topic 'bakery'" in stocked.run("topics", "bakery").err
    shown = stocked.run("show", bread["page"]).ok().out
    assert after[bread["page"]].decode().rstrip() in shown
    leaf = next(note for note in bread["leaves"] if note["title"] == BREAD[0])
    assert f"  {leaf['path']}  {BREAD[0]}" in shown
    shown = stocked.run("show", leaf["id"]).ok().out
    assert after[leaf["path"]].decode().rstrip() in shown
    assert f"topic  {bread['title']}" in shown
    note = stocked.run("show", leaf["path"], "--json").ok().json
    assert note["in"] == [{"path": bread["path"], "title": bread["title"]}]
    assert (note["kind"], note["children"], note["text"].encode()) == ("note", [], after[leaf["path"]])

    with Wire(Running(stocked, Address.read(stocked.state.daemon)), client="tests") as wire:
        (told,) = wire.rpc("resources/read", {"uri": "memory://tree"}).json["result"]["contents"]
        for name in (bread["path"], bread["path"].rpartition("/")[2], bread["id"], bread["page"]):
            (alone,) = wire.rpc("resources/read", {"uri": f"memory://tree/{name}"}).json["result"]["contents"]
            assert f"# {bread['title']}\n" in alone["text"] and f"· [page](<{bread['page']}>)" in alone["text"]
            assert all(f"- [{text}](<" in alone["text"] for text in BREAD) and STARS[0] not in alone["text"]
        missing = wire.rpc("resources/read", {"uri": "memory://tree/99-none"}).json["error"]["message"]
        assert "no topic '99-none'" in missing
    topics, _, others = told["text"].partition("# Other notes")
    assert f"- [{bread['title']}](<{bread['page']}>) · 3 notes" in topics
    assert f"\n  - [{BREAD[0]}](<{leaf['path']}>) · note · `{leaf['id']}`" in topics
    assert CAT in others
    assert [text for text in [*BREAD, *STARS] if told["text"].count(f"[{text}]") != 1] == []

    preview = stocked.run("undo", run)
    assert preview.code == 5 and "will be undone with its whole run" in preview.out
    undone = stocked.run("undo", run, "--yes").ok().out
    assert "read by other users" not in stocked.run("doctor").out, "what we made ourselves has the right mode"
    assert undone.count("undone: ") == 3 and undone.endswith("1 change undone\n")
    assert (files(stocked), folders(stocked)) == (before, places)
    assert f"moved       6 notes  you  undoes {run}" in stocked.run("changes").ok().out
    assert stocked.run("undo", run, "--yes", "--json").ok().json["steps"] == []
    assert stocked.run("recall", "--id", leaf["id"]).ok().out.count(BREAD[0]) >= 1


def test_a_daemon_files_by_itself(tmp_path: Path, model_cache: Path):
    place = Place(tmp_path, model_cache, SETTINGS | SOON).make()
    with place.started():
        for text in BREAD:
            place.run("append", text).ok()
        last = eventually(lambda: place.run("status", "--json").ok().json["compaction"]["last"], within_s=30)
        run = last["run"]
        assert last["about"] == "3 notes filed, 1 page written"
        (row,) = [line for line in place.run("status").ok().out.splitlines() if line.startswith("  topics")]
        assert f"last run {run}: 3 notes filed, 1 page written" in row
        assert "on its own until you run" in place.run("undo", run, "--yes").ok().err
        place.run("topics", "compact").ok()
        assert "nothing to do" in place.run("topics", "compact", "--dry-run").ok().out


def test_without_a_daemon_and_topics_within_a_topic(stocked: Place):
    stocked.run("stop").ok()
    before = files(stocked), folders(stocked)
    near = {**with_constants(topics_topic_cosine=0.0), "MCP_MEMORY_TOPICS_CONDENSED_MIN_FANOUT": "2"}
    planned = stocked.run("topics", "compact", "--dry-run", "--json", **near).ok().json["plan"]
    assert (files(stocked), folders(stocked)) == before
    report = stocked.run("topics", "compact", "--json", **near).ok().json
    assert (len(report["done"]), report["left"], report["waiting"]) == (3, [], 1)
    (top,) = stocked.run("topics", "--json").ok().json["topics"]
    assert len(planned) == 2
    assert sum(len(topic["leaves"]) for topic in top["topics"]) == 6
    drawn = stocked.run("topics").ok().out
    assert [text for text in [*BREAD, *STARS] if f"─ {text}  (" not in drawn] == []
    assert f"─ {CAT}  (" in drawn
    below = top["topics"][0]
    note = stocked.run("show", below["leaves"][0]["id"], "--json").ok().json
    assert [topic["path"] for topic in note["in"]] == [top["path"], below["path"]]
    (step,) = stocked.run("undo", report["run"], "--yes", "--json").ok().json["steps"]
    assert len(step["report"]["done"]) == 4
    assert (files(stocked), folders(stocked)) == before


def test_a_new_note_joins_and_its_topic_is_told_anew(stocked: Place):
    stocked.run("topics", "compact").ok()
    (stocked.vault / "topics" / "mine").mkdir()
    (stocked.vault / "topics" / "mine" / "oven.md").write_text("# The oven\n\nIt is hot.\n")
    stocked.run("append", "Bake the sourdough bread with steam, at 230 degrees.").ok()
    before = files(stocked)
    planned = stocked.run("topics", "compact", "--dry-run").ok().out
    assert ": 1 note\n  topics/_fresh/" in planned
    assert "Jupiter" not in planned, "only what would change is listed"
    assert files(stocked) == before
    told = stocked.run("topics", "compact").ok().out
    assert "1 note more" in told
    assert "page rewritten" in told
    drawn = stocked.run("topics").ok().out
    assert "mine  (1 note, made by you)" in drawn
    assert "(4 notes, " in drawn
    page = next(path for path, text in files(stocked).items() if path.endswith("_summary.md") and b"steam" in text)
    topic = stocked.vault / page
    notes = (file for file in topic.parent.glob("*.md") if not file.name.startswith("_"))
    child = next(file for file in notes if b"starter" in file.read_bytes())
    stocked.run("forget", child.relative_to(stocked.vault).as_posix()).ok()
    assert "stale" in stocked.run("topics").ok().out
    stocked.run("topics", "compact").ok()
    assert "stale" not in stocked.run("topics").ok().out
    assert stocked.run("show", child.relative_to(stocked.vault).as_posix()).code == 4, "forgotten is in no answer"
    assert len(frontmatter.parse(topic.read_text()).meta["derived_from"]) == 3


def test_errors_say_what_to_do(served: Place):
    """This place knows keywords only."""
    for run in ("20200101T000000", "../../x", ""):
        unknown = served.run("undo", run, "--yes")
        assert (unknown.code, unknown.out) == (4, "")
        assert "no change" in unknown.err and "→ mcp-memory changes lists them" in unknown.err
        assert served.run("undo", run, "--yes", "--json").json["code"] == "not_found"
    with pytest.raises(NotFound, match="no change"):
        DaemonConnection(Address.read(served.state.daemon), served.credentials).call("undo", {"target": "a\0b"})
    assert served.run("topics", "--depth", "0").code == 2
    for target in ("01ARZ3NDEKTSV4RRFFQ69G5FAV", "notes/none.md", "topics/none", "../../etc/passwd"):
        assert served.run("show", target).code in {2, 4}
    waiting = served.run("topics", "compact").ok()
    assert waiting.out.startswith("nothing to do")
    assert "a note without a vector waits" in waiting.err
    assert "vector" in served.run("topics", "compact", "--json").ok().json["note"]


def test_a_vault_that_cannot_be_written_is_left_alone(stocked: Place):
    before = files(stocked)
    with unmounted_at_last(stocked.vault):
        if os.geteuid() == 0:
            mount("--bind", stocked.vault, stocked.vault)
        permit(stocked.vault, writing=False)
        refused = stocked.run("topics", "compact")
        assert refused.code == 1
        assert "the vault is read-only" in refused.err
        assert "→ compaction moves notes: let this user write there" in refused.err
        assert stocked.run("topics", "compact", "--dry-run").ok().out.count("a new topic: ") == 2, "looking is allowed"
        assert files(stocked) == before
        permit(stocked.vault, writing=True)


def test_a_log_without_its_forgotten_entries(served: Place):
    kept = served.run("append", "--json", "-k", "log", "The gate was painted green").ok().json
    gone = served.run("append", "--json", "-k", "log", "The gate was painted mauve").ok().json
    served.run("forget", gone["id"]).ok()
    whole = served.run("show", kept["path"]).ok().out
    assert "painted green" in whole
    assert "mauve" not in whole
    assert served.run("show", gone["id"]).code == 4
    assert served.run("show", kept["id"], "--json").ok().json["text"].rstrip().endswith("painted green")


def test_a_stored_title_does_not_steer_the_terminal(served: Place):
    folder = served.vault / "topics" / "evil \u202egnp"
    folder.mkdir(parents=True)
    (folder / "one.md").write_text(f"# Heron {EVIL}\n\nA heron.\n", encoding="utf-8")
    served.run("doctor", "--reindex").ok()
    note = f"{folder.relative_to(served.vault)}/one.md"
    for command in (["topics"], ["topics", "--json"], ["show", note], ["topics", "compact"]):
        ran = served.run(*command).ok()
        assert [sign for sign in SIGNS if sign in ran.out + ran.err] == []
