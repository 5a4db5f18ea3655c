"""Collects your sentences in a session, each with the message that it answers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mcp_memory.capture.readers.message import Transcript, TranscriptMessage
from mcp_memory.embedders.base import SentenceInContext
from mcp_memory.statements.language import matches
from mcp_memory.statements.user_sentences import MAX_CHARS, UserSentence, assistant_sentences, user_sentences


@dataclass(frozen=True)
class SpokenSentence:
    """A sentence of yours. `assistant` is the latest message of the assistant for the first sentence after it, else
    empty. `place` is its index in `said`, the sentences of its message."""

    message: TranscriptMessage
    sentence: UserSentence
    assistant: str
    place: int
    said: Sequence[UserSentence]

    @property
    def is_typed(self) -> bool:
        return len(self.message.text) <= MAX_CHARS and not self.sentence.may_be_pasted

    @property
    def answered(self) -> str:
        """The last sentence of the assistant, which this sentence answers."""
        said = assistant_sentences(self.assistant)
        return said[-1].text if said else ""

    @property
    def in_context(self) -> SentenceInContext:
        """The sentence and, unless it is on the first line of its message, the opening sentence, such as `look what
        they wrote`."""
        before = [self.said[self.place - 1].text] if self.place else []
        opening = [self.said[0].text] if self.sentence.line and self.place > 1 else []
        after = self.said[self.place + 1].text if self.place + 1 < len(self.said) else ""
        return SentenceInContext(self.sentence.text, self.answered, " ".join([*opening, *before]), after)

    @property
    def beside(self) -> list[int]:
        """The distances to the sentences before and after it in its message."""
        return [step for step in (-1, 1) if 0 <= self.place + step < len(self.said)]

    @property
    def chars_said(self) -> int:
        """The number of characters of your own words in the message."""
        return sum(len(one.text) + 1 for one in self.said)


def spoken_sentences(messages: Transcript) -> Iterator[SpokenSentence]:
    assistant = ""
    for message in messages:
        if message.is_persons:
            said = list(_joined(user_sentences(message.text)))
            for place, sentence in enumerate(said):
                yield SpokenSentence(message, sentence, assistant, place, said)
                assistant = ""
            assistant = ""
        elif message.is_assistants:
            assistant = message.text


def _joined(sentences: Sequence[UserSentence]) -> Iterator[UserSentence]:
    """Join a plain no to the next sentence, and `remind me of it` to the sentence before it."""
    before: UserSentence | None = None
    for sentence in sentences:
        says_no = before is not None and matches("denial", before.view)
        joins = says_no or matches("reminder", sentence.view.rstrip(" ?"))
        if before is None or matches("denial", sentence.view) or not joins:
            if before and not says_no:
                yield before
            before = sentence
        else:
            text, view = f"{before.text} {sentence.text}", f"{before.view} {sentence.view}"
            may_be_pasted = before.may_be_pasted or sentence.may_be_pasted
            before = UserSentence(text, view, sentence.is_question, may_be_pasted, before.line)
    if before and not matches("denial", before.view):
        yield before
