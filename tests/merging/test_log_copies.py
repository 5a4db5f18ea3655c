"""Conflict copies of daily logs merge by themselves: no entry is lost, none is there twice, and two devices that merge
the same versions agree."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory.text.markdown import logs
from mcp_memory.vault.shared.log_copies import merge_logs
from tests.support.world import World

LOG = "memory/2026-11-21.md"
COPY = "memory/2026-11-21.sync-conflict-20261121-151500-K7QXWTA.md"
ARCHIVED = f"_archive/{COPY}"


def log_with(*entries: tuple[str, str], head: str = "") -> str:
    return head + "# 2026-11-21\n" + "".join(f"\n## {time} {words}\n\nAbout {words}.\n" for time, words in entries)


def titles(text: str) -> list[str]:
    return [f"{entry.time} {entry.title}" for entry in logs.entries(text)]


@pytest.mark.anyio
class TestMerging:
    async def test_a_copy_goes_to_the_archive_once_its_entries_are_in_the_log(self, world: World) -> None:
        world.with_home("").write(LOG, log_with(("08:00", "Standup"), ("12:00", "Lunch")))
        copy = log_with(("08:00", "Standup"), ("09:30", "Kiln fired"), ("13:00", "Glaze mixed"))
        world.write(COPY, copy)
        async with world.engine() as engine:
            run = await engine.run_job("merge")
            found = await engine.search("kiln fired")
            said = await engine.doctor()
        assert not [finding for finding in said if "conflict" in finding.what]
        assert "1 conflict copy merged" in run["about"]
        assert titles(world.read(LOG).decode()) == [
            "08:00 Standup",
            "09:30 Kiln fired",
            "12:00 Lunch",
            "13:00 Glaze mixed",
        ]
        assert world.read(ARCHIVED).decode() == copy
        assert COPY not in world.files()
        assert {hit.path for hit in found.hits} == {LOG}

    @pytest.mark.parametrize(
        "name",
        [
            *("2026-11-21 2", "2026-11-21 (1)", "2026-11-21(1)", "2026-11-21 copy 2", "Copy of 2026-11-21"),
            *("2026-11-21-DESKTOP-4F2K1", "2026-11-21-Adas-MacBook-Pro", "2026-11-21_conflict"),
        ],
    )
    async def test_a_copy_by_its_name_is_one_of_the_log_however_it_begins(self, world: World, name: str) -> None:
        copy = f"Agent/memory/{name}.md"
        world.write(f"Agent/{LOG}", log_with(("08:00", "Standup"), ("12:00", "Lunch")))
        world.write(copy, log_with(("07:30", "Clay delivered and weighed in the yard"), ("12:00", "Lunch")))
        async with world.engine() as engine:
            before = await engine.search("about lunch")
            assert [hit.path for hit in before.hits if "About Lunch" in hit.snippet] == [f"Agent/{LOG}"]
            await engine.run_job("merge")
            found = await engine.search("clay delivered")
        assert copy not in world.files()
        assert {hit.path for hit in found.hits} == {f"Agent/{LOG}"}
        assert "07:30 Clay delivered and weighed in the yard" in titles(world.read(f"Agent/{LOG}").decode())

    async def test_an_editors_backup_of_a_log_is_no_copy(self, world: World) -> None:
        world.with_home("").write(LOG, log_with(("08:00", "Standup")))
        world.write("memory/2026-11-21~.md", log_with(("08:00", "Standup"), ("09:00", "Deleted by hand")))
        async with world.engine() as engine:
            await engine.run_job("merge")
        assert titles(world.read(LOG).decode()) == ["08:00 Standup"]

    async def test_a_sweep_that_meets_a_copy_makes_the_job_due(self, world: World) -> None:
        async with world.engine(watching=True) as engine:
            world.write(LOG, log_with(("08:00", "Standup")))
            world.write(COPY, log_with(("09:00", "Kiln fired")))
            await engine.sweep()
            jobs = (await engine.perform("jobs", {}))["jobs"]
        (merge,) = (job for job in jobs if job["name"] == "merge")
        assert merge["next_s"] is not None

    async def test_what_one_device_forgot_stays_forgotten(self, world: World) -> None:
        text = log_with(("08:00", "Standup"), ("09:00", "Kiln fired"))
        entry = logs.entries(text)[1].hash
        world.with_home("").write(LOG, text)
        world.write(COPY, f"---\nforgotten:\n- {entry}\n---\n{text}")
        async with world.engine() as engine:
            await engine.run_job("merge")
            found = await engine.search("kiln fired")
        assert not [hit for hit in found.hits if "Kiln" in hit.snippet]
        assert ARCHIVED in world.files()

    @pytest.mark.parametrize(
        "copy",
        [
            log_with(("09:00", "Kiln fired")).replace("# 2026-11-21\n", "# 2026-11-21\n\nCall the glaze supplier.\n"),
            log_with(("09:00", "Kiln fired"), head="---\ntitle: Saturday\n---\n"),
        ],
        ids=["words above its entries", "another title"],
    )
    async def test_a_copy_with_more_than_entries_stays_and_doctor_names_it(self, world: World, copy: str) -> None:
        before = log_with(("08:00", "Standup"), head="---\ntitle: Workshop\n---\n")
        world.write(LOG, before)
        world.write(COPY, copy)
        async with world.engine() as engine:
            run = await engine.run_job("merge")
            found = (await engine.perform("doctor", {}))["findings"]
        assert not run["changed"]
        assert world.read(LOG).decode() == before
        assert world.read(COPY).decode() == copy
        assert any(COPY in finding["what"] for finding in found)

    async def test_two_devices_offline_for_a_day_agree_after_one_exchange(self, world: World, tmp_path: Path) -> None:
        away = World(tmp_path / "vault2", tmp_path / "state2", world.models)
        away.root.mkdir()
        for device, name in ((world, "desk"), (away, "laptop")):
            async with device.engine() as engine:
                for number in range(40):
                    await engine.append(
                        f"{name} did step {number} of the kiln plan", kind="log", title=f"Step {number}"
                    )
                    device.later(minutes=3)
        theirs = away.read(LOG)
        for device in (world, away):
            device.write(COPY, theirs)
        away.write(LOG, world.read(LOG))
        for device in (world, away):
            async with device.engine() as engine:
                await engine.run_job("merge")
        assert world.read(LOG) == away.read(LOG)
        text = world.read(LOG).decode()
        assert len(logs.entries(text)) == 80
        for name in ("desk", "laptop"):
            assert [text.count(f"{name} did step {number} of the kiln plan") for number in range(40)] == [1] * 40
        assert not [path for path in world.files() if "conflict" in path and not path.startswith("_archive/")]


ENTRIES = st.lists(
    st.tuples(st.sampled_from(["08:00", "09:15", "23:59"]), st.text("ab`~#\n \r-é", max_size=20)), max_size=6
)


@given(ENTRIES, ENTRIES, st.booleans())
def test_every_entry_of_both_is_there_once(
    own: list[tuple[str, str]], other: list[tuple[str, str]], crlf: bool
) -> None:
    texts: list[str] = []
    for entries in (own, other):
        text = "# 2026-11-21\n"
        for number, (time, words) in enumerate(entries):
            text = logs.append_entry(text, logs.render_entry(time, f"Entry {number}", words))
        texts.append(text)
    one, two = texts[0].replace("\n", "\r\n") if crlf else texts[0], texts[1]
    merged = merge_logs(one, two)
    assert merged is not None
    hashes = [entry.hash for entry in logs.entries(merged)]
    assert len(set(hashes)) == len(hashes)
    lines = f"\n{merged}\n".replace("\r\n", "\n")
    for text in (one, two):
        for entry in logs.entries(text):
            written = text[entry.start : entry.end].strip().replace("\r\n", "\n")
            assert entry.hash in hashes or f"\n{written}\n" in lines
    assert merge_logs(merged, two) == merged
