"""The program that an app runs after installing this bundle. It passes messages to the daemon, and starts the daemon if
necessary."""

import sys

from mcp_memory.cli import main

sys.argv = ["mcp-memory", "stdio", "--create", *sys.argv[1:]]
main()
