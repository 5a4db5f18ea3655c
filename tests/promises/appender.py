"""Appends until it is killed. For each line on standard input a child is forked that opens an engine on the vault and
appends, printing `READY`, then a receipt a line as JSON.

Usage: appender.py VAULT STATE
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import anyio

from mcp_memory.core.serializers import receipt_payload
from tests.support.world import World


async def append_for_ever(world: World, life: str) -> None:
    async with world.engine(watching=True) as engine:
        say("READY")
        for number in range(100_000):
            kind = ("log", "fact", "note")[number % 3]
            receipt = await engine.append(f"life{life}number{number} was said", kind=kind, session=life)
            say(json.dumps({**receipt_payload(receipt), "word": f"life{life}number{number}"}))
            if number % 5 == 4:
                await engine.append(
                    f"life{life}replaced{number}", kind="fact", supersedes=receipt.id if kind != "log" else None
                )


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


if __name__ == "__main__":
    here = World(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[2]))
    for asked in sys.stdin:
        child = os.fork()
        if child == 0:
            anyio.run(append_for_ever, here, asked.strip())
            os._exit(0)
        say(f"PID {child}")
        os.waitpid(child, 0)
        say("DEAD")
