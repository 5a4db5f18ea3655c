"""Keeps the links between notes as a graph, reports broken links, and repairs them.

Promise: a link is changed only if its target is unambiguous, and every change can be undone.
"""
