"""What every test may use."""

from __future__ import annotations

import compileall
import fcntl
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import settings

from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.embedders.open_embedder import open_embedder
from mcp_memory.runtime import telemetry
from mcp_memory.settings.settings import PREFERRED_PORT

telemetry.switch_off()

from tests.support.world import World, made, more  # noqa: E402 -- brings what reads those switches

settings.register_profile("sample", settings(), max_examples=more(30))
settings.load_profile("sample")

HERE = Path(__file__).parent
FAST = frozenset({
    "extraction", "integrations", "settings", "summarizers", "text", "topics", "transfer",
    "engine/test_known_kinds", "engine/test_projects", "engine/test_taken_back", "engine/test_update",
    "hooks/test_heartbeat", "hooks/test_news", "index/test_index_contract", "index/test_vectors",
    "recall/test_briefing", "recall/test_cutoff", "recall/test_note_list", "recall/test_withdrawals",
    "search/test_fusion", "search/test_note_lookup", "search/test_ranking",
    "search/test_relevance", "storage/test_contract", "storage/test_filesystem",
    "vault/test_change_journal", "vault/test_note_file", "vault/test_ownership", "vault/test_privacy",
    "vault/test_tombstones",
})  # fmt: skip
"""The rooms whose tests start no daemon and load no model, and modules that stand for others: a minute's sample."""

THOROUGH = frozenset({
    "test_linear", "test_shapes", "test_beside_an_editor", "test_patterns", "test_guide",
})  # fmt: skip
"""Of these the modules that take long, or look at the source alone."""


LONGEST_FIRST = (
    "embedders/test_compile", "test_architecture", "text/test_linear", "daemon", "eval", "promises", "clients", "hooks",
    "library", "soak", "faults", "cli", "compaction", "extraction/test_with_model", "guide", "recall", "vault",
)  # fmt: skip
"""Rooms and modules that take or wait for longest: begun last, they would leave all other workers idle at the end."""

ON_DISK = ("index/", "indexing/", "promises/test_4_", "promises/test_5_", "storage/")
"""Rooms and modules whose faults show only where a file system uses inodes again, unlike the memory that the temporary
files of other tests may be in."""

SLOW_FIXTURES = frozenset({"model_cache", "place", "served"})


def pytest_configure(config: pytest.Config) -> None:
    """Holds the preferred port for the whole run: a daemon of one test would take it while another's restarts. And
    compiles the package: the programs that tests start write no bytecode."""
    if not hasattr(config, "workerinput"):
        compileall.compile_dir(HERE.parent / "mcp_memory", quiet=1)
        held = socket.socket()
        config.add_cleanup(held.close)
        with suppress(OSError):  # another program has it already
            held.bind(("127.0.0.1", PREFERRED_PORT))  # and listens to nobody: who calls there is refused


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `-m fast`, the other modules are not even imported: to read all of them takes ten seconds."""
    if config.option.markexpr != "fast" or HERE not in collection_path.parents:
        return None
    name = name_of(collection_path)
    return not is_fast(name) and not any(fast.startswith(f"{name}/") for fast in FAST)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: rank(item.path))
    for item in items:
        name = name_of(item.path)
        is_slow = {item.path.stem, item.name} & THOROUGH or SLOW_FIXTURES & {*getattr(item, "fixturenames", ())}
        if name in FAST or (is_fast(name) and not is_slow):
            item.add_marker(pytest.mark.fast)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Why a test failed the first time, where it is tried again: the plugin that does so names the test alone."""
    for report in terminalreporter.stats.get("rerun", ()):
        terminalreporter.section(f"first try of {report.nodeid}")
        terminalreporter.line(report.longreprtext)


def name_of(path: Path) -> str:
    return path.relative_to(HERE).with_suffix("").as_posix() if HERE in path.parents else ""


def is_fast(name: str) -> bool:
    return name in FAST or name.partition("/")[0] in FAST


def rank(path: Path) -> int:
    name = name_of(path)
    found = (at for at, first in enumerate(LONGEST_FIRST) if name == first or name.startswith(f"{first}/"))
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
def tmp_path(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A folder of the test's own, on the disk of temporary files where the test needs one."""
    if not name_of(request.path).startswith(ON_DISK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        yield Path(folder).resolve()


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
