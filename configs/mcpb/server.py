"""What an app runs that installs this bundle: passes messages to the daemon, which it starts."""

import sys

from mcp_memory.cli import main

sys.argv = ["mcp-memory", "stdio", "--create", *sys.argv[1:]]
main()
