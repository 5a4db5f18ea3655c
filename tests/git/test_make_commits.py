"""Commits of ours hold our files and nothing else, and leave a person's work where it was."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_memory.errors import Busy, GitUnavailable, NotFound
from mcp_memory.git.commits import CommitPart, FileChange, commit_files
from mcp_memory.git.repository import find_repository, find_version
from mcp_memory.models import etag_of
from tests.git.conftest import Repo


def test_new_changed_and_removed_files(repo: Repo) -> None:
    repo.write("note.md", "new\n")
    repo.write("notes/a.md")
    made = repo.commit("note.md", "notes/a.md", "never-was.md")
    assert len(made.commits) == 1
    assert repo.held() == ["note.md", "notes/a.md"]
    assert repo.status() == ""
    (repo.root / "notes/a.md").unlink()
    repo.commit("notes/a.md")
    assert (repo.held(), repo.status()) == (["notes/a.md"], "")
    assert repo.commit("note.md", "notes/a.md").commits == (), "nothing changed: no empty commit"
    assert repo.subjects() == ["memory: test", "memory: test", "first"]
    repo.git("fsck", "--strict")


def test_what_a_person_staged_stays_staged(repo: Repo) -> None:
    repo.write("staged.md", "staged\n")
    repo.write("other.md", "ONE\ntwo\nthree\nfour\nfive\nsix\nseven\nEIGHT\n")
    first_hunk = repo.git("diff", "-U0", "other.md").partition("@@ -8")[0]
    repo.git("apply", "--cached", "--unidiff-zero", "-", stdin=first_hunk)
    repo.git("add", "staged.md")
    repo.write("untracked.md")
    repo.write("note.md", "ours\n")
    before = repo.status(), repo.git("diff"), repo.git("diff", "--cached")
    assert "MM other.md" in before[0]
    repo.commit("note.md")
    assert repo.held() == ["note.md"]
    assert repo.status() == before[0].replace(" M note.md\n", "")
    assert repo.git("diff", "--cached") == before[2]
    repo.git("commit", "-q", "-m", "theirs")
    assert repo.held() == ["other.md", "staged.md"]
    assert repo.git("show", "HEAD:other.md").splitlines()[0::7] == ["ONE", "eight"]


def test_a_staged_rename_removal_and_mode_stay_staged(repo: Repo) -> None:
    repo.theirs("second", gone="gone\n", old_name="a line that is long enough to be found again\n", script="run\n")
    repo.git("rm", "-q", "gone.md")
    repo.git("mv", "old_name.md", "new_name.md")
    repo.git("update-index", "--chmod=+x", "script.md")
    repo.write("note.md", "ours\n")
    repo.write("ours.md")
    before = repo.git("diff", "--cached", "--raw")
    repo.commit("note.md", "ours.md")
    assert repo.held() == ["note.md", "ours.md"]
    assert repo.git("diff", "--cached", "--raw") == before


def test_a_hunk_of_our_own_file_that_is_staged_stays_staged(repo: Repo) -> None:
    repo.write("other.md", "ONE\ntwo\nthree\nfour\nfive\nsix\nseven\nEIGHT\n")
    first_hunk = repo.git("diff", "-U0", "other.md").partition("@@ -8")[0]
    repo.git("apply", "--cached", "--unidiff-zero", "-", stdin=first_hunk)
    before = repo.git("diff"), repo.git("diff", "--cached")
    repo.write("note.md", "ours\n")
    assert repo.commit("other.md", "note.md").waiting.keys() == {"other.md"}
    assert repo.held() == ["note.md"]
    assert (repo.git("diff"), repo.git("diff", "--cached")) == before


def test_a_file_of_which_another_version_is_staged_waits(repo: Repo) -> None:
    """Else the person's next commit would take ours back."""
    repo.write("note.md", "a person's\n")
    repo.git("add", "note.md")
    repo.write("note.md", "ours\n")
    repo.write("new.md", "a person's\n")
    repo.git("add", "new.md")
    repo.write("new.md", "ours\n")
    repo.write("free.md")
    made = repo.commit("note.md", "new.md", "free.md")
    assert (repo.held(), repo.status()) == (["free.md"], "AM new.md\nMM note.md\n")
    assert {path: why.message for path, why in made.waiting.items()} == {
        path: f"{path} is staged, in another version" for path in ("note.md", "new.md")
    }
    repo.git("commit", "-q", "-m", "theirs")
    assert repo.git("show", "HEAD:note.md") == repo.git("show", "HEAD:new.md") == "a person's\n"
    assert repo.commit("note.md", "new.md").waiting == {}
    assert repo.git("show", "HEAD:note.md") == repo.git("show", "HEAD:new.md") == "ours\n"
    assert repo.status() == ""


