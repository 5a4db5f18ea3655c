"""Readers for notes of other programs and writers for the vault's notes, one module per format."""
