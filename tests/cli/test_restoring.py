"""restore gives a note back as it was, whether it was forgotten, archived, or both."""

from __future__ import annotations

from tests.daemon.place import Place


def test_a_note_that_was_archived_when_it_was_forgotten_comes_back_archived(served: Place):
    note = served.run("append", "--json", "-k", "fact", "The sluice was rebuilt in 1931.").ok().json
    served.run("archive", note["id"]).ok()
    before = (served.vault / note["path"]).read_bytes()
    served.run("forget", note["id"]).ok()
    assert served.run("restore", note["id"], "--json").ok().json["status"] == "archived"
    assert (served.vault / note["path"]).read_bytes() == before
    assert served.run("restore", note["id"], "--json").ok().json["status"] == "active"
    served.run("forget", note["id"]).ok()
    assert served.run("restore", note["id"]).ok().out == f"restored  {note['path']}\n"


def test_what_is_in_the_archive_folder_comes_back(served: Place):
    def archived(text: str, *more: str) -> dict:
        return served.run("append", "--json", "-k", "fact", text, *more).ok().json

    old = archived("The toll of the bridge is 3 crowns.")
    archived("The toll of the bridge is 4 crowns.", "--supersedes", old["id"])
    marked = archived("The ferry bell hangs at the east pier.")
    served.run("archive", marked["id"]).ok()
    for note in (old, marked):
        file = served.vault / "_archive" / note["path"]
        file.parent.mkdir(parents=True, exist_ok=True)
        (served.vault / note["path"]).rename(file)
    served.run("doctor", "--reindex").ok()
    for note, status in ((old, "superseded"), (marked, "active")):
        served.run("forget", note["id"]).ok()
        there = served.run("restore", note["id"], "--json").ok().json
        assert there["path"] == f"_archive/{note['path']}", "as it was before it was forgotten"
        answer = served.run("restore", note["id"], "--json").ok().json
        assert (answer["id"], answer["path"], answer["status"]) == (note["id"], note["path"], status)
        assert (served.vault / note["path"]).exists()
