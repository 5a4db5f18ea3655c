"""due, append --due and a key of review: what was promised is listed and ends when it is done."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

from tests.daemon.conftest import KEYWORDS_ONLY
from tests.daemon.place import Place
from tests.support.terminal import typed


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path, tmp_path / "models", KEYWORDS_ONLY).make()


def test_what_is_promised_is_listed_until_it_is_done(place: Place) -> None:
    told = {"role": "user", "text": "Remind me tomorrow to pay Bo.", "at": datetime.now().astimezone().isoformat()}
    (place.root / "talk.jsonl").write_text(json.dumps(told))
    with place.started():
        assert "nothing is due" in place.run("due").ok().out
        today = date.today()
        for text, day in (("Send Petra the list", today), ("Call Ada", today - timedelta(days=3))):
            answer = place.run("append", "-k", "commitment", text, "--due", day.isoformat(), "--no-project").ok().out
            assert f"due {day:%a %Y-%m-%d}" in answer
        assert "pass --due" in place.run("append", "-k", "commitment", "Paint the dinghy", "--no-project").ok().out
        place.run("append", "-k", "commitment", "Renew the berth", "--due", "2099-01-01").ok()
        place.run("sessions", "extract", "talk.jsonl").ok()
        shown = place.run("due").ok().out
        heads = [shown.index(words) for words in ("Overdue", "Call Ada", "Today", "Send Petra", "1 commitment later")]
        assert heads == sorted(heads) and "dinghy" not in shown and "berth" not in shown
        assert "berth" in place.run("due", "--all").ok().out
        found = place.run("due", "--json").ok().json["commitments"]
        ids = {one["title"]: one["id"] for one in found}
        done = place.run("due", "--done", ids["Call Ada"][-6:]).ok().out
        assert done.startswith("done: ") and "mcp-memory restore" in done
        assert "Done\n" in place.run("due").ok().out
        assert "(notes/commitment" in typed(place, "review", "f")
        left = {one["title"]: one["stage"] for one in place.run("due", "--json").ok().json["commitments"]}
        assert left["Call Ada"] == left["Remind me tomorrow to pay Bo."] == "done"
        assert left["Send Petra the list"] == "due today"
        assert place.run("due", "--done", "NOSUCH").code == 4