def test_files_that_git_is_told_not_to_look_at(repo: Repo) -> None:
    repo.theirs("second", skipped="old\n", assumed="old\n")
    repo.git("update-index", "--skip-worktree", "skipped.md")
    repo.git("update-index", "--assume-unchanged", "assumed.md")
    for name in ("skipped.md", "assumed.md", "note.md"):
        repo.write(name, "ours\n")
    made = repo.commit("skipped.md", "assumed.md", "note.md")
    assert (repo.held(), made.waiting) == (["note.md"], {})
    assert repo.git("ls-files", "-v", "skipped.md", "assumed.md") == "h assumed.md\nS skipped.md\n"


def test_a_file_that_is_to_be_added_and_one_taken_out_of_the_index(repo: Repo) -> None:
    repo.write("new.md")
    repo.git("add", "--intent-to-add", "new.md")
    repo.git("rm", "-q", "--cached", "note.md")
    repo.write("note.md", "ours\n")
    assert repo.commit("new.md", "note.md").waiting.keys() == {"note.md"}
    assert repo.held() == ["new.md"]
    assert repo.status() == "D  note.md\n?? note.md\n", "a person said that git should not have it"


def test_ignored_files_are_left(repo: Repo) -> None:
    repo.theirs("rules", **{".gitignore": "x"})
    repo.write(".gitignore", "secret*\n/kept.md\n")
    repo.write("kept.md", "is in a commit already\n")
    repo.git("add", "-f", "kept.md", ".gitignore")
    repo.git("commit", "-q", "-m", "rules")
    repo.write("secret.md")
    repo.write("kept.md", "changed\n")
    repo.commit("secret.md", "kept.md")
    assert repo.held() == ["kept.md"]
    assert repo.commit("secret.md").commits == ()


def test_odd_names(repo: Repo) -> None:
    names = [
        "ümläut.md", "a b.md", "line\nbreak.md", "-dash.md", "--all.md", ":colon.md", ":(glob)x.md", "*.md", "[a].md",
        "tab\t.md", 'quote".md', "back\\slash.md", "日本.md", "\udce4.md", "notes/-x/ü.md",
    ]  # fmt: skip
    for name in names:
        repo.write(name)
    repo.commit(*names)
    out = subprocess.run(["git", "ls-tree", "-r", "-z", "--name-only", "HEAD"], cwd=repo.root, stdout=-1).stdout
    assert {os.fsencode(name) for name in names} <= set(out.split(b"\0"))
    assert subprocess.run(["git", "status", "--porcelain", "-z"], cwd=repo.root, stdout=-1).stdout == b""


def test_a_vault_in_a_subfolder_and_one_reached_by_a_link(repo: Repo, tmp_path: Path) -> None:
    repo.write("my notes/vault/a.md")
    repo.write("outside.md")
    inner = replace(repo, vault=repo.root / "my notes" / "vault")
    assert len(inner.commit("a.md").commits) == 1
    assert repo.held() == ["my notes/vault/a.md"]
    (tmp_path / "link").symlink_to(inner.vault)
    repo.write("my notes/vault/b.md")
    replace(repo, vault=tmp_path / "link").commit("b.md")
    assert repo.held() == ["my notes/vault/b.md"]
    assert repo.status() == "?? outside.md\n"


@pytest.mark.parametrize("hashes", ["sha1", "sha256"])
def test_a_repository_without_commits(repo: Repo, tmp_path: Path, hashes: str) -> None:
    root = tmp_path / hashes
    root.mkdir()
    empty = Repo(root, root, repo.home)
    empty.git("init", "-q", "-b", "trunk", f"--object-format={hashes}")
    empty.write("a.md")
    empty.write("b.md")
    empty.git("add", "b.md")
    empty.commit("a.md")
    assert (empty.held(), empty.status()) == (["a.md"], "A  b.md\n")
    assert empty.git("symbolic-ref", "HEAD") == "refs/heads/trunk\n"
    (empty.root / "a.md").unlink()
    empty.commit("a.md")
    assert (empty.held(), empty.status()) == (["a.md"], "A  b.md\n")
    empty.git("fsck", "--strict")


