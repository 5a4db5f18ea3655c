"""Sources about one topic, and answers to them."""

from __future__ import annotations

import pytest

from mcp_memory.summarizers.base import SummaryRequest, SummarySource

SOURCES = (
    SummarySource("Pool size of staging", "The connection pool of staging has 40 slots since 5 May. Ada set it."),
    SummarySource("Timeouts in staging", "Requests to staging timed out because the connection pool was too small."),
    SummarySource("Retry policy", "We do not retry writes to staging; reads are retried twice."),
)
TITLE = "Staging database connection pool, timeouts and retries"
BODY = "- The staging connection pool has 40 slots since 5 May, set by Ada.\n- Reads are retried twice, writes are not."
GOOD = f"Title: {TITLE}\n\n{BODY}\n"
BUDGET_TOKENS = 60


@pytest.fixture
def request_of_notes() -> SummaryRequest:
    return SummaryRequest(SOURCES, BUDGET_TOKENS)
