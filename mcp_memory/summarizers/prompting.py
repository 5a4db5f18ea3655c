"""Builds the prompt of a request from the texts in `prompts/`, which are read once."""

from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from string import Template

from mcp_memory.summarizers.base import Prompt, SummaryRequest
from mcp_memory.text.escape_invisible import visible
from mcp_memory.text.secrets.finder import redact
from mcp_memory.text.text_hash import quote_mark
from mcp_memory.text.tokens import CHARS_PER_TOKEN, truncate

MOST_SOURCE_TITLE_CHARS = 200
LEAST_PAGE_TOKENS, LABEL_TOKENS = 150, 25
"""The minimum budget for the text of a topic's page, and the budget of the label for a source."""
_CHARS_PER_WORD = 7
"""Characters per word: about six in English with the space, plus some room."""


def prompt_for(request: SummaryRequest, prompt_tokens: int, *, terse: bool = False) -> Prompt:
    """Build the prompt. `prompt_tokens` limits the quoted texts: short texts stay whole, long texts are cut to the same
    length."""
    is_update = bool(request.previous.strip() and request.changed)
    parts = list(_parts(request, is_update=is_update))
    shares = _shares([len(text) for _, text in parts], prompt_tokens * CHARS_PER_TOKEN)
    cut = [(head, truncate(text, share // CHARS_PER_TOKEN)) for (head, text), share in zip(parts, shares, strict=True)]
    mark = quote_mark("\n".join(f"{head}\n{text}" for head, text in cut))
    quoted = "\n".join(f"{mark} {head}\n{text}" if text else f"{mark} {head}" for head, text in cut)
    words = request.budget_tokens * CHARS_PER_TOKEN // _CHARS_PER_WORD
    form = "page_form" if request.gist_sentences else "list_form"
    instructions = Template(prompt_text("rules")).substitute(
        about=prompt_text({1: "notes", 2: "topics"}.get(request.depth, "broader")),
        form=Template(prompt_text(form)).substitute(words=words // 2 if terse else words),
        mode="\n\n".join([prompt_text("update" if is_update else "fresh"), *([prompt_text("terse")] if terse else [])]),
        mark=mark,
    )
    budget_tokens = request.budget_tokens
    if request.gist_sentences:
        budget_tokens = max(LEAST_PAGE_TOKENS, budget_tokens) + LABEL_TOKENS * len(request.sources)
    return Prompt(
        instructions, f"<<<{mark}\n{quoted}\n{mark}>>>", budget_tokens, mark, is_page=bool(request.gist_sentences)
    )


def _parts(request: SummaryRequest, *, is_update: bool) -> Iterator[tuple[str, str]]:
    """Yield the first line and the text of each part."""
    if is_update:
        yield "the summary so far", visible(request.previous)
    for place, source in enumerate(request.sources):
        number = f"source {place + 1} of {len(request.sources)}"
        title = visible(" ".join(source.title.split())[:MOST_SOURCE_TITLE_CHARS])
        if not is_update:
            yield f"{number}: {title}", visible(source.text)
        elif place in request.changed:
            yield f"{number}, new or changed: {title}", visible(source.text)
        else:
            yield f"{number}, as before: {title}", ""


def _shares(lengths: Sequence[int], room: int) -> list[int]:
    """Return the room for each text in characters; room that a short text leaves goes to longer texts."""
    shares = [0] * len(lengths)
    for done, place in enumerate(sorted(range(len(lengths)), key=lambda place: lengths[place])):
        # Round up to the next token, so that a text which fits isn't cut.
        whole = -(-lengths[place] // CHARS_PER_TOKEN) * CHARS_PER_TOKEN
        shares[place] = min(whole, room // (len(lengths) - done))
        room -= shares[place]
    return shares


def shown(text: str, most: int) -> str:
    """Return a text without secrets and hidden characters. Leave out the middle of a long one: it begins with its
    subject, and ends with what is asked."""
    text = visible(redact(text).text)
    return text if len(text) <= most else f"{text[: most * 2 // 3].rstrip()} … {text[-most // 3 :].lstrip()}"


@cache
def prompt_text(name: str) -> str:
    """Return a text of `prompts/`."""
    return (files("mcp_memory.summarizers") / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()
