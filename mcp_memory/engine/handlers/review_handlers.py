"""Gathers the items that wait for you from all features, and passes your decisions on."""

from dataclasses import asdict
from functools import partial

from mcp_memory.core.core import Core
from mcp_memory.core.feature import Operation
from mcp_memory.core.requests import NoArguments, ReviewRequest
from mcp_memory.core.serializers import Payload
from mcp_memory.errors import NotFound


def operations(core: Core) -> dict[str, Operation]:
    return {
        "inbox": Operation(NoArguments, partial(inbox, core)),
        "review": Operation(ReviewRequest, partial(review, core)),
    }


async def inbox(core: Core, _: NoArguments) -> Payload:
    """List candidates first, then the proposals of other features."""
    reviewers = [feature.reviewer for feature in core.features if feature.reviewer]
    return {"waiting": [asdict(item) for reviewer in reviewers for item in await reviewer.waiting()]}


async def review(core: Core, request: ReviewRequest) -> Payload:
    """Carry out a decision. Raises NotFound if no feature knows the target, and the errors of the feature."""
    reviewers = [feature.reviewer for feature in core.features if feature.reviewer]
    for reviewer in sorted(reviewers, key=lambda one: -len(one.prefix)):
        if request.target.startswith(reviewer.prefix):
            return await reviewer.review(request)
    raise NotFound(f"nothing of this name waits: {request.target[:100]!r}", hint="mcp-memory review lists what waits")
