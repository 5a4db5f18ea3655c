"""A model that rests comes back with any hook, so that the prompt that follows is told all that it could be."""

from __future__ import annotations

import json
from pathlib import Path

from tests.daemon.place import Place, Served, eventually
from tests.daemon.wire import Wire
from tests.hooks.client import Session

UNLOAD = {"MCP_MEMORY_EMBEDDER_UNLOAD_AFTER_S": "1"}


def test_any_hook_brings_the_model_back(tmp_path: Path, model_cache: Path):
    place = Place(tmp_path, model_cache, UNLOAD).make()
    with place.serving() as served, Wire(served) as wire:
        for event in ("session-start", "stop", "pre-compact", "session-end", "flush"):
            eventually(lambda: wire.api("status").json["model_state"] == "resting", within_s=120)
            rested = times_rested(served)
            session = Session(place, "s")
            session.run(event, json.dumps(session.said(event)).encode())
            eventually(lambda rested=rested: times_rested(served) > rested, within_s=60)


def times_rested(served: Served) -> int:
    return served.place.state.log.read_text().count("the model leaves memory")
