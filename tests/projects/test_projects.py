"""Which repositories are one project, as a vault's `projects.toml` remembers it."""

from __future__ import annotations

import os
import shutil
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mcp_memory.errors import ConfigInvalid, InvalidInput, NotFound
from mcp_memory.projects import repository_facts
from mcp_memory.projects.project_book import FILE
from mcp_memory.projects.projects import Projects
from tests.support.repositories import git, repository

SHOP, FORK = "git@github.com:umbra/shop.git", "https://github.com/ada/shop"


@dataclass
class Disk:
    """A vault, and what stands in its notes; `label` asks a program that has just started."""

    root: Path
    labels: list[str] = field(default_factory=list[str])

    @property
    def vault(self) -> Path:
        return self.root / "memory"

    @property
    def projects(self) -> Projects:
        return Projects(self.vault, lambda: self.labels)

    def label(self, folder: str) -> str | None:
        return self.projects.label_of(str(self.root / folder))

    def tables(self) -> dict[str, dict[str, list[str]]]:
        return tomllib.loads((self.vault / FILE).read_text())

    def copy(self, folder: str, to: str) -> None:
        shutil.copytree(self.root / folder, self.root / to)

    def make(self, folder: str, origin: str = "", **remotes: str) -> Path:
        return repository(self.root / folder, origin, **remotes)


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    (tmp_path / "memory" / ".mcp-memory").mkdir(parents=True)
    (tmp_path / "memory" / ".mcp-memory" / "vault.toml").write_text('id = "x"\nformat = 1\nhome = ""\n')
    return Disk(tmp_path)


def moved(disk: Disk) -> None:
    disk.make("work/shop", SHOP)
    assert disk.label("work/shop") == "shop"
    (disk.root / "work" / "shop").rename(disk.root / "work" / "storefront")


def moved_without_a_remote(disk: Disk) -> None:
    disk.make("work/shop")
    assert disk.label("work/shop") == "shop"
    (disk.root / "work").rename(disk.root / "done")


def cloned_twice(disk: Disk) -> None:
    disk.make("work/shop", SHOP)
    assert disk.label("work/shop") == "shop"
    disk.make("work/shop-review", "ssh://ada@github.com:22/Umbra/Shop")


def cloned_from_a_folder(disk: Disk) -> None:
    disk.make("work/shop")
    assert disk.label("work/shop") == "shop"
    git("clone", "-q", "work/shop", "try", cwd=disk.root)


def cloned_from_a_folder_that_comes_later(disk: Disk) -> None:
    disk.make("work/shop", SHOP)
    git("clone", "-q", "work/shop", "shop", cwd=disk.root)
    assert disk.label("shop") == "shop"


def with_another_origin(disk: Disk) -> None:
    shop = disk.make("shop", "https://git.example.org/old/shop")
    assert disk.label("shop") == "shop"
    git("remote", "set-url", "origin", SHOP, cwd=shop)
    assert disk.label("shop") == "shop"
    disk.make("old", "git@git.example.org:old/shop")
    disk.make("new", SHOP)


def published(disk: Disk) -> None:
    shop = disk.make("shop")
    assert disk.label("shop") == "shop"
    git("remote", "add", "origin", SHOP, cwd=shop)


def without_its_remote(disk: Disk) -> None:
    shop = disk.make("shop", SHOP)
    assert disk.label("shop") == "shop"
    git("remote", "remove", "origin", cwd=shop)


def with_a_first_commit(disk: Disk) -> None:
    shop = repository(disk.root / "shop", first=None)
    assert disk.label("shop") == "shop"
    git("commit", "-q", "--allow-empty", "-m", "first", cwd=shop)
    assert disk.label("shop") == "shop"
    shop.rename(disk.root / "moved")


def on_an_orphan_branch(disk: Disk) -> None:
    shop = disk.make("shop")
    assert disk.label("shop") == "shop"
    git("checkout", "-q", "--orphan", "pages", cwd=shop)
    git("commit", "-q", "--allow-empty", "-m", "pages", cwd=shop)


