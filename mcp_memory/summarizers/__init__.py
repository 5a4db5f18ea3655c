"""Summarizes texts: extractively, or with a language model if configured.

A language model is optional. Its answers are checked and its cost is limited; if it fails, the extractive summary is
used.
"""
