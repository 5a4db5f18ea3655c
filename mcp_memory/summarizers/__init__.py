"""Texts to a shorter one: extractive, or by a language model where one is configured.

A language model improves a summary and never gates one: its answers are checked, its cost is bounded, and where it
fails the extractive summary is used.
"""
