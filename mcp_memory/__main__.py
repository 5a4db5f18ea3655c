"""`python -m mcp_memory` is `mcp-memory`."""

import sys

from mcp_memory.cli import main

if __name__ == "__main__":
    sys.exit(main())
