"""The recovery journal, and what it takes for lost."""

from __future__ import annotations

import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mcp_memory.errors import Refused
from mcp_memory.models import Etag, NotePath
from mcp_memory.text.markdown import logs
from mcp_memory.vault.journals.append_journal import KEPT_DAYS, AppendJournal, AppendOutcome, JournaledAppend
from mcp_memory.vault.note_file import Layout, read_note
from mcp_memory.vault.shared.daily_log import entry_hash
from mcp_memory.vault.shared.lost_entries import find_lost, overwritten
from tests.support.world import KINDS, NOON, World, more

PATH = NotePath("memory/2026-11-21.md")


def added(
    text: str, before: str | None = None, *, at: float = 1_000.0, fate: AppendOutcome = "landed"
) -> JournaledAppend:
    return JournaledAppend(
        PATH, entry_hash(text), Etag(before) if before else None, at, f"content of {text}", fate=fate
    )


def entry(time: str, body: str, title: str = "") -> str:
    return logs.render_entry(time, title, body)


def log_of(*entries: str, head: str = ""):
    data = (head + "# 2026-11-21\n\n" + "\n".join(entries)).encode()
    return read_note(PATH, data, Etag("now"), "s", Layout("", NOON.tzinfo), KINDS)


class TestTheJournal:
    def test_it_is_private_and_survives(self, tmp_path: Path) -> None:
        text = entry("12:00", "Deployed ünicode")
        first = added(text, "e1", fate="announced")
        journal = AppendJournal(tmp_path)
        journal.announce(first, text)
        journal.mark(first, "landed")
        journal.announce(added(B, "e2", at=90_000.0, fate="announced"), B)
        assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()} == {0o600}
        again = AppendJournal(tmp_path)
        assert again.entries_of(PATH)[0] == added(text, "e1")
        assert [each.fate for each in again.entries_of(PATH)] == ["landed", "cut short"]
        assert again.texts(PATH)[first.entry] == text

    @pytest.mark.parametrize(
        "rubbish", [b"\xff\xfe", b"[1]", b"null", b'{"path": 1}', b'{"path":"p","entry":"e","x":1}']
    )
    def test_half_a_line_costs_that_line_alone(self, tmp_path: Path, rubbish: bytes) -> None:
        text = entry("12:00", "Deployed")
        AppendJournal(tmp_path).announce(added(text), text)
        [file] = tmp_path.iterdir()
        file.write_bytes(rubbish + b"\n" + file.read_bytes() + b'{"path": "memory/2026')
        later = entry("12:01", "Later")
        AppendJournal(tmp_path).announce(added(later), later)
        assert set(AppendJournal(tmp_path).texts(PATH).values()) >= {text, later}

    def test_days_are_counted_not_measured(self, tmp_path: Path) -> None:
        """A clock that jumps by a year lets nothing expire."""
        journal = AppendJournal(tmp_path)
        moments = [datetime(2026, 1, 1, tzinfo=UTC).timestamp() + 86_400 * 400 * n for n in range(KEPT_DAYS + 2)]
        for n, at in enumerate(moments):
            text = entry("12:00", f"Entry {n}")
            journal.announce(added(text, at=at), text)
            assert len(list(tmp_path.iterdir())) == min(n + 1, KEPT_DAYS)
        assert len(journal.entries_of(PATH)) == len(AppendJournal(tmp_path).entries_of(PATH)) == KEPT_DAYS
        assert f"Entry {KEPT_DAYS + 1}" in "".join(journal.texts(PATH).values())

    def test_it_is_bounded(self, tmp_path: Path) -> None:
        journal = AppendJournal(tmp_path, most_bytes=3_000)
        for n in range(12):
            text = entry("12:00", f"{n} " + "x" * 700)
            journal.announce(added(text, at=86_400.0 * n), text)
        assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 4_000
        assert "11 x" in "".join(journal.texts(PATH).values())

    def test_erased_is_erased(self, tmp_path: Path) -> None:
        journal = AppendJournal(tmp_path)
        texts = [entry("12:00", f"Canary {n}") for n in range(3)]
        for n, text in enumerate(texts):
            journal.announce(added(text, at=86_400.0 * n), text)
            journal.mark(added(text, at=86_400.0 * n, fate="announced"), "landed")
        assert journal.erase(PATH, entry_hash(texts[1])) == 1
        kept = b"".join(file.read_bytes() for file in tmp_path.iterdir())
        assert (b"Canary 0" in kept, b"Canary 1" in kept) == (True, False)
        assert len(AppendJournal(tmp_path).entries_of(PATH)) == 2
        assert journal.erase(PATH) == 2
        assert b"".join(file.read_bytes() for file in tmp_path.iterdir()) == b""
        assert journal.entries_of(PATH) == []


A, B, C = entry("12:00", "We deployed the server"), entry("12:01", "It fell over"), entry("12:02", "It stands", "Fixed")


