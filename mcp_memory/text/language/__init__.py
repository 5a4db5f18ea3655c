"""Analyzes natural language: words, sentences, identifiers and dates."""