def test_a_linked_work_tree_and_a_submodule(repo: Repo, tmp_path: Path) -> None:
    repo.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    side = Repo(tmp_path / "side", tmp_path / "side", repo.home)
    side.write("a.md")
    side.commit("a.md")
    assert (side.held(), side.status()) == (["a.md"], "")
    assert repo.subjects() == ["first"]
    assert repo.git("log", "-1", "--format=%s", "side") == "memory: test\n"

    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(tmp_path / "side"), "sub")
    repo.git("commit", "-q", "-m", "a submodule")
    sub = replace(repo, root=repo.root / "sub", vault=repo.root / "sub")
    sub.write("b.md")
    sub.commit("b.md")
    assert (sub.held(), sub.status()) == (["b.md"], "")
    repo.write("sub/c.md")
    assert repo.commit("sub/c.md").commits == (), "it belongs to another repository"


def test_no_branch_is_checked_out(repo: Repo) -> None:
    """What is committed then is lost from sight at the next checkout."""
    repo.git("checkout", "-q", "--detach")
    repo.write("a.md")
    with pytest.raises(Busy, match="no branch is checked out"):
        repo.commit("a.md")
    assert repo.subjects() == ["first"]
    repo.git("switch", "-q", "main")
    repo.commit("a.md")
    assert (repo.held(), repo.status()) == (["a.md"], "")


def stop_in_a_rebase(repo: Repo) -> None:
    repo.git("checkout", "-q", "-b", "side", "HEAD~1")
    repo.theirs("side", note="side\n")
    repo.git("rebase", "main", ok=(1,))


def stop_in_a_merge(repo: Repo) -> None:
    repo.git("checkout", "-q", "-b", "side", "HEAD~1")
    repo.theirs("side", note="side\n")
    repo.git("merge", "main", ok=(1,))


def stop_in_a_cherry_pick(repo: Repo) -> None:
    repo.git("checkout", "-q", "-b", "side", "HEAD~1")
    repo.theirs("side", note="side\n")
    repo.git("cherry-pick", "main", ok=(1,))


def stop_in_a_revert(repo: Repo) -> None:
    repo.theirs("third", note="third\n")
    repo.git("revert", "HEAD~1", ok=(1,))


def stop_in_a_bisection(repo: Repo) -> None:
    repo.git("bisect", "start")


@pytest.mark.parametrize(
    ("stop", "go_on"),
    [
        (stop_in_a_rebase, ("rebase", "--continue")),
        (stop_in_a_merge, ("commit", "-q", "--no-edit")),
        (stop_in_a_cherry_pick, ("cherry-pick", "--continue")),
        (stop_in_a_revert, ("revert", "--continue")),
        (stop_in_a_bisection, ("bisect", "reset")),
    ],
)
def test_nothing_is_committed_while_a_person_is_in_the_middle_of_something(repo: Repo, stop, go_on) -> None:
    repo.theirs("second", note="second\n")
    stop(repo)
    repo.write("ours.md")
    what = repo.git("rev-parse", "HEAD"), repo.status()
    with pytest.raises(Busy, match="in progress"):
        repo.commit("ours.md")
    assert (repo.git("rev-parse", "HEAD"), repo.status()) == what
    repo.write("note.md", "resolved\n") if "note.md" in what[1] else None
    repo.git("add", "note.md")
    repo.git(*go_on)
    repo.commit("ours.md")
    assert (repo.held(), repo.status()) == (["ours.md"], "")


def test_a_conflict_without_a_merge(repo: Repo) -> None:
    repo.write("note.md", "stashed\n")
    repo.git("stash", "-q")
    repo.theirs("second", note="second\n")
    repo.git("stash", "pop", ok=(1,))
    repo.write("ours.md")
    with pytest.raises(Busy, match="conflict in git's index"):
        repo.commit("note.md", "ours.md")
    repo.commit("ours.md")
    assert (repo.held(), repo.status()) == (["ours.md"], "UU note.md\n")


