"""mcp-memory: memory for coding agents, kept as Markdown files.

errors       one tree of errors
models       the values that rooms hand to one another
registry     back ends by name
latest       the values used last, for small memories
allocator    the C library's memory, shared and given back
project      the project that an agent works on
place        where the vault, its state and the configuration are
endpoint     what clients of OpenAI's protocol have in common
telemetry    switches that keep dependencies from calling home
text         frontmatter, chunks, links, tokens, dates: pure functions on strings
storage      files with atomic, durable, compare-and-swap verbs
embedders    texts to vectors
summarizers  texts to a shorter one
transcripts  what agents' programs write down of their sessions
topics       which notes belong together: the plan of the topic tree
gleaning     what a transcript holds that is worth remembering
versions     files of ours in the git repository that a person keeps them in
porting      notes of other programs read in, and the vault written out
index        the derived search index
engine       vault, indexer, watcher, search, recall behind one façade
settings     configuration from file, environment and flags
wiring       what goes into the configuration files of agents' programs, and out again
client       the standard-library client of a running daemon
hooks        what agents' clients run: memory in front of an agent
server       the MCP server: four tools, resources, prompts
daemon       one process a vault: lock, socket, lifecycle
evaluation   question sets, metrics and intervals
library      `Memory`, for programs that import us
cli          the command line
"""

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than a hook to start
if TYPE_CHECKING:
    from mcp_memory.library.memory import Memory as Memory
    from mcp_memory.text.conversation.conversation_chunks import Leaf as Leaf

__all__ = ["Leaf", "Memory", "__version__"]

__version__ = "0.1.0"

_PUBLIC = {"Leaf": "mcp_memory.text.conversation.conversation_chunks", "Memory": "mcp_memory.library.memory"}

if not TYPE_CHECKING:

    def __getattr__(name):
        """A public name, imported when it is asked for: `headers` imports this package too, and must start at once."""
        if name not in _PUBLIC:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        import importlib

        return getattr(importlib.import_module(_PUBLIC[name]), name)
