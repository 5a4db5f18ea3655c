"""Several processes and one vault: programs beside one another, a daemon that comes and goes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from mcp_memory import Memory
from mcp_memory.daemon.instance import holder, is_held
from mcp_memory.errors import NotRunning
from tests.daemon.place import Place

ADDS = """
import sys
from mcp_memory import Memory
with Memory.open(wait_s=60) as memory:
    for number in range(20):
        memory.append(f"{sys.argv[1]} says {number}", kind="fact")
    print(len(memory.search("says", limit=100).hits))
"""
FORGETS_TO_CLOSE = """
from mcp_memory import Memory
memory = Memory.open()
memory.append("Nobody closes me.")
print(len(memory.search("nobody").hits))
"""


def python(place: Place, program: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        env=place.environ, cwd=place.root,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def ended(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, ""), err
    return out


def test_two_programs_take_turns(place: Place) -> None:
    found = sorted(int(ended(each)) for each in [python(place, ADDS, name) for name in ("Ada", "Grace")])
    assert found == [20, 40]
    assert len(list((place.vault / "notes/fact").iterdir())) == 40


def test_two_programs_share_a_daemon(place: Place) -> None:
    with place.started():
        pid = holder(place.state)
        for each in [python(place, ADDS, name) for name in ("Ada", "Grace")]:
            ended(each)
        assert holder(place.state) == pid
    assert len(list((place.vault / "notes/fact").iterdir())) == 40


def test_a_program_that_forgets_to_close_ends_all_the_same(place: Place) -> None:
    assert ended(python(place, FORGETS_TO_CLOSE)) == "1\n"
    assert not is_held(place.state)
    with Memory.open(place.vault) as memory:
        assert len(memory.search("nobody").hits) == 1


def test_it_carries_on_when_the_daemon_goes(place: Place) -> None:
    with place.started(), Memory.open(place.vault) as memory:
        one = memory.append("The daemon writes this.")
        place.run("stop").ok()
        two = memory.append("This process writes that.")
        assert is_held(place.state)
        assert {hit.id for hit in memory.search("writes").hits} == {one.id, two.id}
    assert not is_held(place.state)


def test_a_daemon_starts_when_the_program_is_done(place: Place) -> None:
    with Memory.open(place.vault) as memory:
        memory.append("The program writes this.")
    with place.started():
        assert "program writes" in place.run("search", "program").ok().out


def test_what_a_killed_daemon_left_is_no_daemon(place: Place) -> None:
    with place.serving() as served:
        served.process.kill()
        served.process.wait(10)
        assert place.state.daemon.exists()
        with Memory.open(place.vault) as memory:
            memory.append("All is well.")
            assert not place.state.daemon.exists()


def test_the_package_starts_without_it() -> None:
    program = "import sys, mcp_memory; print(sorted(name for name in sys.modules if name.startswith('mcp_memory')))"
    assert subprocess.check_output([sys.executable, "-c", program], text=True, cwd=root()) == "['mcp_memory']\n"


def test_an_unknown_name_is_none_of_the_package() -> None:
    import mcp_memory

    assert {"Memory", "ConversationChunk"} <= set(mcp_memory.__all__)
    assert all(getattr(mcp_memory, name) for name in mcp_memory.__all__)
    assert not hasattr(mcp_memory, "Memories")
    assert issubclass(NotRunning, Exception)


def root() -> Path:
    return Path(__file__).parents[2]
