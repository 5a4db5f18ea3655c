"""Lists the content of a session that memory might lack, without the extractor's rules: names, numbers, dates, requests
and results of tools.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mcp_memory.capture.readers.message import Role, TranscriptMessage
from mcp_memory.statements.cues import has_cue
from mcp_memory.statements.user_sentences import user_sentences
from mcp_memory.text.language.facts import FactKind, facts
from mcp_memory.text.secrets.finder import redact

REQUEST, RESULT = "request", "result"
_FACTS = (FactKind.DATE, FactKind.NUMBER, FactKind.NAME, FactKind.IDENTIFIER)
MAX_RESULT_CHARS = 200


@dataclass(frozen=True, slots=True)
class AuditItem:
    """An item of a session. `what` is the kind of the first fact in `text`, `request`, or `result`."""

    what: str
    text: str
    offset: int


def audit_items(messages: Sequence[TranscriptMessage]) -> Iterator[AuditItem]:
    """Yield in order your sentences with a fact or a request, and the last line with a number in each tool's output."""
    for message in messages:
        if message.role is Role.USER:
            for sentence in user_sentences(message.turn.text):
                kinds = {fact.kind for fact in facts(sentence.text)}
                what = next((kind.value for kind in _FACTS if kind in kinds), None)
                if has_cue(sentence.view, "task"):
                    what = REQUEST
                if what and not sentence.is_question:
                    yield AuditItem(what, redact(sentence.text).text, message.offset)
        elif message.role is Role.TOOL:
            last = "".join(message.turn.text.strip().splitlines()[-1:])
            if any(fact.kind is FactKind.NUMBER for fact in facts(last)):
                yield AuditItem(RESULT, redact(last[:MAX_RESULT_CHARS]).text, message.offset)
