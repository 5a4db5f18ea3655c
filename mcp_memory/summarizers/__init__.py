"""Summarizes texts: extractively, or with a language model if one is configured.

A language model is optional: its answers are checked, its cost is limited, and if it fails the extractive summary is
used.
"""
