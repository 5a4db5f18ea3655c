"""`python -m tests.soak`: see `--help`."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.embedders.open_embedder import open_embedder
from mcp_memory.runtime import telemetry
from tests.soak.options import options_from
from tests.soak.run import soak


def main(arguments: Sequence[str] | None = None) -> int:
    options = options_from(arguments)
    telemetry.switch_off()
    with ExitStack() as stack:
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="soak-")))
        folder.mkdir(parents=True, exist_ok=True)
        models = Path(os.environ.get("MCP_MEMORY_TEST_MODEL_CACHE") or folder / "models")
        if options.model:
            open_embedder(EmbedderConfig(), models).close()  # compiled once, so that no start waits for it
        report = soak(options, folder, models, lambda said: print(f"{time.strftime('%X')} {said}", file=sys.stderr))
    print(report.markdown())
    if options.json:
        options.json.write_text(json.dumps(report.payload(), indent=1))
    return 0 if report.is_well else 1


if __name__ == "__main__":
    sys.exit(main())