class TestWhatIsLost:
    @pytest.mark.parametrize(
        ("file", "whys"),
        [
            (log_of(A, B, C), {}),
            (log_of(A, C), {B: "missing"}),
            (log_of(B, C + "\nmore by hand\n"), {A: "missing"}),
            (log_of(A.replace("server", "client"), B, C), {A: "edited"}),
            (log_of(entry("12:00", "Something else"), B, C), {A: "missing"}),
            (log_of(B, C, head=f"---\nforgotten: ['{entry_hash(A)}']\n---\n"), {}),
            (None, {A: "missing", B: "missing", C: "missing"}),
        ],
        ids=["whole", "cut out", "written on", "edited", "another of that minute", "forgotten", "no file"],
    )
    def test_by_the_file(self, file, whys: dict[str, str]) -> None:
        known = [added(A, "e1"), added(B, "e2"), added(C, "e3")]
        found = find_lost(known, {entry_hash(text): text for text in (A, B, C)}, file)
        assert {lost.text: lost.why for lost in found} == whys

    def test_line_endings_are_nothing_lost(self) -> None:
        data = f"# x\n\n{A}\n{B}".replace("\n", "\r\n").encode()
        file = read_note(PATH, data, Etag("now"), "s", Layout("", NOON.tzinfo), KINDS)
        assert find_lost([added(A), added(B)], {entry_hash(text): text for text in (A, B)}, file) == []

    @pytest.mark.parametrize(
        ("states", "now", "undone"),
        [
            (["e0", "e1", "e2"], "e3", ""),
            (["e0", "e1", "e2"], "e1", "bc"),
            (["e0", "e1", "e2"], "e0", "abc"),
            (["e0", "e1", "e1"], "e9", "b"),
            ([None, "e1", None], None, ""),
        ],
    )
    def test_a_file_that_was_again_what_it_had_been(self, states: list, now: str | None, undone: str) -> None:
        known = [added(text, state) for text, state in zip((A, B, C), states, strict=True)]
        wanted = {entry_hash({"a": A, "b": B, "c": C}[each]) for each in undone}
        assert overwritten(known, Etag(now) if now else None) == wanted

    @pytest.mark.parametrize(
        ("fate", "why"),
        [
            ("announced", None),
            ("dismissed", None),
            ("cut short", "unanswered"),
            ("overwritten", "overwritten"),
        ],
    )
    def test_by_its_fate(self, fate: AppendOutcome, why: str | None) -> None:
        found = find_lost([added(A, fate=fate)], {entry_hash(A): A}, log_of(B))
        assert [lost.why for lost in found] == ([why] if why else [])

    def test_what_was_said_again_after_a_crash_is_not_missed(self) -> None:
        cut, again = added(A, fate="cut short"), added(entry("12:07", "We deployed the server"))
        again = JournaledAppend(PATH, again.entry, None, 2.0, cut.content, fate="landed")
        texts = {cut.entry: A, again.entry: entry("12:07", "We deployed the server")}
        assert find_lost([cut, again], texts, log_of(texts[again.entry])) == []


words = st.text(st.sampled_from("ab #`~<!->\n\t|1:0é\u2028"), max_size=40).filter(str.strip)


@settings(max_examples=more(200), deadline=None)
@given(before=st.text(st.sampled_from("ab #`~<!->\r\n-"), max_size=40), body=words, crlf=st.booleans())
def test_an_entry_has_the_same_hash_alone_and_in_any_file(before: str, body: str, crlf: bool) -> None:
    """The journal names an entry before it stands in a file."""
    assume(not before.startswith("---"))  # added text would make frontmatter of a lone rule on top
    text = entry("12:00", body)
    whole = logs.append_entry(before.replace("\n", "\r\n") if crlf else before, text)
    file = read_note(PATH, whole.encode(), Etag("x"), "s", Layout("", NOON.tzinfo), KINDS)
    assert logs.entries(file.text, file.body_start)[-1].hash == entry_hash(text)


@pytest.mark.anyio
async def test_a_refused_append_is_not_listed(world: World) -> None:
    async with world.engine() as engine:
        world.write(PATH, bytes(2000))
        with pytest.raises(Refused):
            await engine.append("Deployed", kind="log")
        world.write(PATH, b"# 2026-11-21\n")
        assert await engine.lost() == []
    async with world.engine() as engine:
        assert await engine.lost() == []


@pytest.mark.anyio
async def test_a_vault_that_is_not_there_has_lost_nothing(world: World) -> None:
    async with world.engine() as engine:
        await engine.append("Deployed", kind="log")
        world.root.rename(world.root.with_name("unmounted"))
        assert not any(PATH in one.what for one in await engine.doctor())
        world.root.with_name("unmounted").rename(world.root)
        assert await engine.lost() == []