def in_worktrees_and_subfolders(disk: Disk) -> None:
    shop = disk.make("shop", SHOP)
    (shop / "packages" / "api" / "src").mkdir(parents=True)
    git("worktree", "add", "-q", "../shop-fix", cwd=shop)
    git("clone", "-q", "--bare", "shop", "shop.git", cwd=disk.root)
    git("--git-dir=shop.git", "remote", "set-url", "origin", SHOP, cwd=disk.root)


def forked(disk: Disk) -> None:
    disk.make("shop", SHOP)
    assert disk.label("shop") == "shop"
    disk.make("mine/shop", FORK, upstream=SHOP)


def copied_from_a_template(disk: Disk) -> None:
    disk.make("template")
    disk.copy("template", "one")
    disk.copy("template", "two")
    git("remote", "add", "origin", SHOP, cwd=disk.root / "one")
    git("remote", "add", "origin", FORK, cwd=disk.root / "two")
    disk.copy("template", "three")


def of_one_name(disk: Disk) -> None:
    disk.make("work/my-app", "git@github.com:umbra/my-app")
    disk.make("personal/my-app", "git@github.com:ada/my-app")
    disk.make("else/personal/my-app")
    disk.make("personal/more/my-app")
    disk.make("and/more/my-app")


def in_the_place_of_another(disk: Disk) -> None:
    shop = disk.make("work/shop")
    assert disk.label("work/shop") == "shop"
    shutil.rmtree(shop)
    repository(shop, first="another")


def as_a_submodule(disk: Disk) -> None:
    disk.make("lib", "git@github.com:ada/lib")
    for name in ("shop", "till"):
        git("submodule", "add", "-q", str(disk.root / "lib"), "vendor/lib", cwd=disk.make(name))
        git("remote", "set-url", "origin", "git@github.com:ada/lib", cwd=disk.root / name / "vendor" / "lib")


@pytest.mark.parametrize(
    ("happens", "labels"),
    [
        (moved, {"work/storefront": "shop"}),
        (moved_without_a_remote, {"done/shop": "shop"}),
        (cloned_twice, {"work/shop-review": "shop", "work/shop": "shop"}),
        (cloned_from_a_folder, {"try": "shop"}),
        (cloned_from_a_folder_that_comes_later, {"work/shop": "shop"}),
        (with_another_origin, {"shop": "shop", "old": "shop", "new": "shop"}),
        (published, {"shop": "shop"}),
        (without_its_remote, {"shop": "shop"}),
        (with_a_first_commit, {"moved": "shop"}),
        (on_an_orphan_branch, {"shop": "shop"}),
        (in_worktrees_and_subfolders, {"shop/packages/api/src": "shop", "shop-fix": "shop", "shop.git": "shop"}),
        (forked, {"mine/shop": "shop (mine)", "shop": "shop"}),
        (copied_from_a_template, {"template": "template", "one": "one", "two": "two", "three": "three"}),
        (
            of_one_name,
            {"work/my-app": "my-app", "personal/my-app": "my-app (personal)", "personal/more/my-app": "my-app (more)",
             "else/personal/my-app": "my-app (else/personal)", "and/more/my-app": "my-app (and/more)"},
        ),
        (in_the_place_of_another, {"work/shop": "shop (work)"}),
        (as_a_submodule, {"shop/vendor/lib": "lib", "till/vendor/lib": "lib", "lib": "lib", "shop": "shop"}),
    ],
)  # fmt: skip
def test_a_repository_is_the_same_project_wherever_it_is(
    disk: Disk, happens: Callable[[Disk], None], labels: dict[str, str]
) -> None:
    happens(disk)
    for _ in ("found", "known"):
        assert {folder: disk.label(folder) for folder in labels} == labels


def test_what_was_said_in_a_folder_that_is_gone_belongs_to_its_project(disk: Disk) -> None:
    disk.make("shop", SHOP)
    disk.make("shop/tools/kiln")
    assert [disk.label("shop"), disk.label("shop/tools/kiln")] == ["shop", "kiln"]
    (disk.root / "shop").rename(disk.root / "storefront")
    assert [disk.label("shop/src"), disk.label("shop/tools/kiln/src"), disk.label("other")] == ["shop", "kiln", None]
    (disk.root / "shop").mkdir()
    assert disk.label("shop") is None, "what is there now is another folder"
    assert disk.projects.label_of("/a\0b") is disk.projects.label_of("shop") is None


