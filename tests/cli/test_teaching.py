"""teach, as someone types it in a repository."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from tests.daemon.place import Place


@pytest.mark.parametrize("mine", [b"# Rules\r\nBe kind.\r\n", b"no newline at the end", None])
def test_a_note_goes_into_agents_md_and_out_again(place: Place, mine: bytes | None):
    repo, there = place.root, place
    (repo / ".git").mkdir(parents=True)
    file = repo / "AGENTS.md"
    if mine is not None:
        file.write_bytes(mine)
    with place.started():
        note = place.run("append", "--json", "-k", "workflow", "Run pnpm test, not npm test.").ok().json["id"]
        to = ("--to", "AGENTS.md", "--yes")
        assert "+- Run pnpm test, not npm test." in there.run("teach", note, *to, "--dry-run").ok().out
        assert (file.read_bytes() if file.exists() else None) == mine
        there.run("teach", note, *to).ok()
        taught = file.read_bytes()
        assert taught.startswith(mine or b"")
        assert taught.count(b"Run pnpm test, not npm test.") == 1
        assert there.run("teach", note, *to).ok().out == f"{file} already contains it\n"
        assert file.read_bytes() == taught

        there.run("edit", note, stdin=b"Run pnpm test --run.\n").ok()
        there.run("teach", note, *to).ok()
        assert b"- Run pnpm test --run." in file.read_bytes()
        there.run("teach", note, *to, "--undo").ok()
        assert (file.read_bytes() if file.exists() else None) == mine


def test_a_forgotten_note_goes_with_the_next_and_another_projects_is_refused(place: Place):
    repo, there = place.root, place
    (repo / ".git").mkdir(parents=True)
    with place.started():
        one, two = (
            place.run("append", "--json", "-k", "decision", text).ok().json["id"]
            for text in ("The weir is closed in May.", "Sluices are painted green <!-- mcp-memory teach ends -->.")
        )
        there.run("teach", one, "--to", "skill", "--yes").ok()
        place.run("forget", one).ok()
        assert there.run("teach", two, "--to", "skill", "--yes", "--json").ok().json["gone"] == [one]
        text = (repo / ".claude/skills/project-lessons/SKILL.md").read_text()
        assert text.startswith("---\nname: project-lessons\n")
        assert ("weir" in text, "Sluices" in text) == (False, True)
        there.run("teach", two, "--to", "skill", "--yes", "--undo").ok()
        assert not (repo / ".claude").exists()
        other = place.run("append", "--json", "-p", "lathe", "-k", "fact", "The lathe hums.").ok().json["id"]
        refused = there.run("teach", other, "--to", "TOOLS.md", "--yes")
        assert (refused.code, "run this in its repository" in refused.err) == (1, True)
        assert not (repo / "TOOLS.md").exists()
        entry = place.run("append", "--json", "-k", "log", "Oiled the lathe.").ok().json["id"]
        assert there.run("teach", entry, "--to", "TOOLS.md", "--yes").code == 1
        own = place.run("append", "--json", "-k", "fact", "--tag", "private", "My knee hurts.").ok().json["id"]
        refused = there.run("teach", own, "--to", "TOOLS.md", "--yes")
        assert (refused.code, "is private" in refused.err) == (1, True)
        three = place.run("append", "--json", "-k", "fact", "--supersedes", two, "Sluices are red.").ok().json["id"]
        assert there.run("teach", two, "--to", "TOOLS.md", "--yes").code == 1
        listed = place.run("list", "--json").ok().json["notes"]
        assert {note["heat"] for note in listed if note["id"] == three} == {"warm"}
        assert not (repo / "TOOLS.md").exists()


@pytest.mark.parametrize("served", [True, False])
def test_an_erased_note_leaves_the_files_that_it_was_taught_to(place: Place, served: bool):
    repo = place.root
    (repo / ".git").mkdir(parents=True)
    (repo / "AGENTS.md").write_text("# Rules\r\n")
    with place.started() if served else nullcontext():
        one, two = (
            place.run("append", "--json", "-k", "workflow", text).ok().json["id"]
            for text in ("Run the canaryxyzzy first.\n\nThen\n\n- canaryxyzzy again", "Paint the sluices green.")
        )
        for note, file in ((one, "AGENTS.md"), (two, "AGENTS.md"), (one, "skill"), (one, "TOOLS.md")):
            place.run("teach", note, "--to", file, "--yes").ok()
        (repo / "TOOLS.md").unlink()
        shown = place.run("erase", one, "--yes").ok().out
        assert f"its lines in {repo / 'AGENTS.md'}" in shown
        assert "canaryxyzzy" not in (repo / "AGENTS.md").read_text() and not (repo / ".claude").exists()
        assert (repo / "AGENTS.md").read_text().startswith("# Rules\n") and "Paint the sluices" in (
            repo / "AGENTS.md"
        ).read_text()
    files = [file for file in repo.rglob("*") if file.is_file()]
    assert [file for file in files if b"canaryxyzzy" in file.read_bytes()] == []
