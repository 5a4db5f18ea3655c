"""Measures how much of the evidence for a set of questions comes back within a token budget.

Runs on a copy of the vault with a state folder of its own.
"""
