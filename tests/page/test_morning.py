"""The first view: what is due, what waits, where work stopped, what changed, and what takes each back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

from tests.daemon.conftest import KEYWORDS_ONLY
from tests.daemon.place import Place, eventually
from tests.page.browser import Browser, call, memory


@pytest.fixture
def morning(place: Place) -> Iterator[Browser]:
    with memory(place) as browser:
        yield browser


def test_an_empty_memory_says_what_to_try(morning: Browser):
    page = morning.see()
    assert "Three things to try" in page.text
    assert page.tags.count("li") == 3


def test_what_is_due_is_ticked_off_and_taken_back(morning: Browser):
    day = date.today() - timedelta(days=3)
    call(morning.daemon, "append", content="Send Petra the list", kind="commitment", due=day.isoformat())
    page = morning.see()
    assert "Overdue Send Petra the list" in page.text
    page = morning.press(page.form("Done"))
    assert "Overdue" not in page.text
    page = morning.press(page.form("Undo"))
    assert "Overdue Send Petra the list" in page.text


def test_a_change_shows_who_made_it_and_is_undone(morning: Browser):
    note = call(
        morning.daemon, "append", "codex", content="The port is 8087.", kind="fact", project="shop", session="4be1"
    )
    page = morning.see()
    assert "stored The port is 8087. shop codex session 4be1" in page.text
    page = morning.press(page.form("Undo"))
    assert "undone" in page.text
    assert call(morning.daemon, "forgotten")["forgotten"][0]["path"] == note["path"]


def test_a_contradiction_is_decided_and_taken_back(morning: Browser):
    old, new = (
        call(morning.daemon, "append", "codex", content=f"The staging proxy listens on port {port}.", kind="fact")
        for port in (8087, 8090)
    )
    page = eventually(lambda: (page := morning.see()) and "Keep newer" in page.text and page)
    page = morning.press(page.form("Keep newer"))
    assert "Decided." in page.text
    assert "Keep newer" not in page.text
    assert call(morning.daemon, "history", target=new["id"])["chain"][-1]["id"] == old["id"]
    page = morning.press(page.form("Undo", targets=new["id"]))
    assert "Undone." in page.text
    assert len(call(morning.daemon, "history", target=new["id"])["chain"]) == 1


def test_a_proposal_is_accepted(morning: Browser):
    text = "---\nid: 01KDZZZZZZZZZZZZZZZZZZZZ01\ntitle: Small commits\nkind: preference\n---\n\nPrefer small commits.\n"
    box = next(morning.daemon.place.vault.rglob("_inbox"), morning.daemon.place.vault / "_inbox")
    box.mkdir(exist_ok=True)
    (box / "small.md").write_text(text)
    page = eventually(lambda: (page := morning.see()) and "Prefer small commits." in page.text and page)
    call(morning.daemon, "adopt", path=box.name)
    page = morning.press(page.form("Accept"))
    assert "No decision waits for you." in page.text
    assert call(morning.daemon, "search", query="small commits")["hits"]


def test_a_private_note_is_veiled_everywhere(morning: Browser):
    due = date.today().isoformat()
    call(morning.daemon, "append", content="Call the clinic", kind="commitment", due=due, tags=["private"])
    html = morning.see().html
    veiled = [part for part in html.split("<details")[1:] if part.lstrip().startswith('class="veil"')]
    assert html.count("Call the clinic") == len(veiled) == 2
    assert all("Call the clinic" in part.partition("</details>")[0] for part in veiled)


def test_any_day_and_week_can_be_seen(morning: Browser):
    call(morning.daemon, "append", content="The kiln fires at 1240 degrees.", kind="fact")
    today, day = date.today(), timedelta(days=1)
    is_shown = {
        when: "The kiln fires" in morning.see(f"/ui?{when}").text
        for when in ("", f"day={today}", f"day={today - day}", f"week=1&day={today}", f"week=1&day={today - 7 * day}")
    }
    assert list(is_shown.values()) == [True, True, False, True, False]
    assert morning.send("GET", "/ui?day=nonsense&n=-3").status == 200


def test_the_last_look_is_remembered_by_the_browser(morning: Browser):
    call(morning.daemon, "append", content="The kiln fires at 1240 degrees.", kind="fact")
    assert "The kiln fires" in morning.see().text
    before, _, latest = morning.cookies["looked"].partition("~")
    morning.see()
    assert morning.cookies["looked"].partition("~")[0] == before  # still the same look
    hour_ago = (datetime.fromisoformat(latest) - timedelta(hours=1)).isoformat()
    morning.cookies["looked"] = f"{before}~{hour_ago}"
    morning.see()
    assert morning.cookies["looked"].partition("~")[0] == hour_ago


def test_many_changes_come_in_pages(morning: Browser):
    for number in range(45):
        call(morning.daemon, "append", content=f"The shelf {number} holds {number * 7} bowls.", kind="fact")
    page = morning.see()
    assert page.text.count("bowls") == 40
    more = next(link for link in page.links if link.startswith("?n="))
    assert morning.see(f"/ui{more}").text.count("bowls") == 45


def test_a_page_costs_nothing_before_it_is_opened(tmp_path: Path):
    place = Place(tmp_path, tmp_path / "models", KEYWORDS_ONLY).make()
    code = (
        "import sys\nfrom mcp_memory import Memory\n"
        f"with Memory.open({str(place.vault)!r}) as memory: memory.append('x y z', kind='fact')\n"
        "assert not {'jinja2', 'nh3', 'mcp_memory.page.site'} & set(sys.modules)"
    )
    import subprocess
    import sys

    assert subprocess.run([sys.executable, "-c", code], env=place.environ, timeout=60).returncode == 0
