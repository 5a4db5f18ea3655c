"""Names the sections of the configuration of topics."""

from collections.abc import Mapping
from typing import Any

from mcp_memory.topics.config import TopicsConfig

SECTIONS: Mapping[str, type[Any]] = {"topics": TopicsConfig}
