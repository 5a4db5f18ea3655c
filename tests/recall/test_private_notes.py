"""What is private, however it was marked, is told when it is asked for, and nothing else is made of it."""

from __future__ import annotations

import json

import pytest

from tests.support.briefings import begun
from tests.support.topics import ALL_AT_ONCE
from tests.support.world import World, found

pytestmark = pytest.mark.anyio

SECRET = "The wedding ring is hidden in the green teapot."
LOG = "memory/2026-11-21.md"
FILES = {
    "head": ("notes/fact/a.md", f"---\ntags: private, health\n---\n# Ring\n\n{SECRET}\n"),
    "broken head": ("notes/fact/a.md", f"---\nprivate: true\nfoo: [bar\n---\n# Ring\n\n{SECRET}\n"),
    "inline tag": ("notes/fact/a.md", f"# Ring\n\n{SECRET} #private\n"),
    "folder": ("notes/Private/a.md", f"# Ring\n\n{SECRET}\n"),
    "log": (LOG, f"# 2026-11-21\n\n## 09:00 Ring\n\nOff the record. {SECRET}\n\n## 10:00 Deploy\n\nDone.\n"),
    "memory": ("MEMORY.md", f"# Memory\n\n- The port is 5433.\n\n## Ring (tags: private)\n\n- {SECRET}\n"),
}


@pytest.mark.parametrize("form", FILES)
async def test_it_is_found_but_no_start_digest_or_list_of_claims_has_it(world: World, form: str) -> None:
    path, text = FILES[form]
    world.write(path, text)
    async with world.engine() as engine:
        assert path in await found(engine, "wedding ring teapot") and "teapot" in await engine.recall("wedding ring")
        assert "teapot" not in await begun(engine)
        for operation, arguments in (("digest", {"since": "2026-01-01"}), ("claims", {})):
            answer = json.dumps(await engine.perform(operation, arguments))
            assert "Ring" not in answer and "teapot" not in answer, operation
        if form == "broken head":
            findings = json.dumps(await engine.perform("doctor", {}))
            assert "until its head can be read, the note is private" in findings


async def test_what_replaces_a_private_note_is_private(world: World) -> None:
    async with world.engine() as engine:
        old = await engine.append("The salary is 900 a month.", kind="fact", tags=["private"])
        await engine.append("The salary is 950 a month.", kind="fact", supersedes=old.id)
        assert "950" in await engine.recall("salary a month") and "950" not in await begun(engine)


async def test_no_topic_is_made_of_private_notes_nor_joined_by_them(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        for degrees in range(60, 66):
            secret = "" if degrees % 2 else "\n\nOff the record."
            await engine.append(f"Green tea is brewed at {degrees} degrees.{secret}", tags=["green tea"])
            await engine.append(f"Colleague {degrees} is on sick leave.", tags=["private"])
        await engine.compact()
        topics = {path: data.decode() for path, data in toy_world.files().items() if path.startswith("topics/0")}
        assert "65 degrees" in "".join(topics.values())
        assert not [path for path, text in topics.items() if "sick leave" in text or "Off the record" in text]
        assert not [path for path in topics if "private" in path]


@pytest.mark.parametrize("heading", ["Doctor (tags: private)", "Doctor\n\nOff the record."])
async def test_a_promise_in_a_private_entry_is_private(world: World, heading: str) -> None:
    world.write(LOG, f"# 2026-11-21\n\n## 00:10 {heading}\n\nRemind me today: ask Dr. Lee for the result.\n")
    async with world.engine() as engine:
        await engine.run_job("promises")
        (promise,) = (await engine.perform("due", {}))["commitments"]
        assert "Dr. Lee" in promise["title"] and "private" in world.read(promise["path"]).decode()
        assert "Dr. Lee" not in await begun(engine)
