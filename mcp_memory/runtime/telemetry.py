"""Keep our dependencies from calling home, writing outside our folders, and reading other files.

A switch works only if it is in the environment before the library is imported. Standard library only.
"""

import os
from collections.abc import MutableMapping

FORCED = {
    "ORT_DISABLE_TELEMETRY": "1",  # onnxruntime writes a device id and an event database at import
    "HF_HUB_DISABLE_TELEMETRY": "1",  # huggingface_hub reports library versions and use
    "HF_HUB_DISABLE_UPDATE_CHECK": "1",  # … and asks PyPI for its own newer version
    "DO_NOT_TRACK": "1",  # the convention that the hub and others obey
    "FASTMCP_ENV_FILE": os.devnull,  # FastMCP reads ./.env of whatever folder we were started in
    "FASTMCP_CHECK_FOR_UPDATES": "off",  # FastMCP asks PyPI for a newer version
    "FASTMCP_LOG_ENABLED": "false",  # FastMCP writes its arguments on stderr at import
}
"""Always set: we promise what they do."""

PREFERRED = {
    "TOKENIZERS_PARALLELISM": "false",  # a thread pool of its own, and a warning after each fork
    "FASTMCP_SHOW_SERVER_BANNER": "false",  # a banner on stderr at each start
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",  # bars that end up in logs
    "TRANSFORMERS_NO_ADVISORY_WARNINGS": "1",
}
"""Set unless the environment has them."""


def switch_off(environ: MutableMapping[str, str] = os.environ) -> None:
    """Write the switches into `environ`; call it before the first import of a third-party library."""
    environ.update(FORCED)
    for name, value in PREFERRED.items():
        environ.setdefault(name, value)
