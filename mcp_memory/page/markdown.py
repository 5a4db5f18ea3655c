"""Renders a note's text, which may be hostile, as HTML that shows only text."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup

from mcp_memory.text.escape_invisible import visible

MOST_CHARS = 20_000
"""The most characters that are rendered, since markdown-it takes a time that grows with the square of some texts."""

_TAGS = {
    "a", "blockquote", "br", "code", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "s",
    "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip


def _image(_renderer: Any, tokens: Sequence[Any], index: int, _options: Any, _env: Mapping[str, Any]) -> str:
    """Name an image, because loading it would tell another machine who reads the note."""
    return f"<em>[image: {escape(str(tokens[index].content or tokens[index].attrs.get('src', '')))}]</em>"


_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
_PARSER.add_render_rule("image", _image)


def render(text: str) -> Markup:
    """Return the text as HTML, without images, scripts, styles, and links to anything but the web."""
    html = _PARSER.render(visible(text[:MOST_CHARS]))
    clean = nh3.clean(html, tags=_TAGS, attributes={"a": {"href"}}, url_schemes={"http", "https", "mailto"})
    rest = len(text) - MOST_CHARS
    more = f"<p><em>… and {rest:,} more characters, in the note's source.</em></p>" if rest > 0 else ""
    return Markup(clean + more)  # noqa: S704 -- cleaned just now