def test_notes_of_before_belong_to_the_first_that_has_their_name(disk: Disk) -> None:
    disk.labels += ["shop", "till-2", "api"]
    disk.make("shop-review", SHOP)
    disk.make("api", SHOP)
    assert [disk.label("shop-review"), disk.label("api")] == ["shop", "shop"]
    assert "aliases" not in disk.tables()["shop"], "whose notes those of api are, nobody knows"
    disk.make("till", "git@github.com:umbra/till")
    disk.make("till-2", "git@github.com:umbra/till")
    assert [disk.label("till"), disk.label("till-2")] == ["till", "till"]
    assert disk.tables()["till"]["aliases"] == ["till-2"]
    disk.make("new/till-2")
    assert disk.label("new/till-2") == "till-2 (new)"


def test_a_person_edits_the_file(disk: Disk) -> None:
    disk.make("shop", SHOP)
    disk.make("api")
    assert [disk.label("shop"), disk.label("api")] == ["shop", "api"]
    file, projects = disk.vault / FILE, disk.projects
    text = file.read_text().replace('["shop"]', "# mine\n[storefront] # the new name\n# kept", 1)
    file.write_text(text)
    assert projects.label_of(str(disk.root / "shop")) == "storefront"
    disk.make("other/shop")
    assert projects.label_of(str(disk.root / "other" / "shop")) == "shop"
    (disk.root / "shop").rename(disk.root / "moved")
    assert projects.label_of(str(disk.root / "moved")) == "storefront"
    text = file.read_text()
    assert "# mine" in text and "# kept" in text
    file.write_text("shop = 3\n")
    assert projects.label_of(str(disk.root / "moved")) == "storefront", "as it was when it could be read"
    assert projects.problem and "shop" in projects.problem
    with pytest.raises(ConfigInvalid, match=r"projects\.toml"):
        disk.label("moved")
    assert file.read_text() == "shop = 3\n"
    file.unlink()
    assert projects.label_of(str(disk.root / "moved")) == "moved"


@pytest.mark.parametrize(
    "text",
    [
        "[",
        "shop = 3",
        "[shop]\nfolders = 3",
        '["*"]',
        '["channel:a"]',
        '[a]\naliases=["b"]\n[b]',
        "[shop]\norigins = [[1]]",
    ],
)
def test_a_file_that_cannot_be_used_says_why(disk: Disk, text: str) -> None:
    (disk.vault / FILE).write_text(text)
    disk.make("shop")
    with pytest.raises(ConfigInvalid, match=r"projects\.toml in the vault can't be used"):
        disk.label("shop")


def test_a_fork_is_named_as_one_whichever_project_was_first(disk: Disk) -> None:
    shop = disk.make("shop", SHOP)
    git("clone", "-q", "shop", "own", cwd=disk.root)
    git("remote", "set-url", "origin", FORK, cwd=disk.root / "own")
    git("remote", "add", "upstream", SHOP, cwd=disk.root / "own")
    assert [disk.label("shop"), disk.label("own")] == ["shop", "own"]
    assert [(one.label, one.why, one.other) for one in disk.projects.near_matches()] == [
        ("own", "is a fork of", "shop")
    ]
    shutil.rmtree(shop)
    disk.make("shop", "git@github.com:umbra/other")
    assert [one.why for one in disk.projects.near_matches()] == ["is a fork of"]


