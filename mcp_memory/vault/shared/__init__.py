"""The files that many writers add to, daily logs and `MEMORY.md`: an entry is in its file or in the append journal."""