def test_a_message_that_is_being_written(repo: Repo, tmp_path: Path) -> None:
    """Else the person's commit would fail when they close the editor."""
    editor = tmp_path / "editor"
    editor.write_text(
        f'#!/bin/sh\necho theirs > "$1"\nmkfifo {tmp_path}/open\necho > {tmp_path}/open\ncat {tmp_path}/open\n'
    )
    editor.chmod(0o755)
    repo.write("theirs.md")
    repo.git("add", "theirs.md")
    repo.write("ours.md")
    environ = {**os.environ, "GIT_EDITOR": str(editor), "GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "a@b",
               "GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "a@b"}  # fmt: skip
    with subprocess.Popen(["git", "commit", "-q"], cwd=repo.root, env=environ) as writing:
        while not (tmp_path / "open").exists():
            assert writing.poll() is None
        (tmp_path / "open").read_text()
        try:
            with pytest.raises(Busy, match="message is being written"):
                repo.commit("ours.md")
        finally:
            (tmp_path / "open").write_text("")
        assert writing.wait(20) == 0
    assert repo.held() == ["theirs.md"]
    repo.commit("ours.md")
    assert (repo.held(), repo.status()) == (["ours.md"], "")


def test_an_index_that_another_git_holds(repo: Repo) -> None:
    lock = repo.root / ".git" / "index.lock"
    repo.write("note.md", "ours\n")
    repo.write("new.md")
    lock.touch()
    before = repo.status()
    for paths in (["note.md"], ["note.md", "new.md"]):
        with pytest.raises(Busy, match="another git is at work") as busy:
            repo.commit(*paths)
    assert busy.value.hint == f"if no git is running there: rm -f {lock}"
    assert (lock.exists(), repo.subjects(), repo.status()) == (True, ["first"], before)
    lock.unlink()
    assert len(repo.commit("note.md", "new.md").commits) == 1
    assert repo.status() == ""


def test_a_commit_of_theirs_between_our_look_and_our_commit(repo: Repo) -> None:
    repo.write("note.md", "ours\n")
    repo.write("new.md")
    repo.write("staged.md")

    def meanwhile(changes: Sequence[FileChange]) -> list[CommitPart]:
        repo.write("theirs.md")
        repo.git("add", "theirs.md")
        repo.git("commit", "-q", "-m", "theirs")
        repo.git("add", "staged.md")
        return [CommitPart("memory: test", changes)]

    commit_files(find_repository(repo.vault, 20), ["note.md", "new.md"], meanwhile)
    assert repo.subjects() == ["memory: test", "theirs", "first"]
    assert (repo.held(), repo.held("HEAD~1"), repo.status()) == (["new.md", "note.md"], ["theirs.md"], "A  staged.md\n")


def test_several_commits_of_files_that_swap_places(repo: Repo) -> None:
    repo.write("notes/a.md", "a\n")
    repo.commit("notes/a.md")
    (repo.root / "notes/a.md").rename(repo.root / "moved.md")
    (repo.root / "notes").rmdir()
    repo.write("notes", "a file where a folder was\n")
    (repo.root / "note.md").unlink()
    repo.write("note.md/inner.md", "a folder where a file was\n")

    def one_each(changes: Sequence[FileChange]) -> list[CommitPart]:
        return [CommitPart(f"memory: {change.path}", [change]) for change in changes]

    paths = ["notes/a.md", "moved.md", "notes", "note.md", "note.md/inner.md"]
    made = commit_files(find_repository(repo.vault, 20), paths, one_each)
    assert (len(made.commits), repo.status()) == (4, ""), "the file whose place a folder took goes with the folder's"
    repo.git("fsck", "--strict")


@pytest.mark.parametrize("logged", ["true", "false"])
def test_a_persons_messages_are_kept(repo: Repo, logged: str) -> None:
    """A hook refused one commit, and a squashed merge waits for another. Ours doesn't hold up our next commit."""
    repo.git("config", "core.logAllRefUpdates", logged)
    folder = repo.root / ".git"
    for name in ("COMMIT_EDITMSG", "SQUASH_MSG"):
        (folder / name).write_text("what took me an hour\n")
        os.utime(folder / name, (1_700_000_000, 1_700_000_000))
    before = sorted(file.name for file in folder.iterdir())
    for number in range(2):
        repo.write("note.md", f"ours {number}\n")
        assert len(repo.commit("note.md").commits) == 1
    for name in ("COMMIT_EDITMSG", "SQUASH_MSG"):
        assert (folder / name).read_text() == "what took me an hour\n"
        assert (folder / name).stat().st_mtime == 1_700_000_000
    assert sorted(file.name for file in folder.iterdir()) == before
    if logged == "true":
        assert repo.git("reflog", "--format=%gs", "-2") == "commit: memory: test\n" * 2


def test_files_behind_links_are_left(repo: Repo, tmp_path: Path) -> None:
    repo.write("notes/a.md", "a\n")
    repo.commit("notes/a.md")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "a.md").write_text("not in this repository")
    shutil.rmtree(repo.root / "notes")
    (repo.root / "notes").symlink_to(tmp_path / "elsewhere")
    (repo.root / "note.md").unlink()
    (repo.root / "note.md").symlink_to(tmp_path / "elsewhere" / "a.md")
    assert repo.commit("notes/a.md", "note.md").commits == ()
    assert "not in" not in repo.git("log", "-p")


