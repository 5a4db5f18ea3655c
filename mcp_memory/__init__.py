"""mcp-memory: memory for coding agents, kept as Markdown files.

errors       one tree of errors
models       the values that rooms hand to one another
registry     back ends by name
latest       the values used last, for small memories
allocator    the C library's memory, shared and given back
telemetry    switches that keep dependencies from calling home
text         frontmatter, chunks, links, tokens, dates: pure functions on strings
storage      files with atomic, durable, compare-and-swap verbs
embedders    texts to vectors
index        the derived search index
engine       vault, indexer, watcher, search, recall behind one façade
settings     configuration from file, environment and flags
client       the standard-library client of a running daemon
server       the MCP server: four tools, resources, prompts
daemon       one process a vault: lock, socket, lifecycle
evaluation   question sets, metrics and intervals
cli          the command line
"""

__version__ = "0.1.0"
