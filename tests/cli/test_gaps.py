"""gaps: what memory could not answer is listed, and answered with one command."""

from __future__ import annotations

from pathlib import Path

from tests.daemon.place import Place
from tests.support.terminal import typed


def test_a_question_without_an_answer_is_listed_until_it_is_answered(tmp_path: Path, model_cache: Path) -> None:
    place = Place(tmp_path, model_cache).make()
    with place.started():
        assert "no gap" in place.run("gaps").ok().out
        place.run("append", "-k", "fact", "The heron fishes below the weir.").ok()
        for _ in range(2):
            place.run("search", "how", "tall", "is", "the", "old", "lighthouse?", "-p", "island").ok()
        (gap,) = place.run("gaps", "-p", "island", "--json").ok().json["gaps"]
        assert (gap["project"], gap["times"], gap["question"]) == ("island", 2, None)
        shown = place.run("gaps", "-p", "island").ok().out
        assert f"{gap['id']}  island: asked 2 times" in shown and "lighthouse" not in shown
        assert place.run("gaps", "--answer", "nope", "41 m").code == 4
        assert place.run("gaps", "--answer", gap["id"]).code == place.run("gaps", "41 m").code == 2
        assert place.run("gaps", "--answer", gap["id"], "It is 41 m tall.").ok().out.startswith("answered; created")
        assert "no gap" in place.run("gaps", "-p", "island").ok().out


def test_in_a_review_a_question_is_answered_in_an_editor_or_dropped_for_good(tmp_path: Path, model_cache: Path) -> None:
    place = Place(tmp_path, model_cache, {"MCP_MEMORY_USAGE_KEEP_QUESTIONS": "true"}).make()
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\necho "It is 41 m tall." > "$1"\n')
    editor.chmod(0o755)
    with place.started():
        place.run("append", "-k", "fact", "The heron fishes below the weir.").ok()
        for question in ("how tall is the old lighthouse?", "when does the bakery open?") * 2:
            place.run("search", question, "-p", "island").ok()
        first, second = (one["text"] for one in place.run("review", "--json").ok().json["waiting"])
        assert place.run("review", "--accept-all-above", "0").ok().out.strip() == "no candidate has that score"
        # Keys of candidates do nothing; the first is dropped, and doesn't come back; the second is answered.
        shown = typed(place, "review", ["a", "k", "m", "d", "b", "e"], EDITOR=str(editor))
        assert "1 is dropped already\r\n" in shown and "error" not in shown.lower() and "0 candidates left" in shown
        (note,) = (
            file.read_text() for file in (place.vault / "notes" / "fact").iterdir() if "41 m" in file.read_text()
        )
        assert f"{second}\n\nIt is 41 m tall." in note and "project: island" in note
        assert place.run("gaps", "--json").ok().json["gaps"] == [] and first not in note
