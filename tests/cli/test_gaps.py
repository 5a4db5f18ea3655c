"""gaps: what memory could not answer is listed, and answered with one command."""

from __future__ import annotations

from pathlib import Path

from tests.daemon.place import Place


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
