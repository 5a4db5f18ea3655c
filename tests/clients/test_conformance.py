"""The protocol's own conformance suite, against the daemon's HTTP interface, in both protocol eras."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.machine import CHECKOUT, Machine, serving
from tests.clients.programs import Programs, run

KNOWN = tomllib.loads(Path(__file__).with_name("conformance_failures.toml").read_text(encoding="utf-8"))
"""Revision of the protocol → scenario → why it fails."""


@pytest.fixture(scope="module")
def open_daemon(programs: Programs, model_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A daemon with the suite's fixtures, without a token, which the suite cannot send, open to its own origin."""
    machine = Machine.make(tmp_path_factory.mktemp("conformance") / "home", programs)
    with serving(
        machine,
        *(sys.executable, "-m", "tests.clients.conformance_daemon"),
        PYTHONPATH=str(CHECKOUT),
        MCP_MEMORY_MODELS=str(model_cache),
        MCP_MEMORY_DAEMON_AUTH="none",
        MCP_MEMORY_DAEMON_ALLOWED_ORIGINS=machine.url.removesuffix("/mcp"),
    ):
        yield machine


@pytest.mark.parametrize("revision", sorted(KNOWN))
def test_every_scenario_passes_but_the_known_ones(open_daemon: Machine, revision: str, tmp_path: Path) -> None:
    ran = run(
        *("conformance", "server", "--url", open_daemon.url, "--requirements", revision, "-o", str(tmp_path)),
        environ=open_daemon.environ(),
        cwd=tmp_path,
    )
    verdicts = dict(re.findall(r"^[✓✗] ([\w/-]+): \d+ passed, (\d+) failed", ran.out, re.MULTILINE))
    assert "tools-call-simple-text" in verdicts, ran.out + ran.err
    failed = sorted(scenario for scenario, count in verdicts.items() if int(count))
    assert failed == sorted(KNOWN[revision])
