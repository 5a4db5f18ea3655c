"""The labels of the set of changed facts and look-alikes name what is there."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from mcp_memory.text.markdown import frontmatter
from tests.evaluation.sets import notes_of, read_set

FOLDER = Path(__file__).with_name("changes")


def test_prompts_are_labelled_note_by_note() -> None:
    prompts = read_set(FOLDER / "prompts.jsonl").questions
    assert len({prompt.id for prompt in prompts}) == len(prompts) >= 100
    kinds = Counter(prompt.category for prompt in prompts if prompt.answerable)
    assert kinds["changed"] >= 30 and kinds["look-alike"] >= 25
    assert sum(not prompt.answerable for prompt in prompts) >= 25
    for prompt in prompts:
        assert prompt.is_prompt and prompt.project in {None, "parcel", "ledger"}
        assert bool(prompt.gold) is prompt.answerable and bool(prompt.outdated) >= (prompt.category == "changed")
        assert not {*prompt.gold, *prompt.also} & {*prompt.outdated}, prompt.id


def test_what_is_outdated_was_stored_before_what_holds() -> None:
    for prompt in read_set(FOLDER / "prompts.jsonl").questions:
        if prompt.category == "changed":
            newest = max(_created(span.path) for span in prompt.gold)
            assert all(_created(span.path) < newest for span in prompt.outdated), prompt.id


def test_private_notes_are_labelled_and_marked() -> None:
    marked = {span for prompt in read_set(FOLDER / "private.jsonl").questions for span in prompt.private}
    assert len(marked) == 5
    for prompt in read_set(FOLDER / "prompts.jsonl").questions:
        assert bool(prompt.project) is bool(prompt.private) and not {*prompt.gold} & {*prompt.private}, prompt.id
        assert marked <= {*prompt.private} or not prompt.project
    for span in marked:
        lines = (FOLDER / "vault" / span.path).read_text(encoding="utf-8").splitlines()[: span.end]
        assert "private" in f"{span.path} {lines}", span


def test_the_imported_documents_are_references_and_answer_nothing() -> None:
    documents = notes_of(FOLDER / "imported")
    assert len(documents) >= 30 and not {*documents} & {*notes_of(FOLDER / "vault")}
    for path in documents:
        meta = frontmatter.parse((FOLDER / "imported" / path).read_text(encoding="utf-8")).meta
        assert meta["kind"] == "reference" and path.parts[0] == "imported", path


def _created(path: str) -> str:
    document = frontmatter.parse((FOLDER / "vault" / path).read_text(encoding="utf-8"))
    return str(document.meta["created"])[:16].replace("T", " ") if document.meta else Path(path).stem + " 24:00"
