"""links --code: what notes name of code is listed, checked, and confirmed; the hooks say where the repository is."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.daemon.conftest import KEYWORDS_ONLY
from tests.daemon.place import Place
from tests.support.shop_repository import make_shop


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "machine", tmp_path / "models", KEYWORDS_ONLY).make()


def test_what_notes_name_is_listed_checked_and_confirmed(place: Place, tmp_path: Path) -> None:
    shop = make_shop(tmp_path)
    with place.started():
        note = "Retries: `src/sync.py:Sync.retry` tries three times; see docs/guide.md"
        stored = place.run("append", "-p", "shop", note, "--json").ok().json
        unknown = place.run("links", "--code", "--check").ok().out
        assert "not checked: shop: no folder of it is known" in unknown
        prompt = {"session_id": "s1", "cwd": str(shop.root), "prompt": "hello", "hook_event_name": "UserPromptSubmit"}
        place.run("hook", "prompt", "--client", "claude-code", stdin=json.dumps(prompt).encode()).ok()
        assert "2 references to code: 2 ok" in place.run("links", "--code", "--check").ok().out
        shop.change("src/sync.py", ("range(times)", "range(9)"))
        commit = shop.commit()
        shown = place.run("links", "--code", "--check").ok().out
        assert "changed  src/sync.py:Sync.retry" in shown and commit in shown and "guide.md  " not in shown
        linted = place.run("links", "--check").ok().out
        assert (
            "1 note about code that changed" in linted
            and f"src/sync.py:Sync.retry: code changed since, in {commit}" in linted
        )
        assert "ok       docs/guide.md" in place.run("links", "--code", stored["path"]).ok().out
        unnamed = place.run("links", "--code", "--confirm")
        assert unnamed.code == 2 and "name one: mcp-memory links --code NOTE --confirm" in unnamed.err
        assert "2 references to code: 2 ok" in place.run("links", "--code", stored["id"][-6:], "--confirm").ok().out
        assert place.run("links", "--code", "nowhere.md").code == 4
        shutil.rmtree(shop.root)
        gone = place.run("links", "--code", "--check", "--json").ok().json
        assert gone["problems"] == {"shop": "its folder is gone"} and gone["counts"] == {"references": 2, "ok": 2}
