"""Dates as people write them become ISO 8601, and an ISO date stays as it is."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import click
import pytest

from mcp_memory.cli.spoken_dates import coming_date, past_date
from mcp_memory.errors import InvalidInput

pytestmark = pytest.mark.fast

CONTEXT = click.Context(click.Command("test"))
SINCE = click.Option(["--since"])


def past(text: str) -> str | None:
    return past_date(CONTEXT, SINCE, text)


def test_friday_is_the_last_or_the_next_one():
    before, after = past("Friday"), coming_date(CONTEXT, SINCE, "Friday")
    assert before and after and before < date.today().isoformat() < after
    assert (date.fromisoformat(after) - date.fromisoformat(before)).days in (7, 14)


def test_a_time_is_a_moment_of_the_local_zone():
    moment = datetime.fromisoformat(past("2 hours ago") or "")
    assert abs(datetime.now().astimezone() - timedelta(hours=2) - moment) < timedelta(minutes=1)
    clock = datetime.fromisoformat(past("14:30") or "")
    assert (clock.hour, clock.minute) == (14, 30) and clock <= datetime.now().astimezone() < clock + timedelta(days=1)


def test_what_is_none_is_refused_with_the_options_name_and_examples():
    with pytest.raises(InvalidInput, match="--since") as refused:
        past("lunch")
    assert "yesterday" in (refused.value.hint or "")
