"""Give configurations the constants that `tests.support.constants` names. Python imports this module first, because its
folder is in PYTHONPATH."""

import json
import os
from dataclasses import fields

from mcp_memory.engine.features import read_sections
from mcp_memory.settings.settings import Settings

sections = {field.name: type(getattr(Settings(), field.name)) for field in fields(Settings)} | dict(read_sections())
for place, value in json.loads(os.environ["TEST_CONSTANTS"]).items():
    section, _, name = place.partition(".")
    config = sections[section]
    names = [field.name for field in fields(config)]
    defaults = dict(zip(names, config.__init__.__defaults__, strict=True))
    config.__init__.__defaults__ = tuple({**defaults, name: value}[field] for field in names)
