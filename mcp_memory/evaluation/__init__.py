"""Evaluation: how much of the evidence for a set of questions comes back within a token budget.

Imports engine and what stands below. `sets` reads questions, `own` makes some from a person's own notes, `running` asks
them of an engine with a state folder of its own, `metrics` scores the answers, `bootstrap` says how sure the figures
are.
"""
