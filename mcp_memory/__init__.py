"""mcp-memory: memory for coding agents, kept as Markdown files.

From the top down; a room imports only from rooms below it (`guide/architecture.md` has the picture).

cli           the command line
library       `Memory`, for Python programs
daemon        one process a vault: lock, socket, lifecycle
server        the MCP app: four tools, resources, prompts, and the HTTP interface
evaluation    measures retrieval on a question set or on your own notes
hooks         what agents' clients run before and after a prompt
settings      configuration from file, environment and flags
engine        the façade: requests in, answers out; puts the other rooms together
compaction    files fresh notes under topics, in journalled jobs that can be undone
git           commits what we change to the repository that holds the vault
transfer      import, export and share
extraction    finds statements worth remembering in transcripts, and has them reviewed
capture       reads agents' transcripts into searchable notes
recall        text within a token budget: answers, session starts, prompts, topic pages
search        retrievers, fusion, ranking, confidence
indexing      keeps the index equal to the files
vault         notes on disk; the only code that writes them
topics        the topic tree as values: plan, clusters, page text
index         the derived search index: keywords, vectors, SQLite
storage       files with atomic, durable, compare-and-swap verbs
embedders     texts to vectors
summarizers   texts to a shorter one
integrations  what goes into each client's configuration, and out again
client        standard-library client of a running daemon
runtime       threads, deadlines, health, private files, paths
text          pure functions on strings
models        the values that rooms hand to one another
errors        one tree of errors
"""

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than a hook to start
if TYPE_CHECKING:
    from mcp_memory.library.memory import Memory as Memory
    from mcp_memory.text.conversation.conversation_chunks import ConversationChunk as ConversationChunk

__all__ = ["ConversationChunk", "Memory", "__version__"]

__version__ = "0.1.0"

_PUBLIC = {
    "ConversationChunk": "mcp_memory.text.conversation.conversation_chunks.ConversationChunk",
    "Memory": "mcp_memory.library.memory.Memory",
}

if not TYPE_CHECKING:

    def __getattr__(name):
        """A public name, imported when it is asked for: `headers` imports this package too, and must start at once."""
        if name not in _PUBLIC:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        import importlib

        module, _, attribute = _PUBLIC[name].rpartition(".")
        return getattr(importlib.import_module(module), attribute)
