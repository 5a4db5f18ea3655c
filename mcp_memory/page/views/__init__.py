"""The views of the page, in the order of its navigation; the first one is at the page's root."""

from mcp_memory.page.view import View
from mcp_memory.page.views import health, morning, noise, note, projects, review, search, settings, shown, topics

VIEWS: tuple[View, ...] = (
    morning.VIEW,
    search.VIEW,
    review.VIEW,
    topics.VIEW,
    note.VIEW,
    shown.VIEW,
    noise.VIEW,
    health.VIEW,
    projects.VIEW,
    settings.VIEW,
)
