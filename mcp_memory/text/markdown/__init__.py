"""Parses and edits Markdown: blocks, frontmatter, links, daily logs."""
