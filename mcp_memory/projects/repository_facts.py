"""Find the repository around a folder, and the facts that identify it: its remotes and its first commits."""

import os
import re
import stat
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from time import monotonic

from mcp_memory.errors import GitTooSlow, GitUnavailable
from mcp_memory.models import is_closed
from mcp_memory.projects.git_config import normalized, read_bytes, read_values, remotes
from mcp_memory.runtime.git_command import Git

MAX_LABEL_CHARS = 100
"""The limit of `project` in every tool."""

GIT_S = 3.0
"""The seconds for git to find the first commits; of 1,000,000 commits it takes 2 s without a commit graph."""

_GIT_FOLDERS = frozenset({".git", ".bare"})
_HOST = re.compile(r"\s*(Host|HostName)[\s=]+(.+?)\s*", re.IGNORECASE)


@dataclass(frozen=True)
class RepositoryFacts:
    """The facts of a repository. `folder` is its own folder, the same for all of its work trees. `shared` is the folder
    in which git keeps their shared data. `origin` is empty without a remote, and `upstream` without a second remote of
    that name."""

    folder: str
    shared: str
    origin: str = ""
    upstream: str = ""

    @property
    def name(self) -> str:
        return os.path.basename(self.folder).removesuffix(".git")

    @property
    def first_commits(self) -> tuple[str, ...]:
        """Return where the history of each branch begins, followed by its first parents; empty for a shallow clone,
        without a commit, and if git can't answer."""
        return self._first_commits or ()

    @cached_property
    def _first_commits(self) -> tuple[str, ...] | None:
        """Ask git for the first commits, once. None if it doesn't answer in time."""
        if os.path.exists(f"{self.shared}/shallow"):
            return ()
        git = Git(Path(self.shared), monotonic() + GIT_S)
        command = ("rev-list", "--max-parents=0", "--first-parent", "--branches")
        try:
            return tuple(sorted(git.run(f"--git-dir={self.shared}", *command).decode().split()))
        except GitTooSlow:
            return None
        except GitUnavailable:
            return ()

    @property
    def had_no_commit(self) -> bool:
        """Return whether git was asked for the first commits, and there were none yet."""
        return self.__dict__.get("_first_commits") == ()

    @property
    def was_git_late(self) -> bool:
        """Return whether git was asked for the first commits, and didn't answer in time."""
        return self.__dict__.get("_first_commits", ()) is None

    @cached_property
    def age(self) -> tuple[int, int]:
        """Return the age, which differs from the age of another repository that was at this place before."""
        try:
            found = os.stat(self.shared)
        except OSError:
            return (0, 0)
        return found.st_dev, found.st_ino


def find_repository_facts(folder: str, vault: str = "") -> RepositoryFacts | None:
    """Return the facts of the repository around a folder; a submodule has its own. None outside of repositories, in
    the `vault`, in a repository that holds your home folder, and if the name can't be a label. Doesn't start git, which
    would take as long as everything else."""
    if "\0" in folder or not folder.startswith("/"):
        return None
    folder = os.path.normpath("/" + folder.lstrip("/"))
    if vault and f"{folder}/".startswith(f"{vault}/"):
        return None
    while not (shared := _shared_folder(folder)) and folder != "/":
        folder = os.path.dirname(folder)
    if not shared:
        return None
    place, name = os.path.split(shared)
    own = os.path.realpath(place if name in _GIT_FOLDERS else shared)
    label = os.path.basename(own).removesuffix(".git")
    if _holds_home(os.path.realpath(folder)) or _holds_home(own) or not is_label(label):
        return None
    above = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    files = (f"{above}/git/config", os.path.expanduser("~/.gitconfig"))
    values = [one for file in files for one in read_values(file) if one.section == "url"]  # for all repositories
    values += read_values(f"{shared}/config")
    found = remotes(values)
    origin = found.get("origin") or (next(iter(found.values())) if len(found) == 1 else "")
    return RepositoryFacts(own, shared, _address(origin, own), _address(found.get("upstream", ""), own))


def is_label(name: str) -> bool:
    """Return whether the name can be a project's: `*` means all of them, and the names of conversations
    and sessions begin like no folder's."""
    is_plain = bool(name.strip()) and name.isprintable() and len(name) <= MAX_LABEL_CHARS
    return is_plain and name != "*" and not is_closed(name)


def name_in(label: str) -> str:
    """Return the folder's name from a project's label: `my-app` from `my-app (personal)`."""
    return label.partition(" (")[0]


def _holds_home(folder: str) -> bool:
    home = os.path.realpath(os.path.expanduser("~"))
    return f"{home}/".startswith(f"{folder.rstrip('/')}/")


def _address(url: str, folder: str) -> str:
    if url.startswith(("./", "../")):
        url = os.path.normpath(os.path.join(folder, url))
    elif url.startswith("~/"):
        url = os.path.expanduser(url)
    return normalized(url, _host_of) if url else ""


def _host_of(name: str) -> str:
    """Return the host that a name means to ssh."""
    is_ours = False
    for line in os.fsdecode(read_bytes(os.path.expanduser("~/.ssh/config"))).splitlines():
        if (found := _HOST.fullmatch(line)) is None:
            continue
        words = found[2].strip('"').split()
        if found[1].lower() == "host":
            is_ours = name in words
        elif is_ours and len(words) == 1 and "%" not in words[0]:
            return words[0]
    return name


def _shared_folder(folder: str) -> str | None:
    """Return the folder in which git keeps what all work trees share, if `folder` is the root of a work tree, or a bare
    repository. If its `.git` is a file that leads nowhere, return the folder that it named before the repository moved,
    else `.git`."""
    inside = f"{folder}/.git"
    try:
        is_file = stat.S_ISREG(os.stat(inside).st_mode)
    except OSError:
        if os.path.lexists(inside):
            return inside
        is_bare = os.path.isfile(f"{folder}/HEAD") and os.path.isdir(f"{folder}/objects")
        return folder if is_bare and os.path.isdir(f"{folder}/refs") else None
    named = _line_of(inside).removeprefix("gitdir:").strip() if is_file else ""
    if not named:
        return inside
    own = os.path.normpath(os.path.join(os.path.realpath(folder), named))
    if shared := _line_of(f"{own}/commondir").strip():
        return os.path.normpath(os.path.join(own, shared))
    if os.path.isfile(f"{own}/HEAD"):
        return own
    above = os.path.dirname(own)
    return os.path.dirname(above) if os.path.basename(above) == "worktrees" else inside


def _line_of(file: str) -> str:
    """Return a file's first line."""
    return os.fsdecode(read_bytes(file)).partition("\n")[0]
