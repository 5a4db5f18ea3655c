"""The engine: vault, indexer, watcher, search and recall behind one façade.

Imports index, storage, embedders, text and what stands below. Owns the one task group; keeps invariants 1 to 8.

Who does what, in the order of a day: `opening` puts the parts together. `watcher` decides when to look and calls the
façade's sweep, in which `indexer` compares disk and index (`diff`) and has the `writer` apply what changed, read and
cut beforehand (`preparing`, `passages`). `model` loads the embedder behind the first answers, has `building` switch the
index to its vectors, and embeds whatever lacks one (`embedding`); appends and sweeps wake it, and questions ask it with
`patience`. Writes go through `vault` alone: `publishing` for notes, `importing` for many of another program (which
`porting` asks for), `daily_log` for entries, `patching` for frontmatter, each announced first: notes in `ledger`,
entries in `recovery`. `search` ranks passages, `recall` packs them,
beside the page of a topic (`topical`) that a `walk` comes to, `briefing` puts them before an agent that has not
asked, what is `given` to its session once, `similar` compares what is appended. `retiring` forgets and restores with
what `undo` keeps. `shared_files` looks for entries that somebody's save took away (`lost`), `doctor` makes `findings`
of that and all else, `erasing` removes a note with its `traces`. `versioning` commits what was written, and `sharing`
tells what of a topic can be given away. All of them report to `health`.

Locks: the writer has one for writing the index, the indexer one for sweeping and `embedding` one, taken alone or in
the order sweeping → writing. The vault has one a content while it is appended. The files themselves are guarded by
storage.
"""