def test_projects_are_merged_and_split(disk: Disk) -> None:
    disk.labels += ["kiln"]
    disk.make("shop", SHOP)
    disk.make("mine/shop", FORK, upstream=SHOP)
    disk.make("clone", SHOP)
    assert [disk.label(folder) for folder in ("shop", "mine/shop", "clone")] == ["shop", "shop (mine)", "shop"]
    assert [(one.label, one.why, one.other) for one in disk.projects.near_matches()] == [
        ("shop (mine)", "is a fork of", "shop")
    ]
    disk.projects.merge("shop (mine)", "shop")
    disk.projects.merge("kiln", "shop")
    assert [disk.label("mine/shop"), disk.label("shop")] == ["shop", "shop"]
    assert disk.projects.names_of("kiln") == ("shop", {"kiln", "shop (mine)"})
    assert disk.projects.near_matches() == []
    assert disk.projects.split("shop", str(disk.root / "clone")).label == "clone"
    assert [disk.label("clone"), disk.label("shop"), disk.label("clone")] == ["clone", "shop", "clone"]
    assert [one.why for one in disk.projects.near_matches()] == ["has the origin of"]
    for name, into in (("none", "shop"), ("shop", "none")):
        with pytest.raises(NotFound, match="none"):
            disk.projects.merge(name, into)
    with pytest.raises(InvalidInput, match="one project already"):
        disk.projects.merge("kiln", "shop")
    with pytest.raises(InvalidInput, match="only repository"):
        disk.projects.split("clone", str(disk.root / "clone"))
    with pytest.raises(NotFound):
        disk.projects.split("none", str(disk.root / "clone"))
    with pytest.raises(NotFound):
        disk.projects.split("shop", str(disk.root))


def test_a_vault_that_cannot_be_written_keeps_projects_apart_too(disk: Disk) -> None:
    (disk.vault / ".mcp-memory" / "vault.toml").unlink()
    of_one_name(disk)
    projects = disk.projects
    folders = [str(disk.root / folder) for folder in ("work/my-app", "personal/my-app", "work/my-app")]
    assert [projects.label_of(folder) for folder in folders] == ["my-app", "my-app (personal)", "my-app"]
    assert not (disk.vault / FILE).exists()


def test_a_repository_stays_one_project_with_its_first_commit(disk: Disk) -> None:
    shop = repository(disk.root / "shop", first=None)
    running = disk.projects
    assert running.label_of(str(shop)) == "shop"
    git("commit", "-q", "--allow-empty", "-m", "first", cwd=shop)
    assert disk.label("shop") == "shop", "a program that has just started sees the commit"
    assert running.label_of(str(shop)) == "shop", "so does one that asked git before"
    assert list(disk.tables()) == ["shop"]


def test_nothing_is_started_for_what_is_known(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    disk.make("shop", SHOP)
    assert disk.label("shop") == "shop"
    before = (disk.vault / FILE).stat()
    monkeypatch.setenv("PATH", "")
    assert disk.label("shop") == "shop"
    assert (disk.vault / FILE).stat() == before


def test_the_vault_itself_is_none(disk: Disk) -> None:
    git("init", "-q", cwd=disk.vault)
    assert disk.label("memory") is disk.label("memory/notes") is None


@pytest.mark.parametrize("origin", ["", SHOP])
@pytest.mark.parametrize("is_known", [True, False])
def test_slow_git_makes_no_project_of_a_known_one(
    disk: Disk, monkeypatch: pytest.MonkeyPatch, origin: str, is_known: bool
):
    disk.make("work/shop", origin)
    if is_known:
        assert disk.label("work/shop") == "shop"
    before = (disk.vault / FILE).read_bytes() if is_known else None
    asked = disk.root / "asked"
    slow = disk.root / "slow" / "git"
    slow.parent.mkdir()
    slow.write_text(f"#!/bin/sh\necho >> {asked}\nexec sleep 60\n")
    slow.chmod(0o755)
    monkeypatch.setattr(repository_facts, "GIT_S", 0.1)
    with monkeypatch.context() as path:
        path.setenv("PATH", f"{slow.parent}:{os.environ['PATH']}")
        running = disk.projects
        assert [running.label_of(str(disk.root / "work" / "shop")) for _ in range(3)] == ["shop"] * 3
    assert (disk.vault / FILE).read_bytes() == before if is_known else not (disk.vault / FILE).exists()
    is_git_asked = not (is_known and origin)
    assert asked.exists() is running.is_git_late is is_git_asked
    assert not is_git_asked or asked.read_text() == "\n", "it isn't asked at each call"
    assert disk.label("work/shop") == "shop" and list(disk.tables()) == ["shop"]
    assert disk.tables()["shop"]["first_commits"], "learned once git answers"


@pytest.mark.parametrize("name", ["none", "Null", "undefined"])
def test_a_name_that_reads_as_no_project_gets_its_folder_behind_it(disk: Disk, name: str):
    disk.make(f"work/{name}")
    assert disk.label(f"work/{name}") == f"{name} (work)"
