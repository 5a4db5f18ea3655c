"""The view of projects: what each is known by, and which are one."""

from __future__ import annotations

from tests.page.browser import Browser, call


def test_two_names_of_a_project_are_merged(browser: Browser):
    call(browser.daemon, "append", content="The kiln fires at 1240 degrees.", project="kiln")
    call(browser.daemon, "append", content="The glaze needs a second coat.", project="kiln-old")
    page = browser.see("/ui/projects")
    assert "kiln-old 1 note" in page.text
    form = page.form("Merge", name="kiln-old")
    form.fields["other"] = "kiln"
    page = browser.press(form)
    assert "They are one project now." in page.text
    assert "kiln 2 notes" in page.text and "Also called kiln-old" in page.text


def test_what_cannot_be_split_is_said(browser: Browser):
    call(browser.daemon, "append", content="The kiln fires at 1240 degrees.", project="kiln")
    call(browser.daemon, "append", content="Bees swarm in May.", project="bees")
    form = browser.see("/ui/projects").form("Merge", name="bees")
    form.action = "/ui/do/split-project"
    form.fields["other"] = str(browser.daemon.place.root)
    assert "no repository that can be a project" in browser.press(form).text
