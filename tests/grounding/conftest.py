from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.shop_repository import Shop, make_shop


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return make_shop(tmp_path)
