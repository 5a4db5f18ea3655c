"""What an install brings: nothing of PyTorch by default, and each package in the version that was tried."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, requires

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.integrations.manifests import CHECKOUT, PROJECT

PINNED = re.compile(r"^([\w.-]+)==\S+( ;.*)?$", re.MULTILINE)
SYSTEMS = [
    {
        **default_environment(),
        "python_version": python,
        "python_full_version": f"{python}.2",
        "sys_platform": system,
        "platform_system": system.capitalize(),
    }
    for python in ("3.11", "3.12", "3.13", "3.14")
    for system in ("linux", "darwin")
]


def test_the_default_install_has_nothing_of_torch_and_every_package_is_pinned() -> None:
    pinned = {canonicalize_name(name) for name, _ in PINNED.findall((CHECKOUT / "configs/constraints.txt").read_text())}
    default = set(closure(PROJECT["dependencies"]))
    assert len(default) > 60
    assert default.isdisjoint({"torch", "sentence-transformers", "transformers", "scipy", "scikit-learn", "triton"})
    assert default - pinned == set()
    for extra in PROJECT["optional-dependencies"]:
        wanted = [each for each in PROJECT["optional-dependencies"][extra] if not each.startswith(PROJECT["name"])]
        assert set(closure(wanted)) - pinned == set(), extra


def closure(wanted: Iterable[str]) -> Iterator[str]:
    """The packages that these requirements bring, on any system and Python that we support."""
    waiting, seen = [Requirement(each) for each in wanted], set[tuple[str, frozenset[str]]]()
    while waiting:
        requirement = waiting.pop()
        name, extras = canonicalize_name(requirement.name), frozenset({"", *requirement.extras})
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        yield name
        try:
            needed = [Requirement(each) for each in requires(name) or ()]
        except PackageNotFoundError:  # of an extra that is not installed, or of another system
            continue
        waiting += [
            each
            for each in needed
            if not each.marker
            or any(each.marker.evaluate({**system, "extra": extra}) for system in SYSTEMS for extra in extras)
        ]
