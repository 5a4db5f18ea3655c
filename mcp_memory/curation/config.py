"""Names the sections of the configuration of curation."""

from collections.abc import Mapping
from typing import Any

from mcp_memory.curation.decay.config import DecayConfig
from mcp_memory.curation.dreams.config import DreamsConfig

SECTIONS: Mapping[str, type[Any]] = {"decay": DecayConfig, "dreams": DreamsConfig}
