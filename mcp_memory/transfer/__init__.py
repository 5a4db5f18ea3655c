"""Porting: notes of other programs read in, and the vault written out in forms that outlive us.

Reading, of what each program writes:
recognise         which kind of source a file or folder is
folder            the Markdown files below a folder, no link followed, and what is left out
claude_code       Claude Code's own memory folders, `CLAUDE.md` and rules
openclaw          OpenClaw workspaces
obsidian          Obsidian vaults, and any folder of Markdown
basic_memory      basic-memory's projects
server_memory     the JSONL of the MCP reference memory server
markdown          what they have in common: the dates, tags and titles that a Markdown file tells of

Coming into the vault:
item              a note on its way, and what was left out
placing           where each goes, under names that work on every system, and which links lead nowhere
sealing           the file's bytes, with a mark that tells later whether anybody has edited them

Our own forms:
archive           a tar of the vault, the same bytes for the same vault, with checksums inside
lines             JSONL, an object a note
book              one Markdown file to be read from its beginning

Sources are only read. Imports storage, text, models, errors; the engine writes.
"""
