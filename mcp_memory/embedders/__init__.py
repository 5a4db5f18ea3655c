"""Embedders: texts to unit vectors, by a model on disk or an endpoint, chosen by name.

Imports registry, telemetry, models, errors; nothing heavy before a model is opened. Keeps the promise that nothing
leaves the machine unless an endpoint was configured.
"""
