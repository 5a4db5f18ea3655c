"""Markdown: blocks, frontmatter, links, daily logs."""
