"""The view of settings: their meanings, values and origins, and a change in the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.daemon.place import Place
from tests.page.browser import call, memory


def test_a_setting_is_changed_in_the_file_and_nothing_else(place: Place):
    file = Path(place.run("config", "path").ok().out.strip())
    file.parent.mkdir(parents=True, exist_ok=True)
    before = "# mine\r\n[capture]\r\nkeep_days = 30   # a month\r\n\r\n[hooks]\r\noff = [\"errors\"] # 'quiet'\r\n"
    file.write_bytes(before.encode())
    with memory(place) as browser:
        page = browser.see("/ui/settings")
        assert "capture.keep_days 30 then captured text is deleted" in page.text
        assert f"from {file}" in page.text and "mcp-memory restart" not in page.text
        change = page.form("Change", key="capture.keep_days")
        change.fields["value"] = "60"
        page = browser.press(change)
        assert file.read_bytes().decode() == before.replace("= 30 ", "= 60 ")
        assert "still 30 until a restart" in page.text and "mcp-memory restart" in page.text
        change = page.form("Change", key="hooks.off")
        change.fields["value"] = "errors, stops"
        browser.press(change)
        assert '["errors", "stops"] # \'quiet\'' in file.read_bytes().decode()
        browser.press(browser.see("/ui/settings").form("Turn off", key="capture.enabled"))
        place.run("restart").ok()
        assert "capture.enabled no" in browser.see("/ui/settings").text


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("capture.keep_days", "x", "whole number"),
        ("hooks.ask_below", "7", "0 to 1"),
        ("capture.keep_days", " ", "type a value"),
        ("daemon.auth", "none", "doesn't show that setting"),
    ],
)
def test_an_unusable_value_is_refused_and_nothing_is_written(place: Place, key: str, value: str, words: str):
    with memory(place) as browser:
        form = browser.see("/ui/settings").form("Change", key="capture.keep_days")
        form.fields |= {"key": key, "value": value}
        assert words in browser.press(form).text
        assert not Path(place.run("config", "path").ok().out.strip()).exists()


def test_a_setting_of_the_environment_is_not_written(place: Place):
    place = Place(place.root, place.models, {**place.more, "MCP_MEMORY_CAPTURE_KEEP_DAYS": "12"})
    with memory(place) as browser:
        page = browser.see("/ui/settings")
        assert "from MCP_MEMORY_CAPTURE_KEEP_DAYS" in page.text
        assert "change it in the environment" in browser.press(page.form("Change", key="capture.keep_days")).text


def test_each_setting_of_the_view_is_explained(place: Place):
    with memory(place) as browser:
        known = {
            f"{one['section']}.{one['key']}": one["meaning"] for one in call(browser.daemon, "settings")["settings"]
        }
    assert known["hooks.enabled"] == "false: hooks output nothing"
    assert known["hooks.off"].endswith("filling in their project and session")
    assert all(known.values())