def test_beside_a_person_who_commits_all_the_time(repo: Repo) -> None:
    """Nobody loses a commit or a file; the person's git may find the index locked, as with any other git."""
    ended = threading.Event()
    theirs: list[str] = []

    def person() -> None:
        for number in range(15):
            repo.write(f"theirs-{number}.md", f"{number}\n")
            for command in (["add", f"theirs-{number}.md"], ["commit", "-q", "-m", f"theirs {number}"]):
                while subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@b", *command], cwd=repo.root,
                                     capture_output=True).returncode:  # fmt: skip
                    pass
            theirs.append(f"theirs {number}")
        ended.set()

    thread = threading.Thread(target=person)
    thread.start()
    ours = 0
    while not ended.is_set():
        repo.write(f"ours-{ours}.md", f"{ours}\n")
        try:
            ours += len(repo.commit(f"ours-{ours}.md", message=f"ours {ours}").commits)
        except Busy:
            continue
    thread.join()
    repo.write(f"ours-{ours}.md", f"{ours}\n")
    assert len(repo.commit(f"ours-{ours}.md", message=f"ours {ours}").commits) == 1
    assert repo.status() == ""
    subjects = repo.subjects()
    assert [each for each in theirs if subjects.count(each) != 1] == []
    assert [each for each in range(ours + 1) if subjects.count(f"ours {each}") != 1] == []
    for subject in (f"theirs {number}" for number in range(15)):
        commit = repo.git("log", "--format=%H", f"--grep=^{subject}$").strip()
        assert repo.held(commit) == [f"{subject.replace(' ', '-')}.md"], "no file of ours in it"


def test_who_commits(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "Leaked")
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere")
    repo.write("a.md")
    repo.commit("a.md")
    assert repo.git("log", "-1", "--format=%an <%ae> %cn") == "mcp-memory <mcp-memory@localhost> mcp-memory\n"
    repo.git("config", "user.name", "Grace")
    repo.write("b.md")
    repo.commit("b.md")
    assert repo.git("log", "-1", "--format=%an") == "mcp-memory\n"
    repo.git("config", "user.email", "grace@example.org")
    repo.write("c.md")
    repo.commit("c.md")
    assert repo.git("log", "-1", "--format=%an <%ae> %cn") == "Grace <grace@example.org> Grace\n"
    assert repo.git("config", "--list").count("mcp-memory") == 0


