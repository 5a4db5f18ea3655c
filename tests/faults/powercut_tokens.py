"""Makes a token and revokes another, and prints each promise once it holds. Usage: powercut_tokens.py STATE"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from mcp_memory.client.credentials import Credentials

if __name__ == "__main__":
    credentials = Credentials(Path(sys.argv[1]) / "tokens.json")
    os.write(1, f"counts {credentials.token('kept')}\n".encode())
    leaked = credentials.token("leaked")
    os.write(1, f"counts {leaked}\n".encode())
    credentials.revoke("leaked")
    os.write(1, f"refused {leaked}\n".encode())
