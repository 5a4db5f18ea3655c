"""Tending: what is due at the end of a run, besides the pages of topics. Each part is drafted from the tree as the one
before left it."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_memory.compaction.job_builder import JobBuilder, proposal_key
from mcp_memory.compaction.journal import JobEntry, RunJournal
from mcp_memory.compaction.link_rewriter import LinkRewriter
from mcp_memory.compaction.related_topics import relating
from mcp_memory.compaction.remove_empty import clearing
from mcp_memory.compaction.renaming import renaming
from mcp_memory.compaction.topic_index import TopicIndex
from mcp_memory.index.base import Index
from mcp_memory.topics.topic_tree import Topic
from mcp_memory.vault.vault import Vault


class Housekeeper:
    """Reads files and the index: for one worker thread at a time. Writes nothing; None is nothing to do."""

    def __init__(
        self,
        vault: Vault,
        index: Index,
        drafter: JobBuilder,
        journal: RunJournal,
        linkage: LinkRewriter,
        mapper: TopicIndex,
    ) -> None:
        self._vault = vault
        self._index = index
        self._drafter = drafter
        self._journal = journal
        self._linkage = linkage
        self._mapper = mapper

    def clear(self, tree: Sequence[Topic]) -> JobEntry | None:
        return clearing(tree, self._vault)

    def propose(self, topic: Topic) -> JobEntry | None:
        """Beside a person's own page; None where what we would say stands there already, or a person did not want
        it."""
        if topic.proposal is None:
            is_unwanted = self._journal.did(proposal_key(topic))
            return None if is_unwanted else self._drafter.proposing(topic)
        is_ours = self._vault.filing.is_as_written(topic.proposal)
        return self._drafter.proposing(topic) if is_ours and topic.proposal.meta.get("covers") != topic.covers else None

    def rename(self, run: str, tree: Sequence[Topic]) -> JobEntry | None:
        """One folder."""
        entry = renaming(tree, self._journal.written(run), self._vault)
        return self._linkage.followed(entry)[0] if entry else None

    def relate(self, run: str, tree: Sequence[Topic]) -> JobEntry | None:
        return relating(tree, self._journal.written(run), self._vault, self._index)

    def draw(self, tree: Sequence[Topic]) -> JobEntry | None:
        return self._mapper.draft(tree)

    def is_due(self, tree: Sequence[Topic]) -> bool:
        """Whether a list of related topics or the map does not say what there is, though no page is stale."""
        return bool(relating(tree, (), self._vault, self._index) or self.draw(tree))

    def mend(self, tree: Sequence[Topic]) -> JobEntry | None:
        """The map, where a link of it leads nowhere."""
        return None if self._linkage.is_sound(self._mapper.path) else self._mapper.draft(tree)