def test_no_hook_no_signature_no_program_of_the_person_runs(repo: Repo, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\necho $0 >> {tmp_path}/ran\nexit 1\n")
    trap.chmod(0o755)
    for hook in (
        "pre-commit",
        "prepare-commit-msg",
        "post-commit",
        "commit-msg",
        "reference-transaction",
        "post-index-change",
        "pre-auto-gc",
    ):
        (repo.root / ".git" / "hooks" / hook).symlink_to(trap)
    for key in ("gpg.program", "core.fsmonitor", "core.editor", "core.askPass", "core.pager", "gpg.ssh.program"):
        repo.git("config", key, str(trap))
    repo.git("config", "commit.gpgSign", "true")
    repo.git("config", "gc.auto", "1")
    repo.git("config", "commit.template", str(tmp_path / "none"))
    repo.git("config", "commit.cleanup", "scissors")
    repo.write("note.md", "ours\n")
    repo.commit("note.md")
    assert repo.held() == ["note.md"]
    assert not (tmp_path / "ran").exists()


def test_line_ends_and_splits_as_the_repository_wants_them(repo: Repo) -> None:
    for setting in ("core.autocrlf=input", "core.safecrlf=true", "core.splitIndex=true", "core.untrackedCache=true",
                    "index.version=4", "feature.manyFiles=true"):  # fmt: skip
        repo.git("config", *setting.split("=", 1))
    repo.git("update-index", "--split-index")
    repo.write("note.md").write_bytes(b"ours\r\n")
    repo.write("staged.md")
    repo.git("add", "staged.md")
    repo.commit("note.md")
    assert repo.git("show", "HEAD:note.md") == "ours\n"
    assert repo.status() == "A  staged.md\n"
    repo.git("fsck", "--strict")


def test_where_there_is_no_repository(repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = tmp_path / "alone"
    alone.mkdir()
    (alone / "a.md").touch()
    with pytest.raises(NotFound, match="not in a git repository"):
        replace(repo, vault=alone).commit("a.md")
    repo.git("init", "-q", "--bare", str(alone))
    with pytest.raises(NotFound, match="not in a git repository"):
        replace(repo, vault=alone).commit("a.md")
    repo.write("note.md", "ours\n")
    (repo.root / ".git" / "refs" / "heads" / "main").write_text("nonsense\n")
    with pytest.raises(GitUnavailable):
        repo.commit("note.md")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GitUnavailable, match="cannot be run"):
        repo.commit("note.md")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to another user")
def test_a_repository_of_another_user_is_refused_by_git(repo: Repo) -> None:
    repo.write("note.md", "ours\n")
    for file in (repo.root, repo.root / ".git"):
        os.chown(file, 12345, 12345)
    with pytest.raises(GitUnavailable, match="belongs to another user") as refused:
        repo.commit("note.md")
    assert refused.value.hint == f"git config --global --add safe.directory {repo.root}"


def test_a_folder_that_looks_like_a_repository_is_none(repo: Repo, tmp_path: Path) -> None:
    """It may have come with a clone, and its configuration with it."""
    vault = repo.root / "vault"
    vault.mkdir()
    repo.git("init", "-q", "--bare", str(vault))
    repo.git("config", "-f", str(vault / "config"), "core.bare", "false")
    repo.git("config", "-f", str(vault / "config"), "core.worktree", str(vault))
    repo.git("config", "-f", str(vault / "config"), "filter.trap.clean", f"touch {tmp_path}/ran; cat")
    repo.write("vault/.gitattributes", "* filter=trap\n")
    repo.write("vault/note.md")
    with pytest.raises(NotFound, match="not in a git repository"):
        replace(repo, vault=vault).commit("note.md")
    assert not (tmp_path / "ran").exists()


def test_looking_back_runs_no_program_and_tells_the_first_commit(repo: Repo, tmp_path: Path) -> None:
    repo.git("config", "diff.trap.textconv", f"touch {tmp_path}/ran; cat")
    repo.git("config", "diff.external", f"touch {tmp_path}/ran; cat")
    repo.git("config", "log.showRoot", "false")
    repo.theirs("rules", **{".gitattributes": "x"})
    repo.write(".gitattributes", "*.md diff=trap\n")
    repo.theirs("second", note="new\n")
    repository = find_repository(repo.vault, 20)
    assert find_version(repository, "note.md", etag_of(b"new\n")) == b"new\n"
    assert not (tmp_path / "ran").exists()


def test_a_git_that_hangs_is_ended(repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    slow = programs / "git"
    slow.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\ntrap '' TERM\nsleep 60\nsleep 60\n")
    slow.chmod(slow.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setattr("mcp_memory.runtime.process_deadline.ENDING_S", 0.2)
    with pytest.raises(GitUnavailable, match="did not end in time"):
        commit_files(find_repository(repo.vault, 0.5), ["note.md"], lambda changes: [CommitPart("x", changes)])
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def modes_of_new_objects(repo: Repo, before: set[Path]) -> set[int]:
    return {stat.S_IMODE(file.stat().st_mode) for file in objects(repo) - before}


def objects(repo: Repo) -> set[Path]:
    return {file for file in (repo.root / ".git" / "objects").rglob("*") if file.is_file()}


@pytest.mark.parametrize(
    ("mode", "shared", "written"),
    [(0o600, None, 0o400), (0o640, None, 0o400), (0o644, None, 0o444), (0o600, "group", 0o440)],
)
def test_a_commit_is_readable_by_those_who_can_read_its_notes(
    repo: Repo, mode: int, shared: str | None, written: int
) -> None:
    if shared:
        repo.git("config", "core.sharedRepository", shared)
    repo.write("note.md", "for me alone\n").chmod(mode)
    repo.write("new.md", "as open as can be\n").chmod(0o644)
    before = objects(repo)
    assert len(repo.commit("note.md", "new.md").commits) == 1
    assert modes_of_new_objects(repo, before) == {written}
    assert repo.status() == ""


def test_a_repository_that_others_can_get_into_is_told() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        root = Path(folder)
        root.chmod(0o755)
        subprocess.run(["git", "init", "-q", str(root)], check=True)
        assert find_repository(root, 20).open_objects() == root / ".git" / "objects"
        (root / ".git").chmod(0o700)
        assert find_repository(root, 20).open_objects() is None
