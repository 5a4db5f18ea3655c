"""Decide which known project a repository belongs to, and the name of a new one. Pure, except for git's first commits.

If in doubt, a repository becomes a new project. Its notes are then missing elsewhere until a person merges the two
projects, but a wrong match would give away confidential notes.
"""

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count

from mcp_memory.models import ABSENT
from mcp_memory.projects.git_config import is_local, owner_of, without_end
from mcp_memory.projects.project_book import Project, ProjectBook
from mcp_memory.projects.repository_facts import MAX_LABEL_CHARS, RepositoryFacts, is_label

SAME_ORIGIN = "has the origin of"
"""The reason for two projects that a person has split; without the split they would be one."""
FORK = "is a fork of"
LEAST_NAME_CHARS = 3
"""A shorter name of a repository is part of any other."""


@dataclass(frozen=True)
class NearMatch:
    """A pair of projects that may be the same, and why."""

    label: str
    other: str
    why: str


def find_project(facts: RepositoryFacts, projects: Sequence[Project], is_gone: Callable[[str], bool]) -> Project | None:
    """Return the project of a repository. `is_gone`: whether a folder no longer has a repository."""
    at_home = [one for one in projects if facts.folder in one.folders]
    by_origin = [one for one in projects if facts.origin and facts.origin in one.origins]
    both = [one for one in at_home if one in by_origin]
    # The next two ask git, so they wait until they are needed.
    alike = (one for one in at_home if not (one.origins or one.first_commits) or _begins_alike(facts, one))
    related = (one for one in projects if _is_clone_of(facts, one) or _is_moved(facts, one, is_gone))
    return next(chain(both, alike, by_origin, related), None)


def learn(facts: RepositoryFacts, project: Project, book: ProjectBook, labels_in_use: Collection[str]) -> Project:
    """Return the project with the facts that identify this repository. An origin belongs to one project only. Notes
    under the name of a clone belong to the project, too."""
    others = [one for one in book.projects if one.label != project.label]
    is_ours = bool(facts.origin) and not any(facts.origin in one.origins for one in others)
    repository = os.path.basename(facts.origin)
    is_like_it = len(repository) >= LEAST_NAME_CHARS and repository in facts.name.casefold()
    has_notes = is_like_it and facts.name in labels_in_use and facts.name not in book.names
    learned = Project(
        project.label, (facts.origin,) if is_ours else (), facts.first_commits, (facts.folder,),
        (facts.name,) if has_notes else (),
    )  # fmt: skip
    return project.joined(learned)


def new_project(facts: RepositoryFacts, book: ProjectBook, labels_in_use: Collection[str]) -> Project:
    """Return a project for a repository that belongs to no known one. It gets the notes under its name, unless another
    project has them."""
    possible = (one for one in _labels(facts, labels_in_use) if one not in book.names and is_label(one))
    label = next(one for one in possible if one.strip().lower() not in ABSENT)  # "none" would be read as no project
    return learn(facts, Project(label), book, ())


def near_matches(projects: Sequence[Project], seen: Sequence[tuple[str, RepositoryFacts]]) -> Iterator[NearMatch]:
    """Yield pairs that may be one project. `seen`: repositories that exist now, each with its project's label."""
    found = dict[frozenset[str], NearMatch]()
    for label, facts in seen:
        for other in projects:
            if other.label == label:
                continue
            if facts.origin and facts.origin in other.origins:
                why = SAME_ORIGIN
            elif facts.upstream and facts.upstream in other.origins:
                why = FORK
            elif _begins_alike(facts, other):
                why = "begins with the same commit as"
            else:
                continue
            pair = frozenset((label, other.label))
            if pair not in found or why == FORK:  # which only one of the two can say
                found[pair] = NearMatch(label, other.label, why)
    yield from found.values()


def namesakes(projects: Sequence[Project], loose: Collection[str]) -> Iterator[NearMatch]:
    """Yield projects that only notes name, and those with repositories of the same name."""
    for label in loose:
        for project in projects:
            named = (os.path.basename(known).casefold() for known in (*project.origins, *project.folders))
            if label.casefold() in named:
                yield NearMatch(label, project.label, "is called like the repository of")


def _begins_alike(facts: RepositoryFacts, project: Project) -> bool:
    return not set(facts.first_commits).isdisjoint(project.first_commits)


def _is_clone_of(facts: RepositoryFacts, project: Project) -> bool:
    """Return whether either repository was cloned from the other's folder."""
    is_cloned = is_local(facts.origin) and any(without_end(folder) == facts.origin for folder in project.folders)
    is_source = without_end(facts.folder) in project.origins
    return (is_cloned or is_source) and _begins_alike(facts, project)


def _is_moved(facts: RepositoryFacts, project: Project, is_gone: Callable[[str], bool]) -> bool:
    """Return whether the project's only repository is now this one. Repositories made from one template begin alike,
    too."""
    is_other = facts.origin and project.origins and not is_local(facts.origin)
    return not is_other and all(map(is_gone, project.folders)) and _begins_alike(facts, project)


def _labels(facts: RepositoryFacts, labels_in_use: Collection[str]) -> Iterator[str]:
    """Yield the names that the project may get, best first."""
    repository = os.path.basename(facts.origin).casefold()
    if facts.name not in labels_in_use:  # a clone with a name of its own
        yield from (one for one in sorted(labels_in_use) if one.casefold() == repository)
    yield facts.name
    name = facts.name[: MAX_LABEL_CHARS - 20]
    above = os.path.dirname(facts.folder)
    for place in (os.path.basename(above), owner_of(facts.origin), "/".join(above.split("/")[-2:])):
        if place:
            yield f"{name} ({place})"
    yield from (f"{name} ({number})" for number in count(2))
