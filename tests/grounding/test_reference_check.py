from __future__ import annotations

import pytest

from tests.support.shop_repository import Shop


def test_a_symbol_is_ok_until_its_code_changes_and_the_commit_is_named(shop: Shop) -> None:
    known = shop.ground("`src/sync.py:Sync.retry`")
    shop.change("src/sync.py", ("return delay + 1", "return delay + 2"), ("    def retry", "    # why\n    def retry"))
    shop.commit()
    assert shop.check(known).outcome == "ok"
    shop.change("src/sync.py", ("range(times)", "range(times + 1)"))
    assert shop.check(known).changed == "uncommitted"
    commit = shop.commit()
    shop.change("src/sync.py", ("return delay + 2", "return delay + 3"))
    shop.commit()
    now = shop.check(known)
    assert now.remark == f"code changed since, in {commit}" and now.changed == f"{commit} 2026-11-21"
    shop.change("src/sync.py", ("range(times + 1)", "range(times)"))
    assert shop.check(now).outcome == "ok", "changed back"


@pytest.mark.parametrize(
    ("text", "now"),
    [
        ("`src/sync.py:Sync.retry`", "lib/sync.py:Sync.retry"),
        ("sync.py:9", "lib/sync.py:Sync.retry"),
        ("the file src/sync.py", "lib/sync.py"),
        ("`just test`", "tools/justfile:test"),
    ],
)
def test_what_moves_with_its_file_is_followed(shop: Shop, text: str, now: str) -> None:
    known = shop.ground(text)
    for step in ("old", "lib"):  # twice
        for name, folder in (("sync.py", step), ("justfile", "tools" if step == "lib" else step)):
            (shop.root / folder).mkdir(exist_ok=True)
            source = next(shop.root.rglob(name))
            shop.git("mv", str(source.relative_to(shop.root)), f"{folder}/{name}")
            if step == "old":
                shop.commit()
    found = shop.check(known)
    assert (found.outcome, found.remark) == ("moved", f"moved to {now}"), "the second only in git's index"
    shop.git("rm", "-rfq", "lib", "tools")
    assert shop.check(found).outcome == "gone"


def test_a_function_that_went_to_another_file_or_got_another_name_is_followed(shop: Shop) -> None:
    moved, renamed = shop.ground("`src/sync.py:Sync.once`"), shop.ground("`src/sync.py:backoff`")
    method = "    def once(self):\n        return self.limit > 0\n"
    shop.change("src/sync.py", (method, ""), ("def backoff(", "def delay_for("))
    shop.write("src/base.py", f"class Base:\n{method}")
    shop.commit()
    assert shop.check(moved).remark == "moved to src/base.py:Base.once"
    assert shop.check(renamed).remark == "moved to src/sync.py:delay_for"


def test_what_is_gone_is_gone_until_it_is_back(shop: Shop) -> None:
    symbol, file, command = map(shop.ground, ("`src/sync.py:Sync.once`", "docs/guide.md", "`just test`"))
    shop.change("src/sync.py", ("    def once(self):\n        return self.limit > 0\n", ""))
    shop.git("rm", "-q", "docs/guide.md")
    shop.write("justfile", "lint:\n    ruff\n")
    shop.commit()
    gone = [shop.check(one) for one in (symbol, file, command)]
    assert [one.remark for one in gone] == ["symbol is gone", "file is gone", "symbol is gone"]
    shop.git("checkout", "-q", "HEAD~1")
    assert [shop.check(one).outcome for one in gone] == ["ok", "ok", "ok"]


def test_a_file_is_to_be_checked_once_most_of_it_is_new(shop: Shop) -> None:
    known = shop.ground("docs/guide.md")
    shop.change("docs/guide.md", *((f"line {number}\n", f"other {number}\n") for number in range(2, 5)))
    shop.commit()
    assert shop.check(known).outcome == "ok"
    shop.write("docs/guide.md", "all new\n" * 30)
    commit = shop.commit()
    assert shop.check(known).changed == f"{commit} 2026-11-21"


def test_a_commit_that_the_repository_has(shop: Shop) -> None:
    commit = shop.git("rev-parse", "--short", "HEAD")
    known = shop.ground(f"fixed in {commit}")
    assert known.outcome == "ok"
    shop.git("checkout", "-q", "--orphan", "new")
    shop.commit("2026-11-22T09:00:00+00:00")
    shop.git("branch", "-D", "main")
    shop.git("reflog", "expire", "--expire=now", "--all")
    shop.git("gc", "-q", "--prune=now")
    assert shop.check(known).remark == "commit is gone"


def test_a_shallow_clone_says_what_it_can(shop: Shop) -> None:
    known = shop.ground("`src/sync.py:backoff`")
    shop.change("src/sync.py", ("return delay + 1", "return delay + 2"))
    shop.commit()
    shop.git("clone", "-q", "--depth", "1", f"file://{shop.root}", "../shallow")
    assert Shop(shop.root.parent / "shallow").check(known).outcome == "changed"
