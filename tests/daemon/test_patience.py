"""When to stop waiting: for a first index that stands still, and for the lock."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from mcp_memory.daemon.instance import only_instance
from mcp_memory.daemon.launch import STALLED_S, StartWait
from mcp_memory.errors import Busy
from mcp_memory.settings.state import StateFolder

IDLE = {
    "notes": 3, "chunks": 9, "pending": 9, "model_state": "failing: x", "generation": 1, "phase": "idle",
    "progress": [0, 0],
}  # fmt: skip


def status(**changes: Any) -> dict[str, Any]:
    return {**IDLE, **changes}


def test_what_stands_still_is_waited_for_no_longer():
    patience = StartWait(0, loading_s=600)
    assert not patience.is_over(status(), 1)
    assert not patience.is_over(status(), 1 + STALLED_S)
    assert patience.is_over(status(), 2 + STALLED_S)


@pytest.mark.parametrize("change", [{"notes": 4}, {"pending": 8}, {"model_state": "ready"}, {"progress": [1, 9]}])
def test_whatever_moves_is_waited_for(change: dict[str, Any]):
    patience = StartWait(0, loading_s=0)
    assert not patience.is_over(status(), 0)
    assert not patience.is_over(status(**change), 5 * STALLED_S)
    assert not patience.is_over(status(**change), 6 * STALLED_S)
    assert patience.is_over(status(**change), 7 * STALLED_S)


def test_a_sweep_that_reads_the_same_again_is_no_progress():
    patience, over = StartWait(0, loading_s=0), []
    for second in range(0, int(2 * STALLED_S), 10):
        over += [patience.is_over(status(phase="reading", progress=[3, 3]), second), patience.is_over(IDLE, second + 5)]
    assert over[-1]
    assert not over[0]


def test_a_model_may_take_its_time_to_load():
    patience = StartWait(0, loading_s=600)
    assert not patience.is_over(status(model_state="loading"), 0)
    assert not patience.is_over(status(model_state="loading"), 600)
    assert patience.is_over(status(model_state="loading"), 601 + STALLED_S)


def test_a_look_at_the_lock_stops_nobody(tmp_path: Path):
    """Whoever looks holds the lock for an instant."""
    state = StateFolder.for_vault(tmp_path / "vault", {"MCP_MEMORY_STATE": str(tmp_path / "state")})
    state.make()
    held = only_instance(state)
    held.__enter__()
    with pytest.raises(Busy, match=f"pid {os.getpid()}"), only_instance(state):
        pass
    release = threading.Timer(0.05, held.__exit__, (None, None, None))
    release.start()
    with only_instance(state):
        assert state.lock.read_text().strip() == str(os.getpid())
    release.join()
