"""The project of a command is that of the git repository that you are in."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.daemon.place import Place


@pytest.fixture
def shop(served: Place, tmp_path: Path) -> Place:
    """In a git repository called shop."""
    here = Place(tmp_path / "shop", served.models, served.environ).make()
    (here.root / ".git").mkdir()
    return here


def test_the_project_is_that_of_the_repository_and_is_named(served: Place, shop: Place):
    ours = shop.run("append", "-k", "fact", "The quay at the mill has 3 cranes.").ok()
    assert "project: shop (the git repository you are in; else pass --no-project or -p NAME)" in ours.err
    shop.run("append", "-k", "fact", "--no-project", "The quay at the inn has 4 cranes.").ok()
    shop.run("append", "-k", "fact", "-p", "port", "The quay at the port has 5 cranes.").ok()

    def found(place: Place, *options: str) -> set[str]:
        hits = place.run("search", "--json", "quay cranes", *options).ok().json["hits"]
        return {word for hit in hits for word in ("mill", "inn", "port") if f"the {word}" in hit["snippet"]}

    assert found(shop) == {"mill", "inn"}
    assert found(shop, "--all-projects") == found(shop, "-p", "*") == found(served) == {"mill", "inn", "port"}
    assert found(shop, "-p", "port") == {"inn", "port"}
    assert "project: shop" in shop.run("search", "quay").ok().err
    named = shop.run("search", "quay", "--json").ok()
    assert (named.json["project"], named.err) == ("shop", "")
    assert "project:" not in shop.run("search", "quay", "--all-projects").ok().err
    assert "5 cranes" not in shop.run("recall", "quay cranes").ok().out
    assert "5 cranes" in shop.run("recall", "quay cranes", "--all-projects").ok().out
    listed = shop.run("changes", "-n", "3").ok()
    assert "mill" in listed.out and "inn" in listed.out and "port" not in listed.out
    assert "port" in shop.run("changes", "-n", "3", "--all-projects").ok().out
    theirs = served.run("search", "--json", "-p", "port", "quay port").ok().json["hits"][0]["id"]
    assert "5 cranes" in shop.run("recall", "--id", theirs).ok().out, "a note that you name"


def test_the_vault_is_no_project_even_in_a_repository_of_its_own(served: Place):
    inside = Place(served.vault, served.models, served.environ)
    (served.vault / ".git").mkdir()
    try:
        assert "project:" not in inside.run("search", "quay").ok().err
    finally:
        (served.vault / ".git").rmdir()
