"""The engine: vault, indexer, watcher, search and recall behind one façade.

Imports index, storage, embedders, text and what stands below. Owns the one task group; keeps invariants 1 to 8.

Who does what, in the order of a day: `opening` puts the parts together. `watcher` decides when to look and calls the
façade's sweep, in which `indexer` compares disk and index (`diff`) and has the `writer` apply what changed, read and
cut beforehand (`preparing`, `passages`). `model` loads the embedder behind the first answers, has `building` switch the
index to its vectors, and embeds whatever lacks one (`embedding`); appends and sweeps wake it, and questions ask it with
`patience`. Writes go through `vault` alone: `publishing` for notes, `daily_log` for entries, `patching` for
frontmatter, each announced first: notes in `ledger`, entries in `recovery`. `search` ranks passages, `recall` packs
them, beside the page of a topic (`topical`) that a `walk` comes to, `briefing` puts them before an agent that has not
asked, what is `given` to its session once and what is `news` to it; `flush` is what it is asked before its context is
compacted, `similar` compares what is appended. `retiring` forgets and restores with what `undo` keeps. `shared_files`
looks for entries that somebody's save took away (`lost`), `doctor` makes `findings` of that and all else, `erasing`
removes a note with its `traces`. `versioning` commits what was written, `sharing` tells what of a topic can be given
away, `porting` has `importing` put the notes of other programs in their place, `capture` keeps what was said in
sessions, `inbox` what of that is worth remembering, and `echoes` tells what of a briefing came back in an answer. All
of them report to `health`. `operations` is the table of what can be asked of it all, `payloads` the form of the
answers.

Locks: the writer has one for writing the index, the indexer one for sweeping and `embedding` one, taken alone or in
the order sweeping → writing. The vault has one a content while it is appended. The files themselves are guarded by
storage.
"""
