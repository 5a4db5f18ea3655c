"""Holds the settings and shipped weights of confidence.

Standard library only: `settings` imports this on the paths that must start in milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass

UNSURE = 0.18
"""Below this confidence an answer is rather noise: of the questions on conversations 1 % that can be answered, and a
quarter of those about what nobody ever said."""

UNWANTED = 0.34
"""Below this a prompt wants no memory: the highest that silences 5 % of the prompts that want some, on the mean of the
five people that the weights were fitted on. It silences 4 % of the developer's, and 89 % of those that want none; of
four strangers' 9, 0, 7 and 3 %, and 77, 76, 84 and 84 %; of a fifth's, who had no part in any of it, 9 and 81 %. The
int8 arithmetic of another processor takes a prompt or two of each across it."""


@dataclass(frozen=True, slots=True)
class ConfidenceConfig:
    """Section `[confidence]`. Each list is a logistic model for the signs at hand: the doubt, which is subtracted, then
    the weight of each sign. Signs that `mcp-memory calibrate` finds to tell nothing have 0.

    The shipped ones were fitted on three sets of equal weight, half of each on what can be answered: development
    conversations (answerable against absent), the developer's questions (likewise) and prompts (memory wanted or not).
    With another model the order of questions stays meaningful, the probability less so.
    """

    model: str = "all-MiniLM-L6-v2"
    """The name of the model whose cosines the weights were fitted to, or a part of it. Where another one is used they
    are fitted to it by themselves (`engine.rehearsal`)."""
    weak_below: float = UNSURE
    words_and_vectors: tuple[float, float, float, float] = (5.07, 1.34, 2.17, 7.35)
    """Doubt; coverage by the best passage, by the first five; best cosine."""
    words: tuple[float, float, float] = (2.19, 2.80, 2.20)
    """Doubt; coverage by the best passage, by the first five."""
    vectors: tuple[float, float] = (4.59, 9.94)
    """Doubt; best cosine."""
    prompts: tuple[float, float, float, float, float] = (2.74, 0.49, 1.26, 7.2, 1.21)
    """Of a whole prompt. Doubt; coverage by the best passage, by the first five; best cosine; `index.wanting`. Fitted
    on the prompts of five people (`tests/eval/developer` and, of `tests/eval/strangers`, all but `ecology`), none of
    whom taught the last sign."""

    def fits(self, fingerprint: str) -> bool:
        """Whether the weights are for the embedder with this fingerprint."""
        return self.model in fingerprint.partition("@")[0]
