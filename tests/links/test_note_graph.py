"""A note's links both ways, and what is reached over several hops: without going round in circles, and fast."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mcp_memory.index import INDEXES
from mcp_memory.links.feature import MOST_SHOWN, NoteGraph
from mcp_memory.models import NotePath, NoteState
from tests.support.index_contract import Upsert, linking, start


def graph_of(folder: Path, *notes: Upsert) -> NoteGraph:
    index = INDEXES.get("sqlite")(folder / "index")
    start(index, notes)
    return NoteGraph(index)


def ways(answer: dict[str, Any]) -> dict[str, list[tuple[str, bool, str]]]:
    return {one["path"]: [(hop["type"], hop["back"], hop["path"]) for hop in one["by"]] for one in answer["neighbours"]}


def test_each_note_is_reached_once_by_the_shortest_way_with_its_types(tmp_path: Path) -> None:
    texts = {"a": "- because: [[b]]", "b": "[[c]] [[a]]", "c": "[[a]] [[d]]", "d": "[[d]]", "e": "caused by: [[d]]"}
    graph = graph_of(tmp_path, *(linking(NotePath(f"{name}.md"), text) for name, text in texts.items()))
    near = graph.describe(NotePath("a.md"), 1)
    assert [(one["type"], one["to"][0]["path"]) for one in near["links"]] == [("because", "b.md")]
    assert [(one["type"], one["from"]["path"]) for one in near["backlinks"]] == [("link", "b.md"), ("link", "c.md")]
    assert near["neighbours"] == []
    far = ways(graph.describe(NotePath("a.md"), 5))
    assert far == {
        "d.md": [("link", True, "c.md"), ("link", False, "d.md")],
        "e.md": [("link", True, "c.md"), ("link", False, "d.md"), ("caused_by", True, "e.md")],
    }
    assert set(ways(graph.describe(NotePath("a.md"), 2))) == {"d.md"}


def test_a_page_that_we_made_leads_no_further(tmp_path: Path) -> None:
    page = linking(NotePath("page.md"), "[[a]] [[b]] [[c]]", state=NoteState.SUMMARY)
    notes = [
        linking(NotePath(f"{name}.md"), text) for name, text in {"a": "[[b]]", "b": "", "c": "", "d": "[[b]]"}.items()
    ]
    graph = graph_of(tmp_path, page, *notes)
    assert set(ways(graph.describe(NotePath("a.md"), 3))) == {"d.md"}, "not c, which the page lists, too"
    assert [one["from"]["path"] for one in graph.describe(NotePath("a.md"), 1)["backlinks"]] == ["page.md"]


def test_a_note_that_10_000_others_link_to_is_summed_up(tmp_path: Path) -> None:
    others = (linking(NotePath(f"n/{number}.md"), "- because: [[hub]]") for number in range(10_000))
    graph = graph_of(tmp_path, linking(NotePath("hub.md"), "[[n/1]]"), *others)
    answer = graph.describe(NotePath("hub.md"), 5)
    assert answer["count"] == 10_000 and len(answer["backlinks"]) == MOST_SHOWN
    assert answer["types"] == {"because": MOST_SHOWN}
    assert len(answer["neighbours"]) == 0, "all that is known of them is one hop away"


@pytest.mark.parametrize("text", ["[[nothing]]", "[[twin]]", ""])
def test_what_leads_to_no_note_or_to_several_leads_no_further(tmp_path: Path, text: str) -> None:
    twins = [linking(NotePath(f"{folder}/twin.md"), "[[far]]") for folder in "xy"]
    graph = graph_of(tmp_path, linking(NotePath("a.md"), text), *twins, linking(NotePath("far.md"), ""))
    assert graph.describe(NotePath("a.md"), 3)["neighbours"] == []
